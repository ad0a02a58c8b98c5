"""Records of consumer, share and streams groups: every type is read back as it was written."""

from typing import Any

import pytest

from fakebroker.protocol.errors import WireError
from fakebroker.protocol.records.group_records import GroupRecord, read_group_record
from fakebroker.protocol.records.record_types import GROUP_METADATA, RECORD_TYPES

TYPES = [number for number in RECORD_TYPES if number > GROUP_METADATA]


def key_of(number: int) -> Any:
    """The key of a record of group g; the class is that of the number."""
    layout: Any = RECORD_TYPES[number]
    return layout.key(group_id="g")


@pytest.mark.parametrize("number", TYPES)
def test_every_type_is_read_back(number: int) -> None:
    """Key and value of a record that is encoded are those that reading it gives."""
    layout = RECORD_TYPES[number]
    record = GroupRecord(number, key_of(number), layout.value())

    key, value = record.encode()

    assert read_group_record(key, value) == record
    assert record.group_id == "g"


@pytest.mark.parametrize("number", TYPES)
def test_a_tombstone_has_no_value(number: int) -> None:
    """A null value is read as a record without value."""
    record = GroupRecord(number, key_of(number), None)

    assert record.encode()[1] is None
    assert read_group_record(record.encode()[0], None) == record


@pytest.mark.rules("LD-5")
def test_a_value_of_another_version_cannot_be_read() -> None:
    """Version 0 is the only one there is."""
    key, _ = GroupRecord(3, key_of(3), None).encode()

    with pytest.raises(WireError, match="version 7"):
        read_group_record(key, b"\x00\x07")

"""The types of records in `__consumer_offsets`: which there are, and that what is written is read again."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.protocol.errors import WireError
from fakebroker.protocol.records.record_types import RECORD_TYPES
from fakebroker.protocol.schema import Message
from tests.protocol.schema.strategies import messages

EVERY_VERSION: list[tuple[type[Message], int]] = [
    *((each.key, 0) for each in RECORD_TYPES.values()),
    *(
        (each.value, version)
        for each in RECORD_TYPES.values()
        for version in range(each.value.versions.first, each.value.versions.last + 1)
    ),
]


def test_the_types_of_kafka_4_3() -> None:
    """All numbers from 0 to 23 have a type but 9 and 18, which Kafka 4.3 does not know either."""
    assert sorted(set(range(24)) - RECORD_TYPES.keys()) == [9, 18]
    assert all(number == each.number for number, each in RECORD_TYPES.items())


def test_names_are_those_of_kafka() -> None:
    """A type has the name of its classes in Kafka; the oldest shares its layouts with the one that replaced it."""
    names = [each.name for each in RECORD_TYPES.values()]

    assert names[:4] == ["LegacyOffsetCommit", "OffsetCommit", "GroupMetadata", "ConsumerGroupMetadata"]
    assert len(set(names)) == len(names)
    assert all(each.key.__name__ == f"{each.name}Key" for each in RECORD_TYPES.values() if each.number)


def test_every_key_begins_with_its_group() -> None:
    """The first field of every key is the group id, so that whoever knows the type can say which group it is about."""
    assert {each.key.fields[0].name for each in RECORD_TYPES.values()} == {"group", "group_id"}


@given(st.data())
def test_what_is_encoded_is_decoded(data: st.DataObject) -> None:
    """Every key and value of every type and version is read as it was written, to its last byte."""
    cls, version = data.draw(st.sampled_from(EVERY_VERSION))
    message: Any = data.draw(messages(cls, version))
    encoded = message.encode(version)

    assert cls.decode(encoded, version) == (message, len(encoded))


@given(st.data())
def test_cut_and_changed_bytes_raise_nothing_but_wire_errors(data: st.DataObject) -> None:
    """Bytes that were cut or changed are read, or refused with a WireError."""
    cls, version = data.draw(st.sampled_from(EVERY_VERSION))
    encoded = bytearray(data.draw(messages(cls, version)).encode(version))
    for _ in range(data.draw(st.integers(0, 3))):
        if encoded:
            encoded[data.draw(st.integers(0, len(encoded) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(encoded[: data.draw(st.integers(0, len(encoded)))])

    with suppress(WireError):
        cls.decode(cut, version)


GOLDEN: dict[int, tuple[str, dict[str, Any]]] = {
    # number, version: (bytes of the value, some of its fields)
    3: ("0000" + "00000005" + "01" + "0008" + "00000000000000ff", {"epoch": 5, "metadata_hash": 255}),
    6: (
        "0000" + "00000003" + "01" + "0008" + "00000199f0000000",
        {"assignment_epoch": 3, "assignment_timestamp": 0x199F0000000},
    ),
    11: ("0000000000020000000000000007" + "00", {"epoch": 2, "metadata_hash": 7}),
    16: (
        "0000" + "02" + "0274" + "0000000000000009" + "0000000000000010" + "00",
        {"topics": ["t"], "version": 9, "timestamp": 16},
    ),
    17: ("0000000000010000000000000002" + "01" + "0004" + "00000003", {"epoch": 1, "validated_topology_epoch": 3}),
}


@pytest.mark.parametrize("number", GOLDEN)
def test_golden_bytes(number: int) -> None:
    """Bytes spelt by hand from Kafka's schema files are read field by field, and written the same."""
    text, fields = GOLDEN[number]
    value = bytes.fromhex(text)
    cls = RECORD_TYPES[number].value
    decoded, end = cls.decode(value, int.from_bytes(value[:2], "big"), 2)

    assert {name: getattr(decoded, name) for name in fields} == fields
    assert end == len(value)
    assert decoded.encode(0) == value[2:]

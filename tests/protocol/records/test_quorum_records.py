"""Control records of a KRaft quorum: the bytes Kafka writes, and what is read from them."""

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.protocol.errors import WireError
from fakebroker.protocol.records.markers import ControlRecordType
from fakebroker.protocol.records.quorum_records import (
    KRaftVersionRecord,
    LeaderChangeMessage,
    QuorumRecord,
    QuorumVoter,
    RegisteredVoter,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    SupportedKRaftVersions,
    VoterEndpoint,
    VotersRecord,
    encode_quorum_record,
    read_quorum_record,
)
from tests.protocol.schema.strategies import messages

DIRECTORY = bytes(range(16))

# Spelt by hand from the layouts; the first is in the log of every new Kafka.
GOLDEN: list[tuple[str, str, QuorumRecord]] = [
    (
        "00000002",
        "0000 00000001 02 00000001 00 02 00000001 00 00",
        LeaderChangeMessage(leader_id=1, voters=[QuorumVoter(voter_id=1)], granting_voters=[QuorumVoter(voter_id=1)]),
    ),
    (
        "00000002",
        f"0001 00000001 02 00000001 {DIRECTORY.hex()} 00 01 00",
        LeaderChangeMessage(
            version=1, leader_id=1, voters=[QuorumVoter(voter_id=1, voter_directory_id=DIRECTORY)], granting_voters=[]
        ),
    ),
    ("00000003", "0000 0000018c00000000 00", SnapshotHeaderRecord(last_contained_log_timestamp=0x18C00000000)),
    ("00000004", "0000 00", SnapshotFooterRecord()),
    ("00000005", "0000 0001 00", KRaftVersionRecord(kraft_version=1)),
    (
        "00000006",
        f"0000 02 00000001 {DIRECTORY.hex()} 02 0243 0268 1f90 00 0000 0001 00 00 00",
        VotersRecord(
            voters=[
                RegisteredVoter(
                    voter_id=1,
                    voter_directory_id=DIRECTORY,
                    endpoints=[VoterEndpoint(name="C", host="h", port=8080)],
                    kraft_version_feature=SupportedKRaftVersions(max_supported_version=1),
                )
            ]
        ),
    ),
]


@pytest.mark.parametrize(("key", "value", "record"), GOLDEN)
def test_bytes_of_kafka(key: str, value: str, record: QuorumRecord) -> None:
    """A control record has the bytes that Kafka writes, and they are read as it."""
    assert encode_quorum_record(record) == (bytes.fromhex(key), bytes.fromhex(value))
    assert read_quorum_record(bytes.fromhex(key), bytes.fromhex(value)) == record


@given(st.data())
def test_what_is_encoded_is_read(data: st.DataObject) -> None:
    """Every control record is read as it was written."""
    layout = data.draw(st.sampled_from(get_args(QuorumRecord)))
    version = data.draw(st.integers(0, layout.versions.last))
    record: Any = data.draw(messages(layout, version))
    record.version = version

    assert read_quorum_record(*encode_quorum_record(record)) == record


@pytest.mark.parametrize("kind", [ControlRecordType.COMMIT, 7])
def test_other_types_are_skipped(kind: int) -> None:
    """A control record of a transaction, or of a later release, is none of a quorum."""
    assert read_quorum_record(b"\0\0" + kind.to_bytes(2, "big"), b"\0\0\0\0\0\0") is None


@pytest.mark.parametrize("value", [None, b"", b"\0", b"\0\0", b"\0\1\0\0\0\1\2"])
def test_what_cannot_be_read(value: bytes | None) -> None:
    """A value that is cut is refused with the name of its record."""
    with pytest.raises(WireError, match="LeaderChangeMessage"):
        read_quorum_record(b"\0\0\0\2", value)

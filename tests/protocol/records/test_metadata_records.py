"""Records of `__cluster_metadata`: the bytes Kafka writes, and what is read from them."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.protocol.errors import WireError
from fakebroker.protocol.records.metadata_records import (
    METADATA_RECORDS,
    MetadataRecord,
    encode_metadata_record,
    read_metadata_record,
)
from fakebroker.protocol.records.metadata_records_schema import (
    BrokerRegistrationChangeRecord,
    ConfigRecord,
    FeatureLevelRecord,
    PartitionChangeRecord,
    PartitionRecord,
    TopicRecord,
)
from fakebroker.protocol.schema import Message
from tests.protocol.schema.strategies import messages

EVERY_VERSION: list[tuple[type[Message], int]] = [
    (each, version)
    for each in METADATA_RECORDS.values()
    for version in range(each.versions.first, each.versions.last + 1)
]
TOPIC_ID = bytes(range(16))
DIRECTORY = bytes(range(16, 32))

# Spelt by hand from the layouts; the first two are in the log of every new Kafka 4.3.1.
GOLDEN: list[tuple[str, Message, int]] = [
    (
        "010c00 116d657461646174612e76657273696f6e 001e 00",
        FeatureLevelRecord(name="metadata.version", feature_level=30),
        0,
    ),
    (
        "010400 04 01 146d696e2e696e73796e632e7265706c69636173 0231 00",
        ConfigRecord(resource_type=4, resource_name="", name="min.insync.replicas", value="1"),
        0,
    ),
    ("010200 076f7264657273" + TOPIC_ID.hex() + "00", TopicRecord(name="orders", topic_id=TOPIC_ID), 0),
    (
        f"010302 00000002 {TOPIC_ID.hex()} 0200000001 0200000001 0101 00000001 {0:08x} {0:08x} 02{DIRECTORY.hex()} 00",
        PartitionRecord(
            partition_id=2,
            topic_id=TOPIC_ID,
            replicas=[1],
            isr=[1],
            leader=1,
            leader_epoch=0,
            partition_epoch=0,
            directories=[DIRECTORY],
        ),
        2,
    ),
    (
        "011100 00000001 0000000000000011 01 00 01 ff",
        BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=17, fenced=-1),
        0,
    ),
    (
        f"010500 00000002 {TOPIC_ID.hex()} 01 01 04 00000001",
        PartitionChangeRecord(partition_id=2, topic_id=TOPIC_ID, leader=1),
        0,
    ),
]


def test_the_types_of_kafka_4_3() -> None:
    """The types are those of Kafka 4.3; 6, 13 and 16 were only in previews of KRaft."""
    assert sorted(set(range(29)) - METADATA_RECORDS.keys()) == [6, 13, 16]


@pytest.mark.parametrize(("value", "message", "version"), GOLDEN, ids=[type(each[1]).__name__ for each in GOLDEN])
def test_bytes_of_kafka(value: str, message: Message, version: int) -> None:
    """A record has the bytes that Kafka writes, and they are read as it."""
    assert encode_metadata_record(message, version) == bytes.fromhex(value)
    assert read_metadata_record(bytes.fromhex(value)) == MetadataRecord(message, version)


def test_the_newest_version_is_the_default() -> None:
    """Without a version a record is written in the newest one."""
    assert read_metadata_record(encode_metadata_record(PartitionRecord())).version == 2


@given(st.data())
def test_what_is_encoded_is_read(data: st.DataObject) -> None:
    """Every record of every version is read as it was written."""
    cls, version = data.draw(st.sampled_from(EVERY_VERSION))
    message: Any = data.draw(messages(cls, version))

    assert read_metadata_record(encode_metadata_record(message, version)) == (message, version)


@given(st.data())
def test_cut_and_changed_bytes_raise_nothing_but_wire_errors(data: st.DataObject) -> None:
    """Bytes that were cut or changed are read, or refused with a WireError."""
    cls, version = data.draw(st.sampled_from(EVERY_VERSION))
    encoded = bytearray(encode_metadata_record(data.draw(messages(cls, version)), version))
    for _ in range(data.draw(st.integers(0, 3))):
        encoded[data.draw(st.integers(0, len(encoded) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(encoded[: data.draw(st.integers(0, len(encoded)))])

    with suppress(WireError):
        read_metadata_record(cut)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "has no value"),
        ("", "has no value"),
        ("01", "ends inside its type"),
        ("0102", "ends inside its version"),
        ("000200", "frame version 0; only 1 is supported"),
        ("020200", "frame version 2; only 1 is supported"),
        ("018f0100", "type 143, which Kafka 4.3 does not have"),
        ("010203", "TopicRecord has version 3; only versions 0 are supported"),
        ("010304", "PartitionRecord has version 4; only versions 0-2 are supported"),
        ("0114000000", "1 bytes follow a NoOpRecord"),
        ("010200 07", "TopicRecord"),
    ],
)
def test_what_cannot_be_read(value: str | None, said: str) -> None:
    """A record of another release, or one that is cut, is refused with what is wrong."""
    with pytest.raises(WireError) as refused:
        read_metadata_record(None if value is None else bytes.fromhex(value))

    assert said in str(refused.value)

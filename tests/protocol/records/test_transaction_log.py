"""Records of `__transaction_state`: the bytes Kafka writes, and both versions of them read."""

from contextlib import suppress
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.protocol.errors import WireError
from fakebroker.protocol.records.offsets_topic import TopicPartition
from fakebroker.protocol.records.transaction_log import (
    EMPTY_STATUS,
    TransactionEntry,
    TransactionValue,
    read_transaction,
    transaction_key,
    transaction_value,
)

KEY = bytes.fromhex("0000 000474782d31")
PREPARE_COMMIT = TransactionValue(7, 3, 60_000, 2, (TopicPartition("orders", 0),), 1000, 900, 7, -1, -1, 2)

texts = st.text(st.characters(codec="utf-8"), max_size=12)
int64s = st.integers(-(2**63), 2**63 - 1)
int32s = st.integers(-(2**31), 2**31 - 1)
int16s = st.integers(-(2**15), 2**15 - 1)
int8s = st.integers(-128, 127)
partitions = st.lists(st.builds(TopicPartition, texts, int32s), max_size=8)
values = st.builds(
    TransactionValue,
    int64s,
    int16s,
    int32s,
    int8s,
    partitions.map(tuple),
    int64s,
    int64s,
    int64s,
    int64s,
    int16s,
    int16s,
)


def as_written(value: TransactionValue) -> TransactionValue:
    """The value with its partitions as records keep them: none in Empty, else by topic."""
    topics = list(dict.fromkeys(topic for topic, _ in value.partitions))
    by_topic = sorted(value.partitions, key=lambda partition: topics.index(partition.topic))
    return value._replace(partitions=() if value.status == EMPTY_STATUS else tuple(by_topic))


@pytest.mark.rules("TS-2")
def test_key() -> None:
    """The key is version 0, then the transactional id."""
    assert transaction_key("tx-1") == KEY


@pytest.mark.rules("TS-2", "TS-3")
def test_value_of_an_empty_transaction() -> None:
    """In Empty the partitions are null and the start time is -1."""
    value = TransactionValue(7, 0, 60_000, EMPTY_STATUS, (), 1000)

    expected = "0001 0000000000000007 0000 0000ea60 00 00 00000000000003e8 ffffffffffffffff 00"
    assert transaction_value(value) == bytes.fromhex(expected)


@pytest.mark.rules("TS-2", "TS-3")
def test_value_in_version_1() -> None:
    """Version 1 is flexible: previous producer id and the client's protocol are in tagged fields 0 and 2."""
    assert transaction_value(PREPARE_COMMIT) == bytes.fromhex(
        "0001 0000000000000007 0003 0000ea60 02"
        "02 076f7264657273 02 00000000 00"
        "00000000000003e8 0000000000000384"
        "02 0008 0000000000000007 0202 0002"
    )


@pytest.mark.rules("TS-2", "TS-3")
@pytest.mark.parametrize(
    "recorded",
    [
        "0001 0000000000000000 0000 0000ea60 00 00 000001a204ef9514 ffffffffffffffff 01 0008 0000000000000000",
        (
            "0001 0000000000000000 0000 0000ea60 01"
            "03 097061796d656e7473 02 00000000 00 076f7264657273 02 00000000 00"
            "000001a204ef95b0 000001a204ef95b0 01 0008 0000000000000000"
        ),
        (
            "0001 0000000000000000 0000 0000ea60 03 02 076f7264657273 02 00000000 00"
            "000001a204ef9631 000001a204ef9627 01 0008 0000000000000000"
        ),
        "0001 0000000000000000 0000 0000ea60 05 01 000001a204ef9631 000001a204ef9627 01 0008 0000000000000000",
    ],
    ids=["Empty", "Ongoing", "PrepareAbort", "CompleteAbort"],
)
def test_values_that_kafka_wrote(recorded: str) -> None:
    """What Kafka 4.3.1 wrote for a producer with transaction protocol 1 is read, and written again as it was."""
    data = bytes.fromhex(recorded)
    entry = read_transaction(KEY, data)

    assert entry is not None
    assert entry.value is not None
    assert entry.value.producer_id == entry.value.previous_producer_id == 0
    assert transaction_value(entry.value) == data


@pytest.mark.rules("TS-2", "TS-3")
def test_value_in_version_0() -> None:
    """Version 0, without transaction.version, loses what version 1 has in tagged fields."""
    data = transaction_value(PREPARE_COMMIT, 0)

    assert data == bytes.fromhex(
        "0000 0000000000000007 0003 0000ea60 02"
        "00000001 00066f7264657273 00000001 00000000"
        "00000000000003e8 0000000000000384"
    )
    lost = PREPARE_COMMIT._replace(previous_producer_id=-1, client_transaction_version=0)
    assert read_transaction(KEY, data) == TransactionEntry("tx-1", lost)


@pytest.mark.rules("TS-3")
def test_partitions_are_written_by_topic() -> None:
    """Topics and partitions keep the order in which they were added."""
    added = (TopicPartition("b", 2), TopicPartition("a", 1), TopicPartition("b", 0))
    entry = read_transaction(KEY, transaction_value(PREPARE_COMMIT._replace(partitions=added)))

    assert entry is not None
    assert entry.value is not None
    assert entry.value.partitions == (("b", 2), ("b", 0), ("a", 1))


@pytest.mark.rules("TS-3")
def test_partitions_of_a_completed_transaction() -> None:
    """In CompleteCommit the partitions are an empty array, not null, and the start time is kept."""
    data = transaction_value(PREPARE_COMMIT._replace(status=4, partitions=()), 0)

    assert data[17:21] == pack(">i", 0)
    assert read_transaction(KEY, data) == TransactionEntry(
        "tx-1", PREPARE_COMMIT._replace(status=4, partitions=(), previous_producer_id=-1, client_transaction_version=0)
    )


@pytest.mark.rules("TS-2", "TX-24")
def test_tombstone() -> None:
    """A null value says that the transactional id is forgotten."""
    assert read_transaction(KEY, None) == TransactionEntry("tx-1", None)


@pytest.mark.rules("TS-2")
@given(texts, values)
def test_what_is_written_is_read(transactional_id: str, value: TransactionValue) -> None:
    """Every value in version 1 reads back as it was, its partitions by topic."""
    entry = read_transaction(transaction_key(transactional_id), transaction_value(value))

    assert entry == TransactionEntry(transactional_id, as_written(value))


@pytest.mark.rules("TS-2")
@given(values)
def test_what_is_written_in_version_0_is_read(value: TransactionValue) -> None:
    """Version 0 reads back as the same value without the tagged fields."""
    expected = as_written(value)._replace(
        previous_producer_id=-1, next_producer_id=-1, next_producer_epoch=-1, client_transaction_version=0
    )
    assert read_transaction(KEY, transaction_value(value, 0)) == TransactionEntry("tx-1", expected)


def test_keys_of_other_versions_are_passed_over() -> None:
    """A key of a version that later releases may bring says nothing."""
    assert read_transaction(b"\0\1" + KEY[2:], b"anything") is None


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (None, None, "has no key"),
        (b"\0", None, "too short for a version: 1 bytes"),
        (b"\xff\xff", None, "unknown version: -1"),
        (KEY[:-1], None, "TransactionLogKey"),
        (KEY, b"", "too short for a version: 0 bytes"),
        (KEY, b"\0\2" + bytes(40), "version 2"),
        (KEY, transaction_value(PREPARE_COMMIT)[:-1], "TransactionLogValue"),
    ],
)
def test_unreadable_records(key: bytes | None, value: bytes | None, message: str) -> None:
    """What cannot be read is reported with the reason."""
    with pytest.raises(WireError, match=message):
        read_transaction(key, value)


@given(st.none() | st.binary(max_size=60).map(lambda tail: b"\0\0" + tail), st.none() | st.binary(max_size=80))
def test_any_bytes_are_read_or_refused(key: bytes | None, value: bytes | None) -> None:
    """Nothing but WireError is raised for any input."""
    with suppress(WireError):
        read_transaction(key, value)

"""Records side by side are the same as records one by one."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.analysis.pipeline.kafka_source.arrow_records import record_batches
from fakebroker.analysis.pipeline.kafka_source.columns import arrow_schema, record_schema
from fakebroker.analysis.pipeline.kafka_source.record_columns import columns_of, record_starts
from fakebroker.client.cluster.cluster_client import Fetched
from fakebroker.protocol.errors import FakebrokerError
from fakebroker.protocol.records.batch import assemble, build_batch, parse_header, plain_records
from fakebroker.protocol.records.batch_format import HEADER_BYTES
from fakebroker.protocol.records.faults import InvalidRecord
from fakebroker.protocol.records.message_set import build_message_set
from fakebroker.protocol.records.offsets_topic import TopicPartition
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.records.record_content import records_of

pytestmark = pytest.mark.spark

SCHEMA = arrow_schema(record_schema(includes_headers=True), includes_headers=True)
PARTITION = TopicPartition("orders", 3)
EVERYTHING = (0, 2**63 - 1)

texts = st.none() | st.binary(max_size=3) | st.binary(min_size=60, max_size=70) | st.binary(min_size=200, max_size=300)
headers = st.lists(st.tuples(st.sampled_from([b"", b"h", "ä".encode()]), texts), max_size=2)
records = st.lists(
    st.tuples(st.integers(0, 5000), st.integers(-1, 10**15), texts, texts, headers), min_size=1, max_size=30
)
batches = st.lists(st.tuples(records, st.integers(0, 4), st.none() | st.integers(0, 10**13)), min_size=1, max_size=4)


def fetched_of(data: bytes) -> Fetched:
    return Fetched(data, 0, 0, 0, [])


def log_of(drawn: list[Any]) -> bytes:
    """Batches that follow one another, with gaps between the records' offsets."""
    log, offset = [], 0
    for rows, codec, append_time_ms in drawn:
        made = []
        for gap, timestamp_ms, key, value, pairs in rows:
            offset += gap + 1
            made.append(Record(offset, timestamp_ms, key, value, pairs))
        log.append(build_batch(made, codec=codec, log_append_time_ms=append_time_ms))
    return b"".join(log)


def rows_of(data: bytes, start: int = EVERYTHING[0], end: int = EVERYTHING[1]) -> list[dict[str, Any]]:
    """The rows that Spark gets."""
    found = []
    for columns in columns_of(fetched_of(data)):
        for batch in record_batches(SCHEMA, PARTITION, columns, start, end):
            found += batch.set_column(5, "timestamp", batch.column("timestamp").cast("int64")).to_pylist()
    return found


def expected(data: bytes) -> list[dict[str, Any]]:
    return [
        {
            "key": each.key,
            "value": each.value,
            "topic": "orders",
            "partition": 3,
            "offset": each.offset,
            "timestamp": each.timestamp_ms * 1000,
            "timestampType": int(each.is_append_time),
            "headers": [{"key": name.decode(), "value": value} for name, value in each.headers] or None,
        }
        for each in records_of(data)
    ]


@given(drawn=batches)
def test_rows_are_the_records_that_a_scalar_decoder_reads(drawn: list[Any]) -> None:
    """Every codec, null and empty keys and values, headers, gaps, both kinds of timestamps; in the log's order."""
    data = log_of(drawn)
    rows = rows_of(data)

    assert rows == expected(data)
    middle = rows[len(rows) // 2]["offset"]
    assert rows_of(data, 0, middle) + rows_of(data, middle) == rows


@given(count=st.integers(1, 3000), size=st.sampled_from([0, 1, 50, 56, 57, 58, 9000]), other=st.integers(0, 3000))
def test_records_of_one_length_are_found_together(count: int, size: int, other: int) -> None:
    """The beginnings of many records as long as each other, with lengths of one to three bytes, one maybe not."""
    size = min(size, 200) if count > 100 else size
    pairs = [(None, b"v" * (size + (index == other))) for index in range(count)]
    batch = build_batch(plain_records(pairs, 0))
    payload = batch[HEADER_BYTES:]
    starts: list[int] = []

    assert record_starts(payload, 0, len(payload), count, starts) == len(payload)
    assert len(starts) == count
    assert [row["value"] for row in rows_of(batch)] == [value for _, value in pairs]


@given(drawn=batches, at=st.integers(0, 10**6), byte=st.integers(0, 255))
def test_a_changed_byte_is_an_error_or_another_record(drawn: list[Any], at: int, byte: int) -> None:
    """Bytes that do not add up, under a checksum that does, raise InvalidRecord and nothing else; never wrong rows."""
    rows, _, append_time_ms = drawn[0]
    batch = log_of([(rows, 0, append_time_ms)])
    payload = bytearray(batch[HEADER_BYTES:])
    payload[at % len(payload)] = byte
    data = assemble(parse_header(batch), bytes(payload))
    try:
        found = rows_of(data)
    except InvalidRecord:
        return
    except FakebrokerError as error:
        if "does not fit a TIMESTAMP" in str(error):
            return
        raise
    scalar = records_of(data)
    assert [row["value"] for row in found] == [each.value for each in scalar if each.offset >= 0]


def test_a_wrong_checksum_is_an_error() -> None:
    """A batch whose bytes changed on the way is not read."""
    batch = bytearray(build_batch(plain_records([(b"k", b"v")], 0)))
    batch[-2] ^= 1

    with pytest.raises(InvalidRecord, match="checksum"):
        list(columns_of(fetched_of(bytes(batch))))


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [0, 1, 2, 3])
def test_messages_of_old_formats_are_rows_too(magic: int, codec: int) -> None:
    """What a log of before Kafka 0.11 holds; format 0 has no timestamps."""
    data = build_message_set([Record(7, 1_000, b"k", None), Record(8, 1_001, None, b"v")], magic, codec=codec)
    rows = rows_of(data)

    assert [(row["offset"], row["key"], row["value"]) for row in rows] == [(7, b"k", None), (8, None, b"v")]
    assert [row["timestamp"] for row in rows] == ([-1_000] * 2 if magic == 0 else [1_000_000, 1_001_000])
    assert {row["timestampType"] for row in rows} == {magic - 1}


def test_a_timestamp_that_is_no_number_of_milliseconds_is_reported_with_its_record() -> None:
    """Microseconds of nanoseconds have no room: the partition and the offset are named."""
    batch = build_batch([Record(0, 1, None, b"a"), Record(1, 2**62, None, b"b")])

    with pytest.raises(
        FakebrokerError, match="orders-3, offset 1: the timestamp 4611686018427387904 ms does not fit a TIMESTAMP"
    ):
        rows_of(batch)


def test_many_rows_come_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Fetch answer with very many records becomes several Arrow batches."""
    monkeypatch.setattr("fakebroker.analysis.pipeline.kafka_source.arrow_records.ROWS_AT_ONCE", 10)
    (columns,) = columns_of(fetched_of(build_batch(plain_records([(None, b"v")] * 25, 0))))

    assert [part.num_rows for part in record_batches(SCHEMA, PARTITION, columns, *EVERYTHING)] == [10, 10, 5]
    assert np.array_equal(columns.offsets, np.arange(25))

"""Batches and streams against a broker, without a JVM: the readers are called as Spark calls them."""

import json
import warnings
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows, ReadMinRows
from pyspark.sql.types import StructType

from fakebroker import FakeBroker
from fakebroker.analysis.pipeline.kafka_source.columns import record_schema
from fakebroker.analysis.pipeline.kafka_source.planning import DataLoss
from fakebroker.analysis.pipeline.kafka_source.source import BatchReader, FakebrokerSource
from fakebroker.analysis.pipeline.kafka_source.stream_reader import StreamReader
from fakebroker.analysis.pipeline.source_options import OptionError
from fakebroker.client.cluster.cluster_client import ClusterClient
from fakebroker.client.cluster.errors import NoSuchPartition
from fakebroker.protocol.errors import FakebrokerError
from fakebroker.protocol.records.batch import build_batch, plain_records
from fakebroker.protocol.records.offsets_topic import TopicPartition
from tests.support.chance import examples
from tests.support.secured import CA, LOGIN, SECURED, secured_broker

pytestmark = pytest.mark.spark

SCHEMA = record_schema(includes_headers=False)
ALL = ReadAllAvailable()
Row = tuple[str, int, int]


class _Readers:
    """The readers of a test, which Spark would stop."""

    made: list[StreamReader] = []

    def close(self) -> None:
        while self.made:
            self.made.pop().stop()


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    """Two nodes; orders has 30 records in three partitions, of times 1000, 1001, ..."""
    with FakeBroker(nodes=2) as broker, closing(_Readers()):
        topic = broker.create_topic("orders", partitions=3, config={"retention.ms": -1})  # its times are long ago
        for number in range(30):
            topic.produce(b"%d" % number, partition=number % 3, timestamp_ms=1_000 + number)
        yield broker


def given(broker: FakeBroker, **options: object) -> dict[str, str]:
    named = {name: value if isinstance(value, str) else json.dumps(value) for name, value in options.items()}
    servers = {"kafka.bootstrap.servers": broker.bootstrap, "fetchOffset.retryIntervalMs": "1"}
    return {**servers, **({} if {"assign", "subscribePattern"} & set(options) else {"subscribe": "orders"}), **named}


def batch(broker: FakeBroker, **options: object) -> list[Row]:
    return rows_of(BatchReader(given(broker, **options), SCHEMA))


def rows_of(reader: Any, *span: Any) -> list[Row]:
    """Where the records are that a batch has, or a micro-batch between two offsets."""
    return [
        (row["topic"], row["partition"], row["offset"])
        for task in reader.partitions(*span)
        for part in reader.read(task)
        for row in part.select(["topic", "partition", "offset"]).to_pylist()
    ]


@pytest.mark.parametrize("protocol", SECURED)
def test_a_secured_kafka_is_read(protocol: str) -> None:
    """The driver and the tasks speak TLS and log in as the options say."""
    with secured_broker() as broker:
        broker.create_topic("orders", partitions=2).produce(b"a", partition=1)
        properties = {f"kafka.{name}": value for name, value in {**CA, **LOGIN, "security.protocol": protocol}.items()}
        servers = {"kafka.bootstrap.servers": broker.bootstrap_of(protocol), "subscribe": "orders"}

        assert rows_of(BatchReader({**servers, **properties}, SCHEMA)) == [("orders", 1, 0)]


def stream(broker: FakeBroker, **options: object) -> StreamReader:
    reader = StreamReader(given(broker, **options), SCHEMA)
    _Readers.made.append(reader)
    return reader


def every(partition: int, start: int, end: int, topic: str = "orders") -> list[Row]:
    return [(topic, partition, offset) for offset in range(start, end)]


def test_a_batch_has_every_record_once(broker: FakeBroker) -> None:
    """All of what was produced, by topic, by pattern and by partition."""
    broker.create_topic("other").produce(b"x")
    orders = every(0, 0, 10) + every(1, 0, 10) + every(2, 0, 10)

    assert batch(broker) == orders
    assert batch(broker, subscribe="orders,other") == [*orders, ("other", 0, 0)]
    assert batch(broker, subscribePattern="or.*") == orders
    assert batch(broker, assign={"orders": [2]}) == every(2, 0, 10)


def test_offsets_say_where_a_batch_begins_and_ends(broker: FakeBroker) -> None:
    """By partition: an offset, -2 for the beginning, -1 for the end, which is left out."""
    start, end = {"orders": {"0": 4, "1": -2, "2": 10}}, {"orders": {"0": 6, "1": 3, "2": -1}}

    assert batch(broker, startingOffsets=start, endingOffsets=end) == every(0, 4, 6) + every(1, 0, 3)


def test_times_say_where_a_batch_begins_and_ends(broker: FakeBroker) -> None:
    """What the broker answers for a time; for the end, the end of the log where no record is as new."""
    client = broker.client("a", node_id=broker.topic("orders").leaders[1])
    answered = client.list_offsets("orders", 1, 1_014).topics[0].partitions[0][4]
    start = {"orders": {"0": 1_026, "1": 1_014, "2": 0}}
    end = {"orders": {"0": 9_999, "1": 1_017, "2": 1_006}}

    assert answered == 5
    found = batch(broker, startingOffsetsByTimestamp=start, endingOffsetsByTimestamp=end)
    assert found == every(0, 9, 10) + every(1, answered, 6) + every(2, 0, 2)
    assert batch(broker, startingTimestamp="1025", endingTimestamp="1026") == every(1, 8, 9)


def test_a_time_after_all_records_is_an_error_or_the_end(broker: FakeBroker) -> None:
    """As startingOffsetsByTimestampStrategy says."""
    with pytest.raises(
        OptionError, match=r"no record of orders-0 \(time 1028\) is as new as the option startingTimestamp"
    ):
        batch(broker, startingTimestamp="1028")

    found = batch(broker, startingTimestamp="1028", startingOffsetsByTimestampStrategy="latest")
    assert found == every(1, 9, 10) + every(2, 9, 10)


def test_positions_name_the_partitions_that_are_read(broker: FakeBroker) -> None:
    """One too few, or a start after the end, is an error that names them."""
    with pytest.raises(OptionError, match="it names orders-0, there are orders-0, orders-1, orders-2"):
        batch(broker, startingOffsets={"orders": {"0": 4}})
    with pytest.raises(OptionError, match="orders-1: the starting offset 8 is after the ending offset 3"):
        batch(broker, assign={"orders": [1]}, startingOffsets={"orders": {"1": 8}}, endingOffsets={"orders": {"1": 3}})
    with pytest.raises(NoSuchPartition, match="there is no topic or partition nothing at"):
        batch(broker, subscribe="orders,nothing")
    with pytest.raises(OptionError, match="subscribePattern '\\['"):
        batch(broker, subscribePattern="[")


def test_a_batch_is_split_into_more_tasks_when_asked(broker: FakeBroker) -> None:
    """minPartitions and maxRecordsPerPartition make more tasks of the same records."""
    for options, tasks in (({}, 3), ({"minPartitions": "6"}, 6), ({"maxRecordsPerPartition": "3"}, 12)):
        reader = BatchReader(given(broker, **options), SCHEMA)
        assert len(reader.partitions()) == tasks
        assert len(set(rows_of(reader))) == len(rows_of(reader)) == 30


def test_internal_topics_are_read_by_name(broker: FakeBroker) -> None:
    """`subscribe=__consumer_offsets` reads it; a pattern leaves internal topics out."""
    coordinator = broker.coordinator("billing").node_id
    broker.client("a", node_id=coordinator).commit({("orders", 0): 5}, group_id="billing")
    partition = next(index for index, end in broker.topic("__consumer_offsets").end_offsets.items() if end)

    assert batch(broker, subscribe="__consumer_offsets") == every(partition, 0, 1, "__consumer_offsets")
    assert batch(broker, subscribePattern=".*") == batch(broker)


def test_records_that_are_gone_are_an_error_by_default(broker: FakeBroker) -> None:
    """Below the beginning of the log: with failOnDataLoss false reading goes on at the beginning, with a warning."""
    broker.topic("orders").advance_log_start(4, partition=0)
    options: dict[str, object] = {"assign": {"orders": [0]}, "startingOffsets": {"orders": {"0": 1}}}

    with pytest.raises(DataLoss, match="orders-0: offsets 1 to 3 are gone, the log begins at 4"):
        batch(broker, **options)
    with pytest.warns(UserWarning, match="records may have been lost"):
        assert batch(broker, **options, failOnDataLoss="false") == every(0, 4, 10)
    with pytest.warns(UserWarning, match="records may have been lost"):
        assert batch(broker, **options, endingOffsets={"orders": {"0": 3}}, failOnDataLoss="false") == []


def test_only_the_sources_own_schema_is_taken(broker: FakeBroker) -> None:
    """A schema of the user's is refused."""
    with pytest.raises(FakebrokerError, match="fixed schema"):
        BatchReader(given(broker), StructType([]))


def test_the_columns_are_those_of_sparks_source() -> None:
    """Names, order and types; headers when they are asked for."""
    columns = [(field.name, field.dataType.simpleString()) for field in FakebrokerSource({}).schema().fields]

    assert columns == [
        ("key", "binary"),
        ("value", "binary"),
        ("topic", "string"),
        ("partition", "int"),
        ("offset", "bigint"),
        ("timestamp", "timestamp"),
        ("timestampType", "int"),
    ]
    headers = FakebrokerSource({"includeHeaders": "true"}).schema()["headers"].dataType.simpleString()
    assert headers == "array<struct<key:string,value:binary>>"


def test_a_stream_begins_at_the_given_offsets_and_goes_on_from_its_offsets(broker: FakeBroker) -> None:
    """From the end by default; micro-batches follow one another without a gap, also in a reader that starts anew."""
    reader = stream(broker)
    start = reader.initialOffset()
    assert start == {"orders": {"0": 10, "1": 10, "2": 10}}
    assert reader.latestOffset(start, ALL) == start
    assert reader.partitions(start, start) == []

    broker.topic("orders").produce(b"a", b"b", partition=1)
    end = reader.latestOffset(start, ALL)
    assert rows_of(reader, start, end) == every(1, 10, 12)
    assert reader.reportLatestOffset() == end
    broker.topic("orders").produce(b"c", partition=2)
    again = stream(broker)
    assert rows_of(again, start, end) == every(1, 10, 12)  # a batch that was planned is planned the same again
    assert rows_of(again, end, again.latestOffset(end, ALL)) == every(2, 10, 11)


def test_a_stream_of_everything_is_a_batch_of_everything(broker: FakeBroker) -> None:
    """In pieces of seven offsets, each from a reader of its own: every record once."""
    found: list[Row] = []
    offsets = stream(broker, startingOffsets="earliest").initialOffset()
    while True:
        reader = stream(broker, startingOffsets="earliest", maxOffsetsPerTrigger="7")
        limit = reader.getDefaultReadLimit()
        assert limit == ReadMaxRows(7)
        end = reader.latestOffset(offsets, limit)
        rows = rows_of(reader, offsets, end)
        if not rows:
            break
        assert len(rows) <= 7
        found, offsets = found + rows, end

    assert sorted(found) == sorted(batch(broker))


produced = st.lists(
    st.tuples(
        st.integers(0, 2), st.lists(st.none() | st.binary(max_size=40), min_size=1, max_size=6), st.integers(0, 4)
    ),
    max_size=12,
)


@examples(15)
@hypothesis.given(rows=produced, most=st.integers(1, 20))
def test_bytes_produced_are_rows_read(rows: list[tuple[int, list[bytes | None], int]], most: int) -> None:
    """Whatever is produced, in whatever codec and however a stream is cut: a batch and a stream have every record."""
    with FakeBroker(nodes=2) as broker, closing(_Readers()), ClusterClient(broker.bootstrap) as cluster:
        topic = broker.create_topic("orders", partitions=3)
        for index, values, codec in rows:
            records = plain_records([(value, value) for value in values], broker.clock.now_ms)
            cluster.produce(TopicPartition("orders", index), build_batch(records, codec=codec))
        stored = [(index, each.offset, each.key, each.value) for index in range(3) for each in topic.records(index)]
        reader = BatchReader(given(broker), SCHEMA)
        in_batch = [each for task in reader.partitions() for each in contents(reader.read(task))]

        stream_reader = stream(broker, startingOffsets="earliest")
        in_stream: list[Any] = []
        end = stream_reader.initialOffset()
        while (start := end) != (end := stream_reader.latestOffset(start, ReadMaxRows(most))):
            tasks = stream_reader.partitions(start, end)
            in_stream += [each for task in tasks for each in contents(stream_reader.read(task))]

    assert len(stored) == sum(len(values) for _, values, _ in rows)
    assert in_batch == stored
    assert sorted(in_stream, key=lambda row: row[:2]) == stored


def contents(parts: Iterator[Any]) -> list[Any]:
    columns = ["partition", "offset", "key", "value"]
    return [tuple(row[name] for name in columns) for part in parts for row in part.to_pylist()]


def test_available_now_ends_at_what_there_was(broker: FakeBroker) -> None:
    """What is appended after the query began is for the next one."""
    reader = stream(broker, startingOffsets="earliest", maxOffsetsPerTrigger="20")
    start = reader.initialOffset()
    reader.prepareForTriggerAvailableNow()
    broker.topic("orders").produce(b"later", partition=0)
    end = reader.latestOffset(start, ReadMaxRows(20))
    last = reader.latestOffset(end, ReadMaxRows(20))

    assert reader.latestOffset(last, ReadMaxRows(20)) == last == {"orders": {"0": 10, "1": 10, "2": 10}}


def test_a_stream_waits_for_enough(broker: FakeBroker) -> None:
    """minOffsetsPerTrigger holds a micro-batch back; not longer than maxTriggerDelay, nor where all is asked for."""
    reader = stream(broker, minOffsetsPerTrigger="3")
    start = reader.initialOffset()
    limit = reader.getDefaultReadLimit()
    assert limit == ReadMinRows(3)
    broker.topic("orders").produce(b"a", b"b")

    assert reader.latestOffset(start, limit) == start
    assert reader.latestOffset(start, ALL) != start
    assert stream(broker, minOffsetsPerTrigger="3", maxTriggerDelay="0s").latestOffset(start, limit) != start
    broker.topic("orders").produce(b"c")
    assert reader.latestOffset(start, limit)["orders"]["0"] == 13


def test_new_partitions_are_read_from_their_beginning(broker: FakeBroker) -> None:
    """Partitions that are added, and topics that begin to match, are found by the next micro-batch."""
    reader = stream(broker, subscribePattern="or.*")
    start = reader.initialOffset()
    broker.client("a").create_partitions("orders", 4)
    broker.topic("orders").produce(b"a", partition=3)
    broker.create_topic("orchids").produce(b"b")

    assert rows_of(reader, start, reader.latestOffset(start, ALL)) == [("orchids", 0, 0), ("orders", 3, 0)]


def test_a_topic_that_is_deleted_is_data_loss(broker: FakeBroker) -> None:
    """Its partitions are named; with failOnDataLoss false the stream goes on with the others."""
    broker.create_topic("other")
    reader = stream(broker, subscribe="orders,other")
    start = reader.initialOffset()
    broker.topic("other").delete()
    broker.topic("orders").produce(b"a")
    end = reader.latestOffset(start, ALL)

    with pytest.raises(DataLoss, match="other-0 was deleted"):
        reader.partitions(start, end)
    lenient = stream(broker, subscribe="orders,other", failOnDataLoss="false")
    with pytest.warns(UserWarning, match="other-0 was deleted"):
        assert rows_of(lenient, start, end) == every(0, 10, 11)


def test_a_log_that_went_back_is_data_loss(broker: FakeBroker) -> None:
    """A topic that was truncated or made anew has fewer records than were read of it."""
    reader = stream(broker, **{"fetchOffset.numRetries": "1"})
    start = reader.initialOffset()
    broker.topic("orders").truncate(6, partition=1)
    end = reader.latestOffset(start, ALL)

    with pytest.raises(DataLoss, match="orders-1 ended at offset 10 before and now ends at 6"):
        reader.partitions(start, end)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        assert stream(broker, failOnDataLoss="false").partitions(start, end) == []
    assert len(warned) == 1

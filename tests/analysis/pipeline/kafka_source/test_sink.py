"""The sink: rows of Arrow become records where the Java producer would have put them."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.types import ArrayType, BinaryType, DataType, IntegerType, LongType, StringType, StructType

from fakebroker import FakeBroker
from fakebroker.analysis.pipeline.kafka_source.partitioner import murmur2
from fakebroker.analysis.pipeline.kafka_source.sink import BatchWriter, ColumnError, StreamWriter, sink_of
from fakebroker.analysis.pipeline.kafka_source.source import FakebrokerSource
from fakebroker.analysis.pipeline.source_options import OptionError
from fakebroker.client.cluster.errors import NoSuchPartition
from fakebroker.protocol.errors import FakebrokerError

pytestmark = pytest.mark.spark

TEXT, BYTES, INT = StringType(), BinaryType(), IntegerType()
HEADERS = ArrayType(StructType().add("key", TEXT).add("value", BYTES))
VALUES = StructType().add("value", TEXT)


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    with FakeBroker(nodes=2) as broker:
        broker.create_topic("orders", partitions=3)
        yield broker


def given_to(broker: FakeBroker, **options: str) -> dict[str, str]:
    return {"kafka.bootstrap.servers": broker.bootstrap, **options}


def write(broker: FakeBroker, columns: dict[str, Any], types: dict[str, DataType], **options: str) -> int:
    """Write columns as one task; how many records it says it wrote."""
    schema = StructType()
    for name, kind in types.items():
        schema.add(name, kind)
    sink = sink_of(given_to(broker, **options), schema)
    return BatchWriter(sink).write(iter([pa.RecordBatch.from_pydict(columns)])).records


def test_every_column_has_its_place_in_the_record(broker: FakeBroker) -> None:
    """Key, value, headers and partition, as texts or bytes; the topic of the row."""
    columns = {
        "topic": ["orders", "orders"],
        "key": ["ä", None],
        "value": [b"a", None],
        "headers": [[{"key": "h", "value": b"x"}, {"key": "h", "value": None}], None],
        "partition": [2, 0],
    }
    types = {
        "topic": TEXT,
        "key": TEXT,
        "value": BYTES,
        "headers": HEADERS,
        "partition": INT,
    }

    assert write(broker, columns, types) == 2
    (first,), (second,) = broker.topic("orders").records(2), broker.topic("orders").records(0)
    assert (first.key, first.value, first.headers) == ("ä".encode(), b"a", (("h", b"x"), ("h", None)))
    assert (second.key, second.value, second.headers) == (None, None, ())


def test_the_option_topic_goes_before_the_column(broker: FakeBroker) -> None:
    """As in Spark's sink."""
    broker.create_topic("other")
    write(broker, {"topic": ["orders"], "value": ["a"]}, {"topic": TEXT, "value": TEXT}, topic="other")

    assert broker.topic("other").end_offsets == {0: 1}


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_large_writes_are_several_batches_in_any_codec(broker: FakeBroker, codec: str) -> None:
    """All records are there in their order, in batches of kafka.batch.size, compressed as asked."""
    values = [f"{number}" for number in range(500)]
    options = {"topic": "orders", "kafka.batch.size": "4000", "kafka.compression.type": codec}

    assert write(broker, {"value": values, "partition": [1] * 500}, {"value": TEXT, "partition": INT}, **options)
    assert [record.value for record in broker.topic("orders").records(1)] == [value.encode() for value in values]
    assert len(broker.journal.requests("Produce")) > 2


@given(key=st.binary(max_size=20))
@pytest.mark.clients
@pytest.mark.filterwarnings("ignore")  # what the library warns of at import
def test_keys_hash_as_other_producers_hash_them(key: bytes) -> None:
    """The same number as another client's partitioner."""
    from kafka.partitioner import murmur2 as other

    assert murmur2(key) == other(key) & 0xFFFFFFFF


def test_records_of_one_key_share_a_partition_and_rows_without_keys_are_spread(broker: FakeBroker) -> None:
    """By the key's hash; without a key, each batch of rows to the next partition."""
    kinds = {"key": TEXT, "value": TEXT}
    write(broker, {"key": ["a", "b", "a"], "value": ["1", "2", "3"]}, kinds, topic="orders")
    partition = (murmur2(b"a") & 0x7FFFFFFF) % 3
    assert [each.value for each in broker.topic("orders").records(partition) if each.key == b"a"] == [b"1", b"3"]

    before = broker.topic("orders").end_offsets
    rows = pa.RecordBatch.from_pydict({"value": ["x", "y"]})
    StreamWriter(sink_of(given_to(broker, topic="orders"), VALUES)).write(iter([rows, rows, rows]))
    assert broker.topic("orders").end_offsets == {index: end + 2 for index, end in before.items()}


def test_a_topic_that_does_not_exist_is_created_as_for_any_producer(broker: FakeBroker) -> None:
    """With auto.create.topics.enable, Kafka's default."""
    write(broker, {"value": ["a"]}, {"value": TEXT}, topic="new")

    assert sum(broker.topic("new").end_offsets.values()) == 1


@pytest.mark.parametrize(
    ("types", "said"),
    [
        ({"value": TEXT}, "topic option required when no 'topic' attribute is present"),
        ({"topic": TEXT}, "Required attribute 'value' not found"),
        ({"topic": INT, "value": TEXT}, "topic attribute type must be a string, and is int"),
        ({"topic": TEXT, "value": INT}, "value attribute type must be a string or binary, and is int"),
        ({"topic": TEXT, "value": TEXT, "partition": LongType()}, "partition attribute type must be a int"),
        ({"topic": TEXT, "value": TEXT, "headers": TEXT}, "headers attribute type must be a array<struct"),
    ],
)
def test_columns_that_do_not_fit_are_reported_as_spark_tells_them(types: dict[str, DataType], said: str) -> None:
    """When the query is planned, before any row."""
    schema = StructType()
    for name, kind in types.items():
        schema.add(name, kind)

    with pytest.raises(ColumnError, match=said):
        sink_of({"kafka.bootstrap.servers": "localhost:9092"}, schema)


def test_rows_that_do_not_fit_are_reported(broker: FakeBroker) -> None:
    """A null topic, a partition that the topic has not, a header without a name."""
    kinds = {"topic": TEXT, "value": TEXT, "partition": INT}
    with pytest.raises(ColumnError, match="null topic present in the data"):
        write(broker, {"topic": [None], "value": ["a"], "partition": [0]}, kinds)
    with pytest.raises(NoSuchPartition, match="topic 'orders' has no partition 7: it has 3 partitions"):
        write(broker, {"topic": ["orders"], "value": ["a"], "partition": [7]}, kinds)
    for header in (None, {"key": None, "value": b"x"}):
        with pytest.raises(ColumnError, match="header"):
            write(broker, {"value": ["a"], "headers": [[header]]}, {"value": TEXT, "headers": HEADERS}, topic="orders")


def test_wrong_options_and_modes_are_reported(broker: FakeBroker) -> None:
    """An option of a read, an unknown one, and overwriting."""
    with pytest.raises(OptionError, match=r"there is no option 'topics'; did you mean 'topic'"):
        sink_of(given_to(broker, topics="orders"), VALUES)
    with pytest.raises(OptionError, match=r"kafka\.compression\.type is 'zip'; it must be none or gzip"):
        sink_of(given_to(broker, topic="orders", **{"kafka.compression.type": "zip"}), VALUES)
    source = FakebrokerSource(given_to(broker, topic="orders"))
    for writer in (source.writer, source.streamWriter):
        with pytest.raises(FakebrokerError, match="cannot be overwritten"):
            writer(VALUES, overwrite=True)

"""The readers and the sink against a Kafka that runs, transactions among them."""

import json

import confluent_kafka
import pyarrow as pa
import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable
from pyspark.sql.types import StringType, StructType

from fakebroker.analysis.pipeline.kafka_source.columns import record_schema
from fakebroker.analysis.pipeline.kafka_source.sink import BatchWriter, sink_of
from fakebroker.analysis.pipeline.kafka_source.source import BatchReader
from fakebroker.analysis.pipeline.kafka_source.stream_reader import StreamReader
from fakebroker.client.cluster.cluster_client import ClusterClient
from tests.support.real_kafka import RealKafka, needs_real_kafka, running_kafka

pytestmark = [*needs_real_kafka, pytest.mark.slow, pytest.mark.clients]

SCHEMA = record_schema(includes_headers=False)


def values(kafka: RealKafka, **options: str) -> list[str]:
    reader = BatchReader({"kafka.bootstrap.servers": kafka.bootstrap, "subscribe": "orders", **options}, SCHEMA)
    parts = [part for task in reader.partitions() for part in reader.read(task)]
    return [value.decode() for part in parts for value in part.column("value").to_pylist()]


def transaction(kafka: RealKafka, name: str, *values: str, commits: bool) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": name})
    producer.init_transactions(30)
    producer.begin_transaction()
    for value in values:
        producer.produce("orders", value, partition=0)
    producer.flush(30)
    (producer.commit_transaction if commits else producer.abort_transaction)(30)


def test_it_reads_and_writes_a_real_kafka() -> None:
    """The sink's records, and those of transactions; aborted ones only for who reads uncommitted; a stream of them."""
    with running_kafka() as kafka:
        options = {"kafka.bootstrap.servers": kafka.bootstrap, "topic": "orders", "kafka.compression.type": "zstd"}
        sink = sink_of(options, StructType().add("value", StringType()))
        BatchWriter(sink).write(iter([pa.RecordBatch.from_pydict({"value": ["first", "second"]})]))
        transaction(kafka, "a", "kept", commits=True)
        transaction(kafka, "b", "aborted", commits=False)
        transaction(kafka, "c", "kept too", commits=True)

        assert values(kafka) == ["first", "second", "kept", "aborted", "kept too"]
        committed = {"kafka.isolation.level": "read_committed"}
        assert values(kafka, **committed) == ["first", "second", "kept", "kept too"]
        assert values(kafka, endingOffsets=json.dumps({"orders": {"0": 1}})) == ["first"]

        reader = StreamReader(
            {"kafka.bootstrap.servers": kafka.bootstrap, "subscribePattern": "ord.*", "startingOffsets": "earliest"},
            SCHEMA,
        )
        end = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
        assert end == {"orders": {"0": 8}}  # five records and three markers
        reader.stop()
        with ClusterClient(kafka.bootstrap) as cluster:
            assert cluster.topics()["__consumer_offsets"].partitions

"""The sink: rows become records, at least once. A task that fails is run again, and may write its records twice."""

import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from fakebroker.analysis.pipeline.kafka_source.partitioner import Partitioner
from fakebroker.analysis.pipeline.source_options import Options
from fakebroker.client.cluster.asking import TIMEOUT_MS
from fakebroker.client.cluster.cluster_client import ClusterClient
from fakebroker.client.security import ClientConfig
from fakebroker.protocol.errors import FakebrokerError
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.compression import CODEC_NAMES
from fakebroker.protocol.records.offsets_topic import TopicPartition
from fakebroker.protocol.records.record_codec import Record

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

WRITE_OPTIONS: Final = (
    "topic", "includeHeaders", "kafka.bootstrap.servers", "kafka.acks", "kafka.batch.size", "kafka.client.id",
    "kafka.compression.type", "kafka.request.timeout.ms", "kafka.security.protocol",
)  # fmt: skip
_BATCH_BYTES: Final = 512 << 10  # half of what a broker takes with its default settings
_RECORD_BYTES: Final = 24  # of a record beside key and value, roughly
_TEXTS: Final = ("string", "binary")
_HEADERS: Final = "array<struct<key:string,value:binary>>"
_COLUMN_TYPES: Final[dict[str, tuple[str, ...]]] = {
    "topic": ("string",),
    "key": _TEXTS,
    "value": _TEXTS,
    "headers": (_HEADERS,),
    "partition": ("int",),
}


class ColumnError(FakebrokerError):
    """A DataFrame has not the columns that records are made of. The text is that of Spark's Kafka sink."""


class Sink(NamedTuple):
    """What tasks need to write."""

    kafka: ClientConfig
    topic: str | None
    acks: int
    codec: int
    batch_bytes: int
    timeout_ms: int
    client_id: str


class Written(WriterCommitMessage):  # type: ignore[misc]
    """What a task has written."""

    def __init__(self, records: int) -> None:
        self.records = records


def sink_of(given: Mapping[str, str], schema: "StructType") -> Sink:
    """The sink of some options for rows of this schema. Raises OptionError, ColumnError."""
    options = Options(given, WRITE_OPTIONS)
    topic = options.text("topic")
    _check_columns({field.name: field.dataType.simpleString() for field in schema.fields}, has_topic=topic is not None)
    return Sink(
        options.kafka(),
        topic,
        options.choice("kafka.acks", {"all": -1, "-1": -1, "0": 0, "1": 1}, -1),
        options.choice("kafka.compression.type", {name: codec for codec, name in enumerate(CODEC_NAMES)}, 0),
        options.number("kafka.batch.size", _BATCH_BYTES, 1),
        options.number("kafka.request.timeout.ms", TIMEOUT_MS, 1),
        options.text("kafka.client.id") or "fakebroker-spark",
    )


def _check_columns(types: Mapping[str, str], *, has_topic: bool) -> None:
    if "topic" not in types and not has_topic:
        raise ColumnError(
            "topic option required when no 'topic' attribute is present. Use the topic option for setting a topic."
        )
    if "value" not in types:
        raise ColumnError("Required attribute 'value' not found")
    for name, allowed in _COLUMN_TYPES.items():
        if name in types and types[name] not in allowed:
            raise ColumnError(f"{name} attribute type must be a {' or '.join(allowed)}, and is {types[name]}")


class _TaskWriter:
    """Rows of one task, gathered by partition, sent whenever there is enough for a batch."""

    def __init__(self, sink: Sink, cluster: ClusterClient) -> None:
        self._sink = sink
        self._cluster = cluster
        self._partitioner = Partitioner(cluster)
        self._waiting: dict[TopicPartition, list[Record]] = {}
        self._sizes: dict[TopicPartition, int] = {}
        self.records = 0

    def add(self, batch: Any) -> None:
        """Take in the rows of an Arrow record batch. Raises ColumnError for a null topic or name of a header."""
        rows, now_ms = batch.num_rows, time.time_ns() // 1_000_000
        names = batch.schema.names

        def column(name: str) -> list[Any]:
            return batch.column(name).to_pylist() if name in names else [None] * rows

        topics = column("topic") if self._sink.topic is None else [self._sink.topic] * rows
        keys, values = map(_as_bytes, (column("key"), column("value")))
        self._partitioner.begin_batch()
        for topic, key, value, headers, index in zip(
            topics, keys, values, column("headers"), column("partition"), strict=True
        ):
            if topic is None:
                raise ColumnError("null topic present in the data. Use the topic option for setting a default topic.")
            partition = self._partitioner.partition_of(topic, key, index)
            waiting = self._waiting.setdefault(partition, [])
            waiting.append(Record(len(waiting), now_ms, key, value, _headers(headers) if headers else ()))
            self._count(partition, len(key or b"") + len(value or b""))
        self.records += rows

    def flush(self) -> None:
        """Send all that waits."""
        for partition in list(self._waiting):
            self._send(partition)

    def _count(self, partition: TopicPartition, size_bytes: int) -> None:
        """Count what waits for a partition, and send it when it is enough."""
        size_bytes += self._sizes.get(partition, 0) + _RECORD_BYTES
        self._sizes[partition] = size_bytes
        if size_bytes >= self._sink.batch_bytes:
            self._send(partition)

    def _send(self, partition: TopicPartition) -> None:
        batch = build_batch(self._waiting.pop(partition), leader_epoch=-1, codec=self._sink.codec)
        del self._sizes[partition]
        self._cluster.produce(partition, batch, acks=self._sink.acks, timeout_ms=self._sink.timeout_ms)


def write_rows(sink: Sink, batches: Iterator[Any]) -> Written:
    """Write the rows of a task. Raises ColumnError, ClusterError."""
    with ClusterClient(
        sink.kafka.bootstrap,
        security=sink.kafka.security,
        client_id=sink.client_id,
        timeout_ms=sink.timeout_ms,
        creates_topics=True,
    ) as cluster:
        writer = _TaskWriter(sink, cluster)
        for batch in batches:
            writer.add(batch)
        writer.flush()
        return Written(writer.records)


def _as_bytes(column: list[Any]) -> list[bytes | None]:
    return [each.encode() if isinstance(each, str) else each for each in column]


def _headers(rows: list[Mapping[str, Any]]) -> list[tuple[bytes, bytes | None]]:
    if any(row is None or row["key"] is None for row in rows):
        raise ColumnError("a header in the data is null, or has a null key, which no record can have")
    return [(row["key"].encode(), row["value"]) for row in rows]


class _Writer:
    """What both kinds of writers do."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def write(self, iterator: Iterator[Any]) -> Written:
        """Write the rows of one task."""
        return write_rows(self._sink, iterator)


class BatchWriter(_Writer, DataSourceArrowWriter):  # type: ignore[misc]
    """Writes the rows of a batch."""


class StreamWriter(_Writer, DataSourceStreamArrowWriter):  # type: ignore[misc]
    """Writes the rows of every micro-batch."""

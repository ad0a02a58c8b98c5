"""A topic as a test sees it: its records without a client, and what can be done to its log."""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, TypeVar

from fakebroker.protocol.arguments.kinds import Whole
from fakebroker.protocol.arguments.types import Count, Offset, TimeoutS
from fakebroker.protocol.errors import ErrorCode, InvalidArgument, KafkaError
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.pace import Pace, finished
from fakebroker.protocol.records.batch import (
    build_batch,
    check_crc,
    is_long_batch,
    parse_header,
    read_records_in_steps,
)
from fakebroker.protocol.records.compression import SHORT_BYTES
from fakebroker.protocol.records.record_codec import Record
from fakebroker.testing.handles.handle import WAIT_S, Handle

if TYPE_CHECKING:
    from fakebroker.broker.core.cluster import Cluster
    from fakebroker.broker.core.topics import Partition, Topic
    from fakebroker.testing.handles.access import EngineAccess
    from fakebroker.testing.handles.partition import PartitionHandle
    from fakebroker.testing.handles.topic_view import BrowsedRecords, FoundByTime, TopicView

T = TypeVar("T")
Text = bytes | str | None
MAX_RECORDS: Final = 500  # of a browse
CHECKED_PER_STEP_BYTES: Final = 4 << 20
LARGEST_RATIO: Final = 1000  # what a byte of gzip unpacks to, about
Headers = Sequence[tuple[str, Text]] | Mapping[str, Text]


class StoredRecord(NamedTuple):
    """One record of a topic. `timestamp_ms` is -1 for none; `headers` are name and value."""

    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


class TopicHandle(Handle):
    """A topic by name, whether it exists or not. Methods that need it raise KafkaError(UNKNOWN_TOPIC_OR_PARTITION)."""

    def __init__(self, access: "EngineAccess", name: str) -> None:
        super().__init__(access)
        self.name = name

    def __repr__(self) -> str:
        return f"<topic {self.name}>"

    @property
    def exists(self) -> bool:
        """Whether the topic exists."""
        return self._with_cluster(lambda cluster, _: self.name in cluster.topics)

    @property
    def partitions(self) -> int:
        """The number of partitions."""
        return self._with_cluster(lambda cluster, _: len(self._topic(cluster).partitions))

    def partition(self, index: int) -> "PartitionHandle":
        """A partition: its leader, replicas and in-sync replicas."""
        from fakebroker.testing.handles.partition import PartitionHandle

        return PartitionHandle(self._access, self.name, index, lambda cluster: self._partition(cluster, index))

    @property
    def leaders(self) -> dict[int, int]:
        """The node that leads each partition, -1 for none."""
        return self._with_cluster(lambda cluster, _: {p.index: p.leader for p in self._topic(cluster).partitions})

    @property
    def end_offsets(self) -> dict[int, int]:
        """The log end offset of each partition: where its next record will be."""
        return self._with_cluster(lambda cluster, _: {p.index: p.end_offset for p in self._topic(cluster).partitions})

    def view(self) -> "TopicView":
        """The topic with its settings and partitions: leader, replicas, offsets, size, open transactions."""
        return self._with_cluster(lambda cluster, _: finished(self._view(cluster)))

    def browse(
        self, partition: int = 0, offset: int = 0, limit: Annotated[int, Whole(1, MAX_RECORDS)] = 100
    ) -> "BrowsedRecords":
        """At most `limit` records of a partition from `offset` on, as stored, including transaction markers.

        A negative `offset` counts from the end: -20 begins with the last 20. Raises InvalidArgument for a `limit`
        outside of 1 to 500.
        """
        return self._with_cluster(lambda cluster, _: finished(self._browse(cluster, partition, offset, limit)))

    def find_time(self, when: int | str | datetime, partition: int | None = None) -> "list[FoundByTime]":
        """The first record at or after a time, of one partition or of each, as ListOffsets finds it.

        `when` is milliseconds since the epoch, a datetime with a time zone or its text, "earliest", "latest", or "max"
        for the record with the largest timestamp. Raises InvalidArgument for anything else.
        """
        return self._with_cluster(lambda cluster, _: finished(self._find_time(cluster, when, partition)))

    def records(self, partition: int | None = None) -> list[StoredRecord]:
        """The records in the log of one partition or of all, in order of partition and offset, without control batches.

        Raises KafkaError(CORRUPT_MESSAGE) for a batch that was corrupted.
        """
        return self._with_cluster(lambda cluster, _: self._all_records(cluster, partition))

    def produce(
        self,
        *values: Text,
        key: Text = None,
        partition: int = 0,
        headers: Headers = (),
        timestamp_ms: Annotated[int, Whole(-1)] | None = None,
    ) -> int:
        """Append one record for each of `values`, in one batch; returns the offset of the first.

        Strings are stored as UTF-8. `headers` are pairs, or a dict. `timestamp_ms` is by default the broker's time of
        day. Raises KafkaError when the topic's settings do not allow the batch.
        """
        if not values:
            needed = "produce() needs at least one value; None writes a record without a value"
            raise InvalidArgument("values", [], needed)
        headers = list(headers.items()) if isinstance(headers, Mapping) else headers
        pairs = tuple((_bytes(name) or b"", _bytes(value)) for name, value in headers)

        def append(cluster: "Cluster", now: Instant) -> int:
            time_ms = now.wall_ms if timestamp_ms is None else timestamp_ms
            records = [Record(i, time_ms, _bytes(key), _bytes(value), pairs) for i, value in enumerate(values)]
            batch = build_batch(records)
            return self._partition(cluster, partition).log.append(batch, now).base_offset

        return self._with_cluster(append)

    def truncate(self, offset: Offset, partition: int = 0) -> None:
        """Remove the records from `offset` on, as an unclean leader election does."""
        self._with_cluster(lambda cluster, now: self._partition(cluster, partition).log.truncate(offset, now))

    def advance_log_start(self, offset: int, partition: int = 0) -> None:
        """Move the log start to `offset`, as retention and DeleteRecords do. Raises KafkaError beyond the log's end."""
        self._with_cluster(lambda cluster, now: self._partition(cluster, partition).log.advance_log_start(offset, now))

    def corrupt(self, offset: int, partition: int = 0) -> None:
        """Make the CRC of the batch with `offset` wrong, so that clients that check it detect the corruption."""
        self._with_cluster(lambda cluster, _: self._partition(cluster, partition).log.corrupt(offset))

    def delete(self) -> None:
        """Delete the topic with its records and committed offsets."""
        self._with_cluster(lambda cluster, now: cluster.topics.delete(self._topic(cluster).name, now))

    def wait(self, *, records: Count, timeout_s: TimeoutS = WAIT_S) -> Any:
        """Wait until at least this many records were appended to all partitions together; returns `records()`.

        Raises WaitTimeout.
        """

        return self._wait_for(records, timeout_s, lambda cluster: self._all_records(cluster, None))

    def _wait_for(self, records: int, timeout_s: float, result: Callable[["Cluster"], T]) -> Any:
        """Wait as `wait` does, for what `result` gives then."""

        def probe() -> T | None:
            cluster = self._access._engine.cluster
            topic = cluster.topics.get(self.name)
            if topic is None or sum(p.end_offset for p in topic.partitions) < records:
                return None
            return result(cluster)

        def failure() -> str:
            topic = self._access._engine.cluster.topics.get(self.name)
            seen = "the topic does not exist"
            if topic is not None:
                seen = f"there are {sum(p.end_offset for p in topic.partitions)}"
            return f"waited {timeout_s:g} s for {records} records in topic {self.name}: {seen}"

        return self._access.wait(probe, timeout_s, failure)

    # For the thread that owns the engine: what takes long in steps

    def _shown_entries(self) -> int:
        topic = self._access._engine.cluster.topics.get(self.name)
        return 1 if topic is None else len(topic.partitions)

    def _view(self, cluster: "Cluster") -> "Generator[None, None, TopicView]":
        from fakebroker.testing.handles.topic_view import topic_view

        return topic_view(self._topic(cluster))

    def _browse(
        self, cluster: "Cluster", partition: int = 0, offset: int = 0, limit: int = 100
    ) -> "Generator[None, None, BrowsedRecords]":
        from fakebroker.testing.handles.topic_view import browse

        return browse(self._partition(cluster, partition), offset, limit)

    def _find_time(
        self, cluster: "Cluster", when: int | str | datetime, partition: int | None = None
    ) -> "Generator[None, None, list[FoundByTime]]":
        from fakebroker.testing.handles.topic_view import find_by_time, target_of

        target = target_of(when)
        found = []
        for each in self._partitions(cluster, partition):
            found.append((yield from find_by_time(each, target)))
            yield
        return found

    def _check_records(self, cluster: "Cluster", partition: int | None) -> Generator[None, None, bool]:
        """Whether a batch unpacks to more than 1 MiB. Raises KafkaError(CORRUPT_MESSAGE) for one that was corrupted."""
        pace, is_long = Pace(CHECKED_PER_STEP_BYTES), False
        for each in self._partitions(cluster, partition):
            for batch in _batches_of(each):
                header = parse_header(batch)
                check_crc(batch, header)
                is_long = is_long or is_long_batch(batch)
                unpacked_bytes = min(len(batch) * LARGEST_RATIO, SHORT_BYTES) if header.codec else 0
                if pace.is_over(len(batch) + unpacked_bytes):
                    yield
        return is_long

    def _records(self, cluster: "Cluster", partition: int | None) -> Iterator[StoredRecord | None]:
        """The records, read one by one: the logs may change meanwhile. None is the end of a step."""
        return (record for each in self._partitions(cluster, partition) for record in _records_of(each))

    def _all_records(self, cluster: "Cluster", partition: int | None) -> list[StoredRecord]:
        return [record for record in self._records(cluster, partition) if record is not None]

    def _partitions(self, cluster: "Cluster", index: int | None) -> "list[Partition]":
        """One partition, or all. Raises KafkaError(UNKNOWN_TOPIC_OR_PARTITION)."""
        return list(self._topic(cluster).partitions) if index is None else [self._partition(cluster, index)]

    def _topic(self, cluster: "Cluster") -> "Topic":
        topic = cluster.topics.get(self.name)
        if topic is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {self.name!r}")
        return topic

    def _partition(self, cluster: "Cluster", index: int) -> "Partition":
        topic = self._topic(cluster)
        partition = topic.partition(index)
        if partition is None:
            raise KafkaError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                f"topic {self.name!r} has {len(topic.partitions)} partitions, so partition {index} does not exist",
                "partition",
            )
        return partition


def _batches_of(partition: "Partition") -> Iterator[bytes]:
    """The batches that are there now, as long as the topic exists."""
    from fakebroker.testing.handles.topic_view import batches_from

    if partition.has_log:
        log = partition.log
        for batch in batches_from(log, log.log_start_offset, log.log_end_offset):
            yield batch
            if partition.used_log is not log:
                return


def _records_of(partition: "Partition") -> Iterator[StoredRecord | None]:
    for batch in _batches_of(partition):
        header = parse_header(batch)
        check_crc(batch, header)
        if not header.is_control:
            for record in read_records_in_steps(batch):
                if record is None:
                    yield None
                elif record.offset >= partition.log.log_start_offset:
                    yield _stored(partition.index, record)


def _stored(partition: int, record: Record) -> StoredRecord:
    return StoredRecord(partition, record.offset, record.timestamp_ms, record.key, record.value, _texts(record))


def _texts(record: Record) -> tuple[tuple[str, bytes | None], ...]:
    return tuple((name.decode("utf-8", "replace"), value) for name, value in record.headers)


def _bytes(text: Text) -> bytes | None:
    return text.encode() if isinstance(text, str) else text

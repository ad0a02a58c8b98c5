"""The client of a cluster: asks whoever leads a partition, and asks again when leaders change.

    with ClusterClient("localhost:9092") as cluster:
        cluster.topics(["orders"])["orders"].partitions
        cluster.offsets({TopicPartition("orders", 0): LATEST})
        cluster.fetch(Fetch(TopicPartition("orders", 0), offset=0)).records

By itself it reads and produces; it joins no group and commits no offset. `ask` sends any other request.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from fakebroker.client.cluster.asking import TIMEOUT_MS, Asking
from fakebroker.client.cluster.errors import (
    AnsweredError,
    NoCommonVersion,
    NoSuchPartition,
    OffsetOutOfRange,
    UnreadableAnswer,
)
from fakebroker.client.cluster.links import Endpoint
from fakebroker.client.cluster.topics import Leader, Topic
from fakebroker.client.connection import Pending
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.records.offsets_topic import TopicPartition
from fakebroker.protocol.schema import ZERO_UUID, Message
from fakebroker.protocol.wire.messages.fetch import FetchRequest, FetchTopic
from fakebroker.protocol.wire.messages.list_offsets import ListOffsetsRequest, ListOffsetsTopic
from fakebroker.protocol.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

# What ListOffsets has in place of a time.
LATEST: Final = -1
EARLIEST: Final = -2

READ_UNCOMMITTED: Final = 0
READ_COMMITTED: Final = 1

FETCH_BYTES: Final = 4 << 20
_BY_TOPIC_ID: Final = 13  # of Fetch and of Produce, the first version that names topics by their ids
_NO_WATERMARK: Final = 2**63 - 1


class OffsetAt(NamedTuple):
    """What ListOffsets answers: an offset and the timestamp of its record, -1 for each where there is none."""

    offset: int
    timestamp_ms: int


class Fetched(NamedTuple):
    """What a Fetch answered for a partition: batches as bytes, and what is needed to read only committed ones."""

    records: bytes
    high_watermark: int
    last_stable_offset: int  # -1 where the broker's versions do not tell it
    log_start_offset: int  # likewise
    aborted: list[tuple[int, int]]  # producer id and first offset of aborted transactions


class Fetch(NamedTuple):
    """What to ask for: batches of a partition from `offset` on, `max_bytes` of them but always one if there is one."""

    partition: TopicPartition
    offset: int
    max_bytes: int = FETCH_BYTES
    max_wait_ms: int = 0
    isolation: int = READ_UNCOMMITTED


class PendingFetch(NamedTuple):
    """A Fetch that was sent; `ClusterClient.fetched` waits for its answer."""

    fetch: Fetch
    address: Endpoint
    pending: Pending


class ClusterClient(Asking):
    """The client of one cluster: what `Asking` does, and topics, offsets and records from the leaders."""

    # Topics

    def topics(self, names: Sequence[str] | None = None) -> dict[str, Topic]:
        """The topics of these names that exist, all with internal ones if None; by name, in the broker's order."""
        return {} if names is not None and not names else self._retried(lambda: self._ask_topics(names))

    def partitions(self, names: Sequence[str]) -> list[TopicPartition]:
        """Every partition of these topics. Raises NoSuchPartition if one of them does not exist."""
        found = self.topics(names)
        if missing := [name for name in names if name not in found]:
            raise NoSuchPartition(f"there is no topic {', '.join(map(repr, missing))} at {self.bootstrap}")
        return [partition for name in names for partition in found[name].partitions]

    def partition_count(self, topic: str) -> int:
        """How many partitions a topic has; with `creates_topics` it may be created for it. Raises NoSuchPartition."""
        first = TopicPartition(topic, 0)
        self._retried(lambda: self._leader(first), [first])
        return len(self._view.topics[topic].leaders)

    def await_topics(self, partitions: Mapping[str, int]) -> None:
        """Wait until topics have so many partitions, and all have leaders that answer. Raises ClusterError."""

        def ask() -> None:
            found = self._ask_topics(list(partitions)) if partitions else {}
            for name, count in partitions.items():
                if name not in found or len(found[name].leaders) < count:
                    raise AnsweredError(f"topic {name!r}", ErrorCode.LEADER_NOT_AVAILABLE)
            self._ask_offsets(dict.fromkeys(wanted, LATEST), READ_UNCOMMITTED, {})

        wanted = [TopicPartition(name, index) for name, count in partitions.items() for index in range(count)]
        self._retried(ask, wanted)

    # Offsets

    def offsets(
        self, times: Mapping[TopicPartition, int], isolation: int = READ_UNCOMMITTED
    ) -> dict[TopicPartition, OffsetAt]:
        """For every partition the first offset with a timestamp of at least this many ms, or its EARLIEST or LATEST.

        With READ_COMMITTED the latest is the last stable offset. Raises NoSuchPartition.
        """
        found: dict[TopicPartition, OffsetAt] = {}

        def ask() -> None:
            left = {partition: time_ms for partition, time_ms in times.items() if partition not in found}
            self._ask_offsets(left, isolation, found)

        self._retried(ask, times)
        return {partition: found[partition] for partition in times}

    # Records

    def fetch(self, fetch: Fetch) -> Fetched:
        """The batches there are; the first may begin before the offset. Raises OffsetOutOfRange, NoSuchPartition."""
        return self.fetched(self.begin_fetch(fetch))

    def begin_fetch(self, fetch: Fetch) -> PendingFetch:
        """Send a Fetch and go on."""
        return self._retried(lambda: self._send_fetch(fetch), [fetch.partition])

    def fetched(self, sent: PendingFetch) -> Fetched:
        """Wait for the answer; asks again, from the same offset, where the partition has moved meanwhile."""
        waiting = [sent]

        def ask() -> Fetched:
            return self._take_fetch(waiting.pop() if waiting else self._send_fetch(sent.fetch))

        return self._retried(ask, [sent.fetch.partition])

    def produce(self, partition: TopicPartition, batch: bytes, *, acks: int = -1, timeout_ms: int = TIMEOUT_MS) -> int:
        """Append one batch of format 2; the offset of its first record, -1 with acks 0.

        A batch whose answer is lost is sent again, so that it may be there twice. Raises NoSuchPartition.
        """
        return self._retried(lambda: self._ask_produce(partition, batch, acks, timeout_ms), [partition])

    # Asking once

    def _ask_offsets(
        self, times: Mapping[TopicPartition, int], isolation: int, found: dict[TopicPartition, OffsetAt]
    ) -> None:
        """Ask every leader at once, put what they answer into `found`, and raise the first error."""
        sent = []
        for address, partitions in self._by_leader(times).items():
            version = self._links.version(address, ListOffsetsRequest)
            if version == 0:
                raise NoCommonVersion(f"{self.bootstrap} is older than Kafka 0.10.1: ListOffsets only in v0")
            topics: dict[str, list[tuple[int, int, int, int]]] = {}
            for partition, leader in partitions:
                epoch = leader.epoch if version >= 4 else -1
                topics.setdefault(partition.topic, []).append((partition.partition, epoch, times[partition], 1))
            request = ListOffsetsRequest(replica_id=-1, isolation_level=isolation if version >= 2 else 0)
            request.topics = [ListOffsetsTopic(name=name, partitions=rows) for name, rows in topics.items()]
            sent.append((address, self._links.send(address, request, version)))
        error: AnsweredError | None = None
        for address, pending in sent:
            for topic in self._links.wait(address, pending).topics:
                for index, code, _, timestamp_ms, offset, _ in topic.partitions:
                    partition = TopicPartition(topic.name, index)
                    if code == ErrorCode.NONE:
                        found[partition] = OffsetAt(offset, timestamp_ms)
                    else:
                        error = error or AnsweredError(f"offsets of {partition}", code)
        if error is not None:
            raise error
        if missing := [partition for partition in times if partition not in found]:
            raise UnreadableAnswer(f"offsets of {missing[0]}: the answer does not have this partition")

    def _send_fetch(self, fetch: Fetch) -> PendingFetch:
        partition = fetch.partition
        address, leader = self._leader(partition)
        version, topic_id = self._version_and_id(address, FetchRequest, partition, 4)
        request = FetchRequest(max_wait_ms=fetch.max_wait_ms, min_bytes=1, max_bytes=fetch.max_bytes)
        request.isolation_level = fetch.isolation
        row = (partition.partition, leader.epoch, fetch.offset, -1, -1, fetch.max_bytes, ZERO_UUID, _NO_WATERMARK)
        request.topics = [FetchTopic(topic=partition.topic, topic_id=topic_id, partitions=[row])]
        return PendingFetch(fetch, address, self._links.send(address, request, version))

    def _take_fetch(self, sent: PendingFetch) -> Fetched:
        answer = self._links.wait(sent.address, sent.pending, sent.fetch.max_wait_ms)
        what = f"fetch of {sent.fetch.partition} at offset {sent.fetch.offset}"
        rows = [row for topic in answer.responses for row in topic.partitions]
        code = answer.error_code or (rows[0].error_code if rows else ErrorCode.UNKNOWN_SERVER_ERROR)
        if code == ErrorCode.OFFSET_OUT_OF_RANGE:
            raise OffsetOutOfRange(what, code)
        if code != ErrorCode.NONE:
            raise AnsweredError(what, code)
        row = rows[0]
        aborted = [(each.producer_id, each.first_offset) for each in row.aborted_transactions or ()]
        records = bytes(row.records or b"")
        return Fetched(records, row.high_watermark, row.last_stable_offset, row.log_start_offset, aborted)

    def _ask_produce(self, partition: TopicPartition, batch: bytes, acks: int, timeout_ms: int) -> int:
        address, _ = self._leader(partition)
        version, topic_id = self._version_and_id(address, ProduceRequest, partition, 3)
        data = PartitionProduceData(index=partition.partition, records=batch)
        request = ProduceRequest(acks=acks, timeout_ms=timeout_ms)
        request.topic_data = [TopicProduceData(name=partition.topic, topic_id=topic_id, partition_data=[data])]
        if acks == 0:
            self._links.send(address, request, version, expects_answer=False)
            return -1
        answer = self._links.ask(address, request, version, timeout_ms)
        row = answer.responses[0].partition_responses[0]
        if row.error_code != ErrorCode.NONE:
            raise AnsweredError(f"produce to {partition}", row.error_code, row.error_message)
        return int(row.base_offset)

    def _version_and_id(
        self, address: Endpoint, request: type[Message], partition: TopicPartition, oldest: int
    ) -> tuple[int, bytes]:
        """The version of Fetch or Produce to send, and the topic's id: from v13 on it stands in place of the name."""
        topic_id = self._view.topics[partition.topic].topic_id
        newest = _BY_TOPIC_ID - 1 if topic_id == ZERO_UUID else None
        version = self._links.version(address, request, newest)
        if version < oldest:
            raise NoCommonVersion(f"{self.bootstrap} is older than Kafka 0.11: record batches are not served")
        return version, topic_id

    def _by_leader(self, partitions: Iterable[TopicPartition]) -> dict[Endpoint, list[tuple[TopicPartition, Leader]]]:
        unknown = list(dict.fromkeys(each.topic for each in partitions if each.topic not in self._view.topics))
        if unknown:
            self._ask_topics(unknown)
        found: dict[Endpoint, list[tuple[TopicPartition, Leader]]] = {}
        for partition in partitions:
            address, leader = self._leader(partition)
            found.setdefault(address, []).append((partition, leader))
        return found

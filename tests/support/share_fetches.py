"""A share group "g" that reads a topic "t", over an engine in virtual time: members with share sessions."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fakebroker.broker.core.logs.log import PartitionLog
from fakebroker.broker.core.share_partitions.share_partition import SharePartition
from fakebroker.broker.core.share_state import asking
from fakebroker.broker.core.share_state.states import SharePartition as SharePartitionKey
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.listeners import Listener
from fakebroker.protocol.records.batch import build_batch, parse_header, split_batches
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.wire.messages import share_acknowledge, share_fetch
from tests.support.cluster import by_kafka_name
from tests.support.engine import Client, SimEngine
from tests.support.time import T0

Range = tuple[int, int, int]
"""First offset, last offset, delivery count of acquired records."""

GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)


class ShareGroupLab:
    """A cluster whose share partitions of "g" and "t" are initialized; `configs` are the group's own."""

    def __init__(
        self,
        partitions: int = 1,
        *,
        nodes: tuple[int, ...] = (1,),
        settings: Mapping[str, Any] | None = None,
        listeners: list[Listener] | None = None,
        **configs: Any,
    ) -> None:
        replicas = {"share.coordinator.state.topic.replication.factor": len(nodes)}
        self.sim = SimEngine({**replicas, **(settings or {})}, profile="kafka", node_ids=nodes, listeners=listeners)
        self.cluster = self.sim.cluster
        self.configure(**{"share_auto_offset_reset": "earliest", **configs})
        self.topic = self.cluster.topics.create("t", partitions, len(nodes))
        for index in range(partitions):
            self.initialize(index)

    def configure(self, **configs: Any) -> None:
        """Set configs of the group, e.g. share_delivery_count_limit=3."""
        own = self.cluster.group_configs.setdefault("g", {})
        own.update({name: str(value) for name, value in by_kafka_name(configs).items()})

    def key(self, partition: int = 0, group: str = "g") -> SharePartitionKey:
        return SharePartitionKey(group, self.topic.id, partition)

    def initialize(self, partition: int = 0, state_epoch: int = 1, start: int = -1) -> None:
        """Create the state of a share partition, as the group coordinator does after a heartbeat."""
        answers: list[ErrorCode] = []
        node = next(node for node in self.cluster.nodes.values() if node.is_running)
        asking.initialize(
            node, self.key(partition), state_epoch, start, lambda code, _now: answers.append(code), self.sim.network.now
        )
        assert answers == [ErrorCode.NONE]

    def log(self, partition: int = 0) -> PartitionLog:
        return self.topic.partitions[partition].log

    def produce(self, *sizes: int, partition: int = 0, timestamp_ms: int = T0) -> None:
        """Append batches of so many records."""
        for size in sizes:
            batch = build_batch([Record(offset, timestamp_ms, None, b"v") for offset in range(size)])
            self.log(partition).append(batch, self.sim.network.now)
        self.sim.network.flush()  # answers of fetches that waited

    def share_partition(self, partition: int = 0) -> SharePartition | None:
        """The share partition in the memory of its leader."""
        leader = self.cluster.nodes[self.topic.partitions[partition].leader]
        return leader.share_partitions.get(self.key(partition))

    def states(self, partition: int = 0) -> dict[int, tuple[str, int]]:
        """The state and delivery count of each record that has one."""
        found = self.share_partition(partition)
        assert found is not None
        assert found.window is not None
        return {
            offset: (state.state.kafka_name, state.delivery_count)
            for batch in found.window
            for first, last, state in batch.states()
            for offset in range(first, last + 1)
        }

    def stored_start(self, partition: int = 0) -> int:
        """The start offset that the share coordinator has stored, -1 before the first."""
        found: list[int] = []
        asking.read_summary(
            self.cluster.nodes[1],
            self.key(partition),
            lambda _code, state, _now: found.append(state.start_offset),
            self.sim.network.now,
        )
        return found[0]

    def wait(self, ms: int) -> None:
        self.sim.network.advance(ms)

    def member(self, member_id: str, node: int = 1, group: str = "g") -> "ShareMember":
        return ShareMember(self, member_id, node, group)


class ShareMember:
    """A member with a share session of its own connection; `epoch` is what its next request carries."""

    def __init__(self, lab: ShareGroupLab, member_id: str, node: int, group: str) -> None:
        self.lab = lab
        self.member_id = member_id
        self.group = group
        self.node = node
        listener = next(each for each in lab.sim.engine.listeners if each.node_id == node)
        self.client: Client = lab.sim.client(listener)
        self.epoch = 0
        self._version = 2

    def send(
        self,
        *partitions: int,
        acks: Iterable[Sequence[int]] = (),
        wait: int = 300,
        max_records: int = 500,
        epoch: int | None = None,
        version: int = 2,
        **fields: Any,
    ) -> Any:
        """Send a ShareFetch that lists partitions; `acks` are (first, last, types...) of partition 0. Returns the
        answer if it is there at once.
        """
        said = [
            share_fetch.AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=types)
            for first, last, *types in acks
        ]
        indexes = dict.fromkeys([*([0] if said else []), *partitions])
        rows = [
            share_fetch.FetchPartition(partition_index=index, acknowledgement_batches=[] if index else said)
            for index in indexes
        ]
        request = {
            "group_id": self.group,
            "member_id": self.member_id,
            "share_session_epoch": self.epoch if epoch is None else epoch,
            "max_wait_ms": wait,
            "min_bytes": 1,
            "max_bytes": 1 << 20,
            "max_records": max_records,
            "batch_size": 500,
            "topics": [share_fetch.FetchTopic(topic_id=self.lab.topic.id, partitions=rows)] if rows else [],
        }
        self._version = version
        return self._taken(self.client.ask("ShareFetch", version, **{**request, **fields}), epoch)

    def answer(self) -> Any:
        """The answer of a ShareFetch that waited, None if there is none yet."""
        return self._taken(self.client.answer("ShareFetch", self._version), None)

    def fetch(self, *partitions: int, **fields: Any) -> list[Range]:
        """Fetch and wait; the acquired ranges of partition 0."""
        answer = self.send(*partitions, **fields)
        if answer is None:
            self.lab.wait(fields.get("wait", 300))
            answer = self.answer()
        assert answer is not None
        assert answer.error_code == 0
        return ranges(answer)

    def acknowledge(self, *acks: Sequence[int], partition: int = 0, epoch: int | None = None, **fields: Any) -> int:
        """Send a ShareAcknowledge for one partition; its error, or that of the whole."""
        answer = self.send_acks(*acks, partition=partition, epoch=epoch, **fields)
        if answer.error_code or not answer.responses:
            return int(answer.error_code)
        return int(answer.responses[0].partitions[0].error_code)

    def send_acks(
        self, *acks: Sequence[int], partition: int = 0, epoch: int | None = None, version: int = 2, **fields: Any
    ) -> Any:
        """Send a ShareAcknowledge; its answer."""
        said = [
            share_acknowledge.AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=types)
            for first, last, *types in acks
        ]
        rows = [share_acknowledge.AcknowledgePartition(partition_index=partition, acknowledgement_batches=said)]
        request = {
            "group_id": self.group,
            "member_id": self.member_id,
            "share_session_epoch": self.epoch if epoch is None else epoch,
            "topics": [share_acknowledge.AcknowledgeTopic(topic_id=self.lab.topic.id, partitions=rows)] if acks else [],
        }
        return self._taken(self.client.ask("ShareAcknowledge", version, **{**request, **fields}), epoch)

    def close(self) -> int:
        """Close the session; the error."""
        return int(self.send_acks(epoch=-1).error_code)

    def hang_up(self) -> None:
        """The connection is lost."""
        self.client.socket.close()

    def _taken(self, answer: Any, epoch: int | None) -> Any:
        if answer is not None and not answer.error_code and epoch is None:
            self.epoch += 1
        return answer


def ranges(answer: Any, partition: int = 0) -> list[Range]:
    """The acquired ranges of a partition in an answer."""
    return [
        (each.first_offset, each.last_offset, each.delivery_count)
        for topic in answer.responses
        for data in topic.partitions
        if data.partition_index == partition
        for each in data.acquired_records
    ]


def batches(answer: Any, partition: int = 0) -> list[tuple[int, int]]:
    """First and last offset of each batch of a partition in an answer."""
    return [
        (header.base_offset, header.last_offset)
        for topic in answer.responses
        for data in topic.partitions
        if data.partition_index == partition
        for header in map(parse_header, split_batches(data.records or b""))
    ]


def listed(answer: Any) -> dict[int, tuple[int, int]]:
    """The partitions of an answer with both their errors."""
    return {
        data.partition_index: (data.error_code, data.acknowledge_error_code)
        for topic in answer.responses
        for data in topic.partitions
    }


def parts_of(answer: Any) -> list[Any]:
    """What an answer has for each partition."""
    return [each for topic in answer.responses for each in topic.partitions]

"""A share coordinator without a network: the states of one group, time that is driven, records as they were written."""

from collections.abc import Mapping
from typing import Any

from fakebroker.broker.core.share_state import asking
from fakebroker.broker.core.share_state.shard import ShareStateShard
from fakebroker.broker.core.share_state.states import NO_COUNT, SharePartition, ShareState, StateBatch, StateWrite
from fakebroker.broker.core.topics import SHARE_GROUP_STATE, Partition
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.records.batch import read_records
from fakebroker.protocol.records.share_state_log import read_share_state
from tests.support.cluster import make_cluster
from tests.support.time import TimeDriven

Batches = tuple[tuple[int, int, int, int], ...]


class ShareStates(TimeDriven):
    """A cluster with a topic "t" of 2 partitions, and the share partition 0 of the group "g".

    `answers` collects what was answered to questions that node 1 asked: codes, or a code and a state.
    """

    def __init__(self, settings: Mapping[str, object] | None = None, nodes: tuple[int, ...] = (1,)) -> None:
        replicas = {"share.coordinator.state.topic.replication.factor": len(nodes)}
        self.cluster = make_cluster({**replicas, **(settings or {})}, node_ids=nodes)
        super().__init__(self.cluster.timers)
        self.topic = self.cluster.topics.create("t", 2, 1)
        self.key = SharePartition("g", self.topic.id, 0)
        self.answers: list[Any] = []

    @property
    def partition(self) -> Partition:
        """The partition of `__share_group_state` that has the key."""
        return self.cluster.coordinator_partition(SHARE_GROUP_STATE, str(self.key))

    @property
    def shard(self) -> ShareStateShard:
        """Where the state is kept."""
        return self.cluster.nodes[self.partition.leader].share_coordinator.shard(str(self.key), self.now)

    @property
    def state(self) -> ShareState:
        """What is kept."""
        return self.shard.states[self.key].state

    # -- questions of node 1 -----------------------------------------------------------------------------------------

    def _code(self, code: ErrorCode, _now: Instant) -> None:
        self.answers.append(code)

    def _state(self, code: ErrorCode, state: ShareState, _now: Instant) -> None:
        self.answers.append((code, state))

    def initialize(self, state_epoch: int = 1, start_offset: int = -1, key: SharePartition | None = None) -> Any:
        asking.initialize(self.cluster.nodes[1], key or self.key, state_epoch, start_offset, self._code, self.now)
        return self.last()

    def write(
        self,
        *batches: tuple[int, int, int, int],
        start: int = -1,
        count: int = NO_COUNT,
        state_epoch: int = 1,
        leader_epoch: int = 0,
        key: SharePartition | None = None,
    ) -> Any:
        change = StateWrite(state_epoch, leader_epoch, start, count, tuple(StateBatch(*each) for each in batches))
        asking.write(self.cluster.nodes[1], key or self.key, change, self._code, self.now)
        return self.last()

    def read(self, leader_epoch: int = 0, key: SharePartition | None = None) -> Any:
        asking.read(self.cluster.nodes[1], key or self.key, leader_epoch, self._state, self.now)
        return self.last()

    def delete(self, key: SharePartition | None = None) -> Any:
        asking.delete(self.cluster.nodes[1], key or self.key, self._code, self.now)
        return self.last()

    def summary(self, key: SharePartition | None = None) -> Any:
        asking.read_summary(self.cluster.nodes[1], key or self.key, self._state, self.now)
        return self.last()

    def last(self) -> Any:
        """The last answer, None if there is none."""
        return self.answers[-1] if self.answers else None

    # -- what was written --------------------------------------------------------------------------------------------

    def records(self) -> list[Any]:
        """The values of the records in the partition's log, None for a tombstone."""
        entries = [
            read_share_state(record.key, record.value)
            for batch in self.partition.log.batches()
            for record in read_records(batch)
        ]
        return [entry.value for entry in entries if entry is not None]

    def reload(self) -> ShareStateShard:
        """Load the partition again from its log."""
        coordinator = self.cluster.nodes[self.partition.leader].share_coordinator
        return coordinator.load(self.partition.index, self.now)


def in_flight(*batches: tuple[int, int, int, int]) -> tuple[StateBatch, ...]:
    """State batches given by their numbers."""
    return tuple(StateBatch(*each) for each in batches)

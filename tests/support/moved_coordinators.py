"""Coordinators of each kind that wrote much to one partition, and move to another broker in turns."""

from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from fakebroker.broker.core import long_passes
from fakebroker.broker.core.coordinator.runtime.partition_coordinator import PartitionCoordinator
from fakebroker.broker.core.elections import reassign
from fakebroker.broker.core.logs import whole_log
from fakebroker.broker.core.share_state.states import SharePartition
from fakebroker.broker.core.topics import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE, Partition
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.records.offsets_topic import stored_offset
from tests.support.engine import SimEngine
from tests.support.small_steps import make_steps_smaller
from tests.support.work_counter import calls_of

STEP = 25
"""How many records a step reads when steps are small."""

AT_ONCE = 50
"""How many are read at once then."""


def make_loads_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let logs of more than AT_ONCE records be long."""
    make_steps_smaller(monkeypatch, 500 // STEP)
    monkeypatch.setattr(long_passes, "AT_ONCE", AT_ONCE)
    monkeypatch.setattr(whole_log, "_RECORDS_AT_ONCE", STEP)


class Coordinators(SimEngine):
    """Two brokers, a topic "t", and one partition of the internal topic, which node 1 leads at first."""

    topic_name: ClassVar[str]
    key: ClassVar[str] = "x"

    def __init__(self, partitions: int = 1) -> None:
        counts = ("offsets.topic", "transaction.state.log", "share.coordinator.state.topic")
        super().__init__({f"{each}.num.partitions": partitions for each in counts}, node_ids=(1, 2))
        self.t = self.cluster.topics.create("t", 4, 1)
        self.partitions = self.cluster.topics.internal(self.topic_name).partitions
        self.on(1), self.on(2)  # made before anything moves
        for partition in self.partitions:
            reassign(partition, [1, 2], self.now)
            partition.lead(1, self.now)

    @property
    def now(self) -> Any:
        return self.engine.now

    @property
    def partition(self) -> Partition:
        return self.partitions[0]

    def on(self, node_id: int) -> PartitionCoordinator[Any, Any]:
        """The coordinator on a broker."""
        raise NotImplementedError

    def write(self, number: int, key: str = "x") -> None:
        """Let the coordinator write a record that the topic "t" matters to, if any can."""
        raise NotImplementedError

    def state(self, node_id: int) -> Any:
        """What the coordinator on a broker knows of the first partition."""
        raise NotImplementedError

    def shard(self, node_id: int, key: str = "x") -> Any:
        return self.on(node_id).shard(key, self.now)

    def code(self, node_id: int, key: str = "x") -> ErrorCode:
        """What a request of something in the partition is answered: NONE if it is served."""
        try:
            self.shard(node_id, key)
        except KafkaError as error:
            return error.code
        return ErrorCode.NONE

    def written(self, count: int) -> Any:
        """Write so many records, and return what is known then."""
        for number in range(count):
            self.write(number)
        self.partition.log.materialize_pending()
        return self.state(1)

    def turn(self) -> None:
        """What is due, or else a step of what goes on."""
        if self.engine.works:
            self.engine.step(self.now)
        else:
            self.engine.tick(self.now)

    def settle(self) -> None:
        """Do what is due and note what happened: it is no part of what comes next."""
        self.turn()
        self.engine.drain()

    def turns_to_end(self) -> int:
        """Take turns until nothing goes on; how many there were."""
        count = 0
        self.turn()
        while self.engine.works:
            self.turn()
            count += 1
        assert self.engine.errors == []
        return count

    def longest_turn_of(self, action: Callable[[], object]) -> int:
        """The calls of the action, or of a turn after it, whichever are more."""
        longest = max(calls_of(action), calls_of(self.turn))
        while self.engine.works:
            longest = max(longest, calls_of(self.turn))
        return longest


class Groups(Coordinators):
    """The coordinator of groups: commits of one group."""

    topic_name = CONSUMER_OFFSETS

    def on(self, node_id: int) -> PartitionCoordinator[Any, Any]:
        return self.cluster.nodes[node_id].coordinator

    def write(self, number: int, key: str = "x") -> None:
        shard = self.shard(1, key)
        group = shard.group(key) or shard.create_group(key, self.now, for_commit=True)
        topic = "u" if number % 2 else "t"
        shard.commit(group, [stored_offset(topic, number % 7, number, commit_ms=self.now.wall_ms)], self.now)

    def state(self, node_id: int) -> Any:
        shard = self.on(node_id).shards[0]
        return {group.group_id: {name: dict(rows) for name, rows in group.offsets.topics.items()} for group in shard}


class Transactional(Coordinators):
    """The coordinator of transactions: one id after another, some of them again."""

    topic_name = TRANSACTION_STATE

    def on(self, node_id: int) -> PartitionCoordinator[Any, Any]:
        return self.cluster.nodes[node_id].transactions

    def write(self, number: int, key: str = "x") -> None:
        name = key if number % 2 else f"{key}{number % 20}"
        self.shard(1, key).init_producer_id(name, 60_000, None, lambda *_: None, self.now)

    def state(self, node_id: int) -> Any:
        shard = self.on(node_id).shards[0]
        return {each.transactional_id: (each.producer, each.state) for each in shard}


class ShareStates(Coordinators):
    """The coordinator of share partitions: their states begin again and again."""

    topic_name = SHARE_GROUP_STATE

    def on(self, node_id: int) -> PartitionCoordinator[Any, Any]:
        return self.cluster.nodes[node_id].share_coordinator

    def write(self, number: int, key: str = "x") -> None:
        where = SharePartition(key, self.t.id, number % 4)
        self.shard(1, key).initialize(where, number, number, lambda *_: None, self.now)

    def state(self, node_id: int) -> Any:
        return {key: stored.state for key, stored in self.on(node_id).shards[0].states.items()}


KINDS: tuple[type[Coordinators], ...] = (Groups, Transactional, ShareStates)

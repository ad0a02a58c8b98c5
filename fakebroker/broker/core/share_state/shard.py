"""One partition of `__share_group_state` on the node that leads it: states of share partitions, and their log.

The log comes first: a change is appended and then applied by the same `StoredState.replay` that loading uses. A shard
knows no API and no version. Kafka: `ShareCoordinatorShard`.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from fakebroker.broker.core.coordinator.runtime.coordinator_shard import CoordinatorShard
from fakebroker.broker.core.share_state.records import ShareStateRecord
from fakebroker.broker.core.share_state.states import (
    MAX_BATCHES,
    NO_EPOCH,
    NO_STATE,
    CodeAnswer,
    SharePartition,
    ShareState,
    StateAnswer,
    StateWrite,
)
from fakebroker.broker.core.share_state.stored_state import StoredState, initial_snapshot
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.records.share_state_log import ShareStateEntry, ShareStateValue

if TYPE_CHECKING:
    from fakebroker.broker.core.coordinator.runtime.host import CoordinatorNode
    from fakebroker.broker.core.topics import Partition

STATES_PER_STEP: Final = 100  # of a deleted topic; a tombstone may have 32 KB


class ShareStateShard(CoordinatorShard):
    """The states of the share partitions of one partition of the topic.

    Refusals are raised as KafkaError, with the texts that Kafka answers. Each `answer` is called once: usually before
    the method returns, later when a write waits for replicas, then with COORDINATOR_NOT_AVAILABLE if they are missing
    or too slow, NOT_COORDINATOR if the partition is unloaded.
    """

    write_timeout = "share.coordinator.write.timeout.ms"

    def __init__(self, node: "CoordinatorNode", partition: "Partition") -> None:
        super().__init__(node, partition)
        self.states: dict[SharePartition, StoredState] = {}

    # -- requests ------------------------------------------------------------------------------------------------

    def initialize(
        self, key: SharePartition, state_epoch: int, start_offset: int, answer: CodeAnswer, now: Instant
    ) -> None:
        """Begin to keep a state, or begin it anew (SGH-10, SGO-4).

        Raises KafkaError: INVALID_REQUEST for a negative partition, UNKNOWN_TOPIC_OR_PARTITION, FENCED_STATE_EPOCH if
        a later initialization came before.
        """
        _check_partition(key)
        self._check_topic(key)
        stored = self.states.get(key)
        _check_state_epoch(stored, state_epoch)
        snapshot_epoch = 0 if stored is None else stored.snapshot_epoch + 1
        self._write(key, initial_snapshot(snapshot_epoch, state_epoch, start_offset, now.wall_ms), answer, now)

    def read(self, key: SharePartition, leader_epoch: int, answer: StateAnswer, now: Instant) -> None:
        """The state, for the leader of the partition in `leader_epoch`; NO_EPOCH: for anybody.

        A leader epoch that is not the stored one is stored, so that earlier leaders are fenced. Raises KafkaError:
        INVALID_REQUEST for a negative partition or without a state, FENCED_LEADER_EPOCH.
        """
        _check_partition(key)
        stored = self._initialized(key, "Read")
        _check_leader_epoch(stored, leader_epoch)
        state = stored.state
        if leader_epoch in (NO_EPOCH, stored.highest_leader_epoch):
            answer(ErrorCode.NONE, state, now)
            return
        change = StateWrite(state.state_epoch, leader_epoch, state.start_offset, state.delivery_complete_count)

        def written(code: ErrorCode, now: Instant) -> None:
            answer(code, NO_STATE if code else state._replace(leader_epoch=leader_epoch), now)

        self._write(key, self._record_for(stored, change, leader_epoch, now), written, now)

    def write(self, key: SharePartition, change: StateWrite, answer: CodeAnswer, now: Instant) -> None:
        """Store what a leader changed (SGB-3). Its epoch is checked, not stored: it has read the state before.

        Raises KafkaError: INVALID_REQUEST for a negative partition, without a state, and for more batches than are
        stored (MOCK); FENCED_LEADER_EPOCH, FENCED_STATE_EPOCH.
        """
        _check_partition(key)
        stored = self._initialized(key, "Write")
        _check_leader_epoch(stored, change.leader_epoch)
        _check_state_epoch(stored, change.state_epoch)
        if stored.batches_after(change) > MAX_BATCHES:
            text = f"At most {MAX_BATCHES} batches are stored of a share partition."
            raise KafkaError(ErrorCode.INVALID_REQUEST, text)
        self._write(key, self._record_for(stored, change, stored.state.leader_epoch, now), answer, now)

    def delete(self, key: SharePartition, answer: CodeAnswer, now: Instant) -> None:
        """Forget a state, if there is one (SGB-4).

        Raises KafkaError: INVALID_REQUEST for a negative partition, UNKNOWN_TOPIC_OR_PARTITION.
        """
        _check_partition(key)
        self._check_topic(key)
        if key in self.states:
            self._write(key, None, answer, now)
        else:
            answer(ErrorCode.NONE, now)

    def summary(self, key: SharePartition) -> ShareState:
        """The state without its batches; NO_STATE without one, with leader epoch 0 (SGO-1).

        Raises KafkaError: INVALID_REQUEST for a negative partition, UNKNOWN_TOPIC_OR_PARTITION.
        """
        _check_partition(key)
        self._check_topic(key)
        stored = self.states.get(key)
        return NO_STATE._replace(leader_epoch=0) if stored is None else stored.state._replace(batches=())

    def batches_of(self, key: SharePartition) -> int:
        """How many batches are stored of a share partition: so much work is to read it or to write to it."""
        stored = self.states.get(key)
        return 0 if stored is None else len(stored.state.batches)

    def _check_topic(self, key: SharePartition) -> None:
        topic = self.cluster.topics.by_id(key.topic_id)
        if topic is None or topic.partition(key.partition) is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition.")

    def _initialized(self, key: SharePartition, what: str) -> StoredState:
        stored = self.states.get(key)
        if stored is None:
            text = f"{what} operation on uninitialized share partition not allowed."
            raise KafkaError(ErrorCode.INVALID_REQUEST, text)
        return stored

    # -- writing -------------------------------------------------------------------------------------------------

    def _record_for(self, stored: StoredState, change: StateWrite, leader_epoch: int, now: Instant) -> ShareStateValue:
        """A snapshot after so many updates as the setting says, else an update (SGB-4)."""
        most = self.settings.get_int("share.coordinator.snapshot.update.records.per.snapshot")
        if stored.updates >= most:
            return stored.snapshot_for(change, leader_epoch, now.wall_ms)
        return stored.update_for(change, leader_epoch)

    def _write(self, key: SharePartition, value: ShareStateValue | None, answer: CodeAnswer, now: Instant) -> None:
        """Append a record and apply it at once; answer when the replicas in sync have it.

        As in Kafka's coordinators, a read in between sees what is not replicated yet.
        """
        self.log.append_records(ShareStateRecord(ShareStateEntry(*key, value)), now)
        self.replay(key, value)
        if self.log.high_watermark >= self.log.log_end_offset:
            answer(ErrorCode.NONE, now)
        else:
            self.wait_for_replicas(answer, now)

    def replay(self, key: SharePartition, value: ShareStateValue | None) -> None:
        """Apply a record; None is a tombstone."""
        if value is None:
            self.states.pop(key, None)
        else:
            self.states.setdefault(key, StoredState()).replay(value)

    def delete_topic(self, topic_id: bytes, now: Instant) -> Iterator[int]:
        """A topic was deleted: forget the states of its partitions, with a tombstone for each that names its group.

        Yields after each step how many states it was.
        """
        keys = [key for key in self.states if key.topic_id == topic_id]
        for start in range(0, len(keys), STATES_PER_STEP):
            some = [key for key in keys[start : start + STATES_PER_STEP] if key in self.states]  # since the step before
            for key in some:
                self._write(key, None, _nobody_waits, now)
            yield len(some)

    # -- life ----------------------------------------------------------------------------------------------------

    def unload(self, now: Instant, reason: str) -> None:  # noqa: ARG002
        """Forget everything; requests that wait for replicas are answered with NOT_COORDINATOR."""
        self.end_waits(now)
        self.states.clear()

    def wall_time_went_back(self, by_ms: int, now: Instant) -> None:
        """Nothing here goes by the time of day."""


def _nobody_waits(_code: ErrorCode, _now: Instant) -> None:
    """Nobody asked for this write."""


def _check_partition(key: SharePartition) -> None:
    if key.partition < 0:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "The partition id cannot be a negative number.")


def _check_state_epoch(stored: StoredState | None, state_epoch: int) -> None:
    if stored is not None and state_epoch != NO_EPOCH and state_epoch < stored.highest_state_epoch:
        text = "The share coordinator rejected the request because the share-group state epoch did not match."
        raise KafkaError(ErrorCode.FENCED_STATE_EPOCH, text)


def _check_leader_epoch(stored: StoredState, leader_epoch: int) -> None:
    if leader_epoch != NO_EPOCH and leader_epoch < stored.highest_leader_epoch:
        text = "The leader epoch in the request is older than the epoch on the broker."
        raise KafkaError(ErrorCode.FENCED_LEADER_EPOCH, text)

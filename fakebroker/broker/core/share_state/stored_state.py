"""What the share coordinator knows of one share partition: it follows from its records alone (SGB-3, SGB-4)."""

from fakebroker.broker.core.share_state.batches import combined
from fakebroker.broker.core.share_state.states import (
    MAX_BATCHES,
    NO_EPOCH,
    NO_OFFSET,
    NO_STATE,
    ShareState,
    StateBatch,
    StateWrite,
)
from fakebroker.protocol.records.share_state_log import ShareStateValue
from fakebroker.protocol.records.share_state_schema import ShareSnapshotValue, ShareUpdateValue
from fakebroker.protocol.records.share_state_schema import StateBatch as StoredBatch


class StoredState:
    """The state of a share partition, and what the next record about it is made from.

    `highest_state_epoch` and `highest_leader_epoch` are the highest that any record had, which writers are fenced by:
    an initialization takes the leader epoch in the state back to 0, not the one that counts here.
    """

    __slots__ = ("highest_leader_epoch", "highest_state_epoch", "snapshot_epoch", "state", "updates")

    def __init__(self) -> None:
        self.state: ShareState = NO_STATE
        self.snapshot_epoch = NO_EPOCH
        self.updates = 0  # since the last snapshot
        self.highest_state_epoch = NO_EPOCH
        self.highest_leader_epoch = NO_EPOCH

    def replay(self, value: ShareStateValue) -> None:
        """Apply a record."""
        batches = tuple(StateBatch(*_fields_of(batch)) for batch in value.state_batches)
        if isinstance(value, ShareSnapshotValue):
            self.updates = 0
            state_epoch, start_offset = value.state_epoch, value.start_offset
            self.highest_state_epoch = max(self.highest_state_epoch, state_epoch)
        else:
            self.updates += 1
            state_epoch, before = self.state.state_epoch, self.state
            start_offset = before.start_offset if value.start_offset == NO_OFFSET else value.start_offset
            is_same = not batches and start_offset == before.start_offset  # as after a read in a new leader epoch
            batches = before.batches if is_same else combined(before.batches, batches, start_offset)
        self.snapshot_epoch = value.snapshot_epoch
        self.highest_leader_epoch = max(self.highest_leader_epoch, value.leader_epoch)
        count = value.delivery_complete_count
        self.state = ShareState(state_epoch, value.leader_epoch, start_offset, count, batches)

    def batches_after(self, change: StateWrite) -> int:
        """How many batches there would be after a change, or more than MAX_BATCHES where that is clear beforehand."""
        stored, written = self.state.batches, change.batches
        if len(written) > MAX_BATCHES or len(stored) + len(written) <= MAX_BATCHES:
            return len(stored) + len(written)
        start_offset = self.state.start_offset if change.start_offset == NO_OFFSET else change.start_offset
        return len(combined(stored, written, start_offset))

    def update_for(self, change: StateWrite, leader_epoch: int) -> ShareUpdateValue:
        """The record that adds a change to the ones before. `leader_epoch` is what the state has after it."""
        return ShareUpdateValue(
            snapshot_epoch=self.snapshot_epoch,
            leader_epoch=leader_epoch,
            start_offset=change.start_offset,
            delivery_complete_count=change.delivery_complete_count,
            state_batches=_stored(change.batches),
        )

    def snapshot_for(self, change: StateWrite, leader_epoch: int, now_ms: int) -> ShareSnapshotValue:
        """The record that says what the ones before and a change amount to. `now_ms` is wall time."""
        before = self.state
        start_offset = before.start_offset if change.start_offset == NO_OFFSET else change.start_offset
        return ShareSnapshotValue(
            snapshot_epoch=self.snapshot_epoch + 1,
            state_epoch=before.state_epoch,
            leader_epoch=leader_epoch,
            start_offset=start_offset,
            delivery_complete_count=change.delivery_complete_count,
            create_timestamp=now_ms,
            write_timestamp=now_ms,
            state_batches=_stored(combined(before.batches, change.batches, start_offset)),
        )


def initial_snapshot(snapshot_epoch: int, state_epoch: int, start_offset: int, now_ms: int) -> ShareSnapshotValue:
    """The record that an initialization writes. No record is done with yet if there is a start offset (SGB-3)."""
    return ShareSnapshotValue(
        snapshot_epoch=snapshot_epoch,
        state_epoch=state_epoch,
        leader_epoch=0,
        start_offset=start_offset,
        delivery_complete_count=-1 if start_offset == NO_OFFSET else 0,
        create_timestamp=now_ms,
        write_timestamp=now_ms,
    )


def _stored(batches: tuple[StateBatch, ...]) -> list[StoredBatch]:
    return [
        StoredBatch(
            first_offset=each.first_offset,
            last_offset=each.last_offset,
            delivery_state=each.delivery_state,
            delivery_count=each.delivery_count,
        )
        for each in batches
    ]


def _fields_of(batch: StoredBatch) -> tuple[int, int, int, int]:
    return batch.first_offset, batch.last_offset, batch.delivery_state, batch.delivery_count

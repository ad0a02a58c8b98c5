"""The states of share partitions: who may change them, and what is written."""

import pytest

from fakebroker.broker.core.share_state import shard, stored_state
from fakebroker.broker.core.share_state.states import NO_STATE, SharePartition, ShareState, StateBatch
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.records.share_state_schema import ShareSnapshotValue, ShareUpdateValue
from tests.support.share_states import ShareStates, in_flight
from tests.support.time import T0

NONE = ErrorCode.NONE
EVERY_THIRD = {"share.coordinator.snapshot.update.records.per.snapshot": 3}


@pytest.mark.rules("SGB-3")
def test_the_first_record_is_a_snapshot() -> None:
    """It has the given state epoch, leader epoch 0, no batches; without a start offset no count of finished records."""
    lab = ShareStates()

    assert lab.initialize(state_epoch=2) == NONE
    assert lab.records() == [
        ShareSnapshotValue(state_epoch=2, start_offset=-1, create_timestamp=T0, write_timestamp=T0)
    ]
    assert lab.read() == (NONE, ShareState(2, 0, -1, -1, ()))


@pytest.mark.rules("SGB-3", "SGO-4")
def test_an_initialization_begins_anew() -> None:
    """The next snapshot has the next snapshot epoch, the new start offset, and nothing of what was there."""
    lab = ShareStates()
    lab.initialize()
    lab.write((0, 3, 2, 1), start=0, leader_epoch=4)

    assert lab.initialize(state_epoch=5, start_offset=7) == NONE
    assert (lab.records()[-1].snapshot_epoch, lab.records()[-1].delivery_complete_count) == (1, 0)
    assert lab.state == ShareState(5, 0, 7, 0, ())


@pytest.mark.rules("SGB-3")
def test_a_write_is_an_update() -> None:
    """It carries what the leader wrote; a start offset of -1 leaves the one that was there."""
    lab = ShareStates()
    lab.initialize(start_offset=3)

    assert lab.write((3, 5, 0, 1), (6, 6, 2, 1), start=3, count=1) == NONE
    assert lab.write((4, 4, 2, 1), count=2) == NONE

    last = lab.records()[-1]
    assert isinstance(last, ShareUpdateValue)
    assert (last.snapshot_epoch, last.start_offset, last.delivery_complete_count) == (0, -1, 2)
    assert lab.state == ShareState(1, 0, 3, 2, in_flight((3, 3, 0, 1), (4, 4, 2, 1), (5, 5, 0, 1), (6, 6, 2, 1)))


@pytest.mark.rules("SGB-4")
def test_after_so_many_updates_comes_a_snapshot() -> None:
    """The fourth write after a snapshot is one if the setting says three; it says all there is."""
    lab = ShareStates(EVERY_THIRD)
    lab.initialize(start_offset=0)
    for offset in range(4):
        lab.write((offset, offset, 2, 1), count=offset + 1)
    lab.write((9, 9, 0, 1))

    kinds = [type(record).__name__ for record in lab.records()]
    fourth = lab.records()[4]
    assert kinds == ["ShareSnapshotValue", *["ShareUpdateValue"] * 3, "ShareSnapshotValue", "ShareUpdateValue"]
    assert (fourth.snapshot_epoch, fourth.state_epoch, fourth.delivery_complete_count) == (1, 1, 4)
    assert [(each.first_offset, each.last_offset) for each in fourth.state_batches] == [(0, 3)]


@pytest.mark.rules("SGB-4")
def test_a_deleted_state_is_a_tombstone() -> None:
    """Deleting one that is not there is no error and writes nothing."""
    lab = ShareStates()
    lab.initialize()

    assert lab.delete() == NONE
    assert lab.delete() == NONE
    assert lab.records()[1:] == [None]
    assert lab.read() == (ErrorCode.INVALID_REQUEST, NO_STATE)


@pytest.mark.rules("SGB-3")
def test_without_a_state_nothing_is_read_or_written() -> None:
    """INVALID_REQUEST for both; a summary has no start offset, which is no error."""
    lab = ShareStates()

    assert lab.read()[0] == lab.write((0, 0, 2, 1)) == ErrorCode.INVALID_REQUEST
    assert lab.summary() == (NONE, ShareState(0, 0, -1, -1, ()))


@pytest.mark.rules("SGP-1")
def test_a_reading_leader_fences_those_before() -> None:
    """A higher leader epoch is stored; lower ones are refused then, in reads and writes; -1 never is."""
    lab = ShareStates()
    lab.initialize(start_offset=3)

    assert lab.read(leader_epoch=3)[1].leader_epoch == 3
    assert lab.read(leader_epoch=2)[0] == ErrorCode.FENCED_LEADER_EPOCH
    assert lab.write((3, 3, 2, 1), leader_epoch=0) == ErrorCode.FENCED_LEADER_EPOCH
    assert lab.write((3, 3, 2, 1), leader_epoch=-1) == NONE
    assert lab.state.leader_epoch == 3
    assert lab.read(leader_epoch=-1)[0] == NONE
    assert [type(record) for record in lab.records()] == [ShareSnapshotValue, ShareUpdateValue, ShareUpdateValue]


@pytest.mark.rules("SGB-3")
def test_a_write_fences_nobody() -> None:
    """A leader reads before it writes: the epochs of a write are checked and not stored."""
    lab = ShareStates({"share.coordinator.snapshot.update.records.per.snapshot": 1})
    lab.initialize()

    assert [lab.write((0, 0, 2, 1), leader_epoch=5, state_epoch=5) for _ in range(2)] == [NONE, NONE]
    assert [record.leader_epoch for record in lab.records()] == [0, 0, 0]
    assert (lab.state.state_epoch, lab.state.leader_epoch) == (1, 0)
    assert lab.write((0, 0, 2, 1), leader_epoch=0, state_epoch=1) == NONE


@pytest.mark.rules("SGP-1")
def test_a_summary_fences_nobody() -> None:
    """It has no batches, whatever was written, and writes nothing."""
    lab = ShareStates()
    lab.initialize(start_offset=3)
    lab.write((3, 5, 0, 1), count=0)

    assert lab.summary() == (NONE, ShareState(1, 0, 3, 0, ()))
    assert len(lab.records()) == 2


@pytest.mark.rules("SGO-4")
def test_earlier_state_epochs_are_fenced() -> None:
    """After an initialization with a higher epoch neither writers nor initializations of a lower one are heard."""
    lab = ShareStates()
    lab.initialize(state_epoch=2)

    assert lab.initialize(state_epoch=1) == ErrorCode.FENCED_STATE_EPOCH
    assert lab.write((0, 0, 2, 1), state_epoch=1) == ErrorCode.FENCED_STATE_EPOCH
    assert lab.write((0, 0, 2, 1), state_epoch=-1) == NONE
    assert lab.write((0, 0, 2, 1), state_epoch=3) == NONE


@pytest.mark.rules("SGB-3")
def test_epochs_are_remembered_through_an_initialization() -> None:
    """The leader epoch in the state begins at 0 again, yet earlier leaders stay fenced."""
    lab = ShareStates()
    lab.initialize()
    lab.read(leader_epoch=4)
    lab.initialize(state_epoch=2, start_offset=100)

    assert lab.summary()[1].leader_epoch == 0
    assert lab.read(leader_epoch=3)[0] == ErrorCode.FENCED_LEADER_EPOCH


@pytest.mark.rules("SGB-2")
@pytest.mark.parametrize("partition", [-1, 2])
def test_partitions_that_cannot_be(partition: int) -> None:
    """A negative one is INVALID_REQUEST; one that the topic does not have is unknown, or has no state at least."""
    lab = ShareStates()
    key = lab.key._replace(partition=partition)
    expected = ErrorCode.INVALID_REQUEST if partition < 0 else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    assert lab.initialize(key=key) == lab.delete(key=key) == lab.summary(key=key)[0] == expected
    assert lab.read(key=key)[0] == lab.write(key=key) == ErrorCode.INVALID_REQUEST


def test_states_of_a_deleted_topic_go() -> None:
    """Each with a tombstone; those of other topics stay."""
    lab = ShareStates()
    other = SharePartition("g", lab.cluster.topics.create("u", 1, 1).id, 0)
    lab.initialize()
    lab.initialize(key=other)

    lab.cluster.topics.delete("t", lab.now)

    assert lab.records()[-1] is None or other in lab.shard.states
    assert lab.key not in lab.shard.states
    assert lab.summary(key=other)[0] == NONE
    assert lab.cluster.nodes[1].share_coordinator.shard(str(other), lab.now).states.keys() == {other}


def test_many_states_of_a_deleted_topic_go_in_steps() -> None:
    """Each tombstone has the name of its group, which may be long."""
    lab = ShareStates()
    keys = [SharePartition(f"g{number}", lab.key.topic_id, 0) for number in range(2 * shard.STATES_PER_STEP + 1)]
    for key in keys:
        lab.shard.initialize(key, 1, 0, lambda _code, _now: None, lab.now)

    steps = lab.shard.delete_topic(lab.key.topic_id, lab.now)

    assert next(steps) == shard.STATES_PER_STEP
    assert set(lab.shard.states) == set(keys[shard.STATES_PER_STEP :])
    assert [*steps] == [shard.STATES_PER_STEP, 1]
    assert not lab.shard.states


@pytest.mark.rules("SGB-3")
def test_a_load_gives_what_there_was() -> None:
    """State, snapshot epoch, count of updates, and the epochs that fence follow from the records."""
    lab = ShareStates(EVERY_THIRD)
    lab.initialize()
    lab.read(leader_epoch=3)
    for offset in range(6):
        lab.write((offset, offset, offset % 2 * 2, 1), start=0, count=1, leader_epoch=3)
    lab.initialize(state_epoch=4, start_offset=8)
    before = {slot: getattr(lab.shard.states[lab.key], slot) for slot in type(lab.shard.states[lab.key]).__slots__}

    loaded = lab.reload().states[lab.key]

    assert {slot: getattr(loaded, slot) for slot in before} == before


def test_a_record_that_cannot_be_read_ends_the_load() -> None:
    """Everything of the partition is NOT_COORDINATOR then."""
    lab = ShareStates()
    lab.initialize()
    lab.partition.log.append_records(Garbage(), lab.now)

    assert lab.reload().unavailable_code == ErrorCode.NOT_COORDINATOR


class Garbage:
    """A record with a key of one byte."""

    def __len__(self) -> int:
        return 1

    def records(self) -> list[tuple[bytes | None, bytes | None]]:
        return [(b"\x00", b"")]

    def memory_bytes(self) -> int:
        return 100

    def all_overwritten(self) -> bool:
        return False


@pytest.mark.rules("SGB-3")
def test_batches_of_a_state_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A write after which there would be more is refused; one that says something else of the same records is not."""
    for module in (shard, stored_state):
        monkeypatch.setattr(module, "MAX_BATCHES", 10)
    lab = ShareStates()
    lab.initialize(start_offset=0)
    ten = [(2 * each, 2 * each, 0, 1) for each in range(10)]

    assert lab.write(*ten, (30, 30, 0, 1)) == ErrorCode.INVALID_REQUEST
    assert lab.state.batches == ()
    assert lab.write(*ten) == NONE
    assert lab.write((30, 30, 0, 1)) == ErrorCode.INVALID_REQUEST
    assert lab.write(*[(first, last, 2, 1) for first, last, _, _ in ten]) == NONE
    assert lab.state.batches == tuple(StateBatch(2 * each, 2 * each, 2, 1) for each in range(10))

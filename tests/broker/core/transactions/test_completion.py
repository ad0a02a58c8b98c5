"""Markers: when they are written, what they wait for, and what a move of the coordinator leaves of it."""

import pytest

from fakebroker.broker.core import broker_life, elections
from fakebroker.broker.core.topics import TRANSACTION_STATE
from fakebroker.broker.core.transactions.completion import MARKERS_PER_STEP, RETRY_MS
from fakebroker.broker.core.transactions.producer import Producer
from fakebroker.broker.core.transactions.shard import TransactionShard
from fakebroker.broker.core.transactions.states import TransactionState
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.records.offsets_topic import TopicPartition
from tests.support.engine import SimEngine
from tests.support.transactions import (
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    DELAY,
    ONGOING,
    PREPARE_ABORT,
    PREPARE_COMMIT,
    T0,
    T1,
    Marker,
    Transactions,
)
from tests.support.work_counter import calls_of


def apart(node_ids: tuple[int, ...] = (1, 2, 3)) -> Transactions:
    """Node 1 coordinates, node 2 leads partition 0 of "t" and nobody else can, node 3 leads partition 1."""
    lab = Transactions({"broker.session.timeout.ms": 9000}, node_ids=node_ids)
    for replica, partition in ((2, T0), (3, T1)):
        found = lab.cluster.topics.partition(*partition)
        assert found is not None
        elections.reassign(found, [replica], lab.now)
    for each in lab.state_partition().topic.partitions:
        elections.reassign(each, [1], lab.now)
    return lab


@pytest.mark.rules("TX-2")
def test_markers_follow_right_after_the_answer_or_after_the_delay_that_is_set() -> None:
    """With a delay the Prepare states can be seen."""
    lab = Transactions(DELAY)
    lab.end(lab.bring_to(ONGOING))

    lab.wait(999)
    before = lab.state(), lab.markers()
    lab.wait(1)

    assert before == (PREPARE_COMMIT, [])
    assert (lab.state(), len(lab.markers())) == (COMPLETE_COMMIT, 1)


class Wide(SimEngine):
    """A transaction of very many partitions, whose end is just decided, in turns that the test gives."""

    def __init__(self, count: int = 10 * MARKERS_PER_STEP + 1, node_ids: tuple[int, ...] = (1,)) -> None:
        super().__init__({"transaction.state.log.num.partitions": 1}, node_ids=node_ids)
        topic = self.cluster.topics.create("wide", count, len(node_ids))
        for partition in self.cluster.topics.internal(TRANSACTION_STATE).partitions + topic.partitions:
            partition.lead(1, self.engine.now)
        found: list[Producer] = []
        shard, now = self.shard(), self.engine.now
        shard.init_producer_id("x", 60_000, None, lambda _code, producer: found.append(producer), now)
        (producer,) = found
        shard.add_partitions(
            "x", producer, [TopicPartition("wide", each) for each in range(count)], lambda *_: None, now, is_tv2=False
        )
        shard.end("x", producer, commit=True, is_tv2=False, answer=lambda *_: None, now=now)

    def shard(self, node_id: int = 1) -> TransactionShard:
        return self.cluster.nodes[node_id].transactions.shard("x", self.engine.now)

    @property
    def state(self) -> TransactionState:
        leader = self.cluster.topics.internal(TRANSACTION_STATE).partitions[0].leader
        return self.shard(leader).transactions["x"].state

    @property
    def markers(self) -> int:
        topic = self.cluster.topics.get("wide")
        assert topic is not None
        return sum(each.log.log_end_offset for each in topic.partitions if each.has_log)

    def turn(self) -> int:
        """What is due, or else a step of what goes on. Returns how many markers it wrote."""
        before = self.markers
        if self.engine.works:
            self.engine.step(self.engine.now)
        else:
            self.engine.tick(self.engine.now)
        assert self.engine.errors == []
        return self.markers - before

    def turns(self) -> list[int]:
        """How many markers each turn writes, until nothing goes on."""
        written = [self.turn()]
        while self.engine.works:
            written.append(self.turn())
        return written


MOST_PER_TURN = 2 * (MARKERS_PER_STEP + 1)


@pytest.mark.parametrize("late_ms", [0, 60_000])
def test_the_markers_of_very_many_partitions_are_written_in_turns(late_ms: int) -> None:
    """Others are served between them, also if the broker comes to it late."""
    lab = Wide()
    count = 10 * MARKERS_PER_STEP + 1
    lab.engine.tick(lab.engine.now.plus(late_ms))
    first = lab.markers
    written = [first, *lab.turns()]

    assert (sum(written), max(written)) == (count, MOST_PER_TURN)
    assert lab.state is TransactionState.COMPLETE_COMMIT


def test_a_partition_that_is_waited_for_costs_no_turn_more_than_others() -> None:
    """What cannot be written to is looked at in turns as well, again and again."""
    lab = Wide(node_ids=(1, 2))
    topic = lab.cluster.topics.get("wide")
    assert topic is not None
    for partition in topic.partitions:
        partition.lead(-1, lab.engine.now)
    lab.turns()

    def longest(late_ms: int) -> int:
        turns = [calls_of(lambda: lab.engine.tick(lab.engine.now.plus(late_ms)))]
        while lab.engine.works:
            turns.append(calls_of(lambda: lab.engine.step(lab.engine.now)))
        return max(turns)

    assert longest(60_000) < 1.5 * longest(RETRY_MS)
    for partition in topic.partitions:
        partition.lead(2, lab.engine.now)
    assert max(lab.turns()) == MOST_PER_TURN
    assert lab.state is TransactionState.COMPLETE_COMMIT


@pytest.mark.rules("CLU-40")
def test_a_coordinator_that_is_frozen_amid_the_markers() -> None:
    """It goes on when it is thawed."""
    lab = Wide()
    lab.turn()
    node = lab.cluster.nodes[1]
    broker_life.freeze(lab.cluster, node, lab.engine.now)
    assert sum(lab.turns()) == 0
    broker_life.thaw(lab.cluster, node, lab.engine.now)
    lab.turns()
    assert lab.state is TransactionState.COMPLETE_COMMIT


@pytest.mark.rules("TX-25")
def test_a_coordinator_that_moves_amid_the_markers() -> None:
    """The former one writes no more of them; the new one writes all, those of partitions that have one already too."""
    lab = Wide(node_ids=(1, 2))
    lab.turn()
    before = lab.markers
    lab.cluster.topics.internal(TRANSACTION_STATE).partitions[0].lead(2, lab.engine.now)
    assert len(lab.shard(2).completions) == 1
    lab.turns()
    assert lab.state is TransactionState.COMPLETE_COMMIT
    assert lab.markers == before + 10 * MARKERS_PER_STEP + 1


@pytest.mark.rules("TX-25")
def test_a_partition_whose_leader_is_gone_is_waited_for() -> None:
    """The others have their marker at once, and are no longer part of the transaction."""
    lab = apart()
    producer = lab.bring_to(ONGOING)
    lab.cluster.kill_node(2, lab.now)

    lab.end(producer)
    lab.wait(5000)
    waiting = lab.state(), list(lab.transaction().partitions), lab.markers(T1)
    lab.cluster.start_node(2, lab.now)
    lab.wait(0)

    marker = Marker(True, Producer(producer.id, 1), lab.state_partition().leader_epoch)
    assert waiting == (PREPARE_COMMIT, [T0], [marker])
    assert (lab.state(), lab.markers(T0), lab.markers(T1)) == (COMPLETE_COMMIT, [marker], [marker])


@pytest.mark.parametrize("trouble", ["frozen", "cut off"])
def test_a_leader_that_is_silent_is_waited_for(trouble: str) -> None:
    """It has its marker soon after it can be reached again."""
    lab = apart()
    producer = lab.bring_to(ONGOING)
    node = lab.cluster.nodes[2]
    if trouble == "frozen":
        lab.cluster.freeze_node(2, lab.now)
    else:
        node.is_cut_off = True

    lab.end(producer, commit=False)
    lab.wait(1000)
    waiting = lab.state()
    if trouble == "frozen":
        lab.cluster.thaw_node(2, lab.now)
    else:
        node.is_cut_off = False
    lab.wait(100)

    assert (waiting, lab.state()) == (PREPARE_ABORT, COMPLETE_ABORT)


def test_a_partition_that_was_deleted_needs_no_marker() -> None:
    """The transaction ends without it."""
    lab = Transactions(DELAY)
    lab.end(lab.bring_to(ONGOING))

    lab.cluster.topics.delete("t", lab.now)
    lab.wait(1000)

    assert lab.state() == COMPLETE_COMMIT


def test_markers_count_when_replicas_have_them() -> None:
    """A follower that does not fetch holds up the end of the transaction, without a second marker."""
    lab = Transactions(node_ids=(1, 2), replication_factor=2)
    producer = lab.bring_to(ONGOING)
    found = lab.cluster.topics.partition(*T0)
    assert found is not None
    found.log.limit_high_watermark(found.log.high_watermark, lab.now)

    lab.end(producer)
    lab.wait(1000)
    waiting = lab.state(), list(lab.transaction().partitions)
    found.log.limit_high_watermark(None, lab.now)
    lab.wait(100)

    assert waiting == (PREPARE_COMMIT, [T0])
    assert (lab.state(), len(lab.markers(T0))) == (COMPLETE_COMMIT, 1)


@pytest.mark.rules("WM-3")
def test_a_partition_that_saw_a_later_coordinator_is_left_to_that_one() -> None:
    """The transaction stays as it is in the memory of the coordinator that was replaced."""
    lab = Transactions(DELAY)
    producer = lab.bring_to(ONGOING)
    lab.end(producer)
    found = lab.cluster.topics.partition(*T0)
    assert found is not None
    found.log.append_marker(producer.id, 1, lab.now, commit=True, coordinator_epoch=5)

    lab.wait(10_000)

    assert (lab.state(), len(lab.shard().completions)) == (PREPARE_COMMIT, 0)


@pytest.mark.rules("TX-25", "CLU-37")
@pytest.mark.parametrize("commit", [True, False])
def test_a_move_before_the_markers_leaves_them_to_the_next_coordinator(commit: bool) -> None:
    """It finds the Prepare state in the log, and writes them with its own, later epoch."""
    lab = Transactions(DELAY, node_ids=(1, 2, 3), replication_factor=3)
    lab.end(lab.bring_to(ONGOING), commit=commit)
    partition = lab.state_partition()

    elections.move_leader(partition, next(each for each in (1, 2, 3) if each != partition.leader), lab.now)
    lab.wait(1000)

    assert lab.state() == (COMPLETE_COMMIT if commit else COMPLETE_ABORT)
    assert [(each.commit, each.coordinator_epoch) for each in lab.markers()] == [(commit, 1)]


@pytest.mark.rules("TX-25")
def test_a_move_between_markers_and_the_last_record_writes_markers_again() -> None:
    """The partition that has one already gets a second one, which changes nothing."""
    lab = apart()
    producer = lab.bring_to(ONGOING)
    lab.cluster.kill_node(2, lab.now)
    lab.end(producer)
    lab.wait(100)
    lab.shard()

    node = lab.cluster.nodes[1]
    node.transactions.load(lab.state_partition().index, lab.now)
    lab.cluster.start_node(2, lab.now)
    lab.wait(100)

    assert lab.state() == COMPLETE_COMMIT
    assert (len(lab.markers(T0)), len(lab.markers(T1))) == (1, 2)


def test_a_record_that_does_not_reach_the_replicas_is_written_later() -> None:
    """All markers are there, but the transaction is complete only when that is stored."""
    lab = Transactions(DELAY, node_ids=(1, 2, 3), replication_factor=3)
    lab.end(lab.bring_to(ONGOING))
    partition = lab.state_partition()
    elections.set_in_sync(partition, [partition.leader], lab.now)

    lab.wait(5000)
    waiting = lab.state(), len(lab.markers())
    elections.set_in_sync(partition, [1, 2, 3], lab.now)
    lab.wait(100)

    assert waiting == (PREPARE_COMMIT, 1)
    assert (lab.state(), len(lab.markers())) == (COMPLETE_COMMIT, 1)


def test_a_frozen_coordinator_writes_no_markers() -> None:
    """It goes on where it was when it is thawed."""
    lab = Transactions(DELAY)
    lab.end(lab.bring_to(ONGOING))
    lab.cluster.freeze_node(1, lab.now)

    lab.wait(5000)
    frozen = lab.markers()
    lab.cluster.thaw_node(1, lab.now)
    lab.wait(0)

    assert (frozen, len(lab.markers()), lab.state()) == ([], 1, COMPLETE_COMMIT)


def test_ends_that_wait_do_not_hold_up_others() -> None:
    """Each transaction goes its own way."""
    lab = apart()
    producer = lab.bring_to(ONGOING)
    other = lab.producer("y")
    lab.add(other, T1, name="y")
    lab.cluster.kill_node(2, lab.now)
    lab.end(producer)

    answer = lab.end(other, name="y")
    lab.wait(0)

    assert answer.code is ErrorCode.NONE
    assert (lab.state(), lab.state("y")) == (PREPARE_COMMIT, COMPLETE_COMMIT)

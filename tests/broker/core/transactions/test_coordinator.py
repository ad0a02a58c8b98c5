"""Which broker coordinates a transactional id, what a load finds, and writes that wait for replicas."""

from collections.abc import Mapping

import pytest

from fakebroker.broker.core import broker_life, elections
from fakebroker.broker.core.cluster_state import build_cluster, cluster_state, load_coordinators
from fakebroker.broker.core.events import CoordinatorMoved
from fakebroker.broker.core.transactions.producer import NO_PRODUCER, Producer
from fakebroker.broker.release import release
from fakebroker.broker.settings import Settings
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.records.transaction_log import transaction_key, transaction_value
from tests.support.logs import Pairs
from tests.support.time import DAY, SECOND
from tests.support.transactions import (
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    DEAD,
    DELAY,
    EMPTY,
    ONGOING,
    PREPARE_ABORT,
    PREPARE_COMMIT,
    T0,
    T1,
    Transactions,
)

THREE = (1, 2, 3)
NOT_AVAILABLE = (ErrorCode.COORDINATOR_NOT_AVAILABLE, NO_PRODUCER)


def three(settings: Mapping[str, object] | None = None) -> Transactions:
    return Transactions(settings, node_ids=THREE, replication_factor=3)


def another(lab: Transactions) -> int:
    """A node that does not coordinate "x"."""
    return next(each for each in THREE if each != lab.state_partition().leader)


def refusal(lab: Transactions, node_id: int) -> ErrorCode:
    with pytest.raises(KafkaError) as refused:
        lab.cluster.nodes[node_id].transactions.shard("x", lab.now)
    return refused.value.code


@pytest.mark.rules("TS-1", "CLU-13")
def test_only_the_leader_of_the_partition_coordinates() -> None:
    """The others say so, also after a move."""
    lab = three()
    lab.producer()
    first, second = lab.state_partition().leader, another(lab)
    before = refusal(lab, second)

    elections.move_leader(lab.state_partition(), second, lab.now)

    assert before == refusal(lab, first) == ErrorCode.NOT_COORDINATOR
    assert lab.state() == EMPTY


@pytest.mark.rules("TX-25", "CLU-37")
@pytest.mark.parametrize("is_tv2", [True, False])
def test_an_open_transaction_goes_on_at_the_next_coordinator(is_tv2: bool) -> None:
    """With its partitions, its start and its producer; its end is stored as ever."""
    lab = three()
    producer = lab.bring_to(ONGOING, is_tv2=is_tv2)
    start_ms = lab.transaction().start_ms
    lab.wait(5000)

    lab.cluster.kill_node(lab.state_partition().leader, lab.now)
    lab.wait(10 * SECOND)
    found = lab.state(), list(lab.transaction().partitions), lab.transaction().start_ms
    answer = lab.end(producer, is_tv2=is_tv2)
    lab.wait(200)

    assert found == (ONGOING, [T0, T1], start_ms)
    assert (answer.code, lab.state()) == (ErrorCode.NONE, COMPLETE_COMMIT)


@pytest.mark.rules("TX-25")
def test_the_timeout_counts_from_the_stored_start() -> None:
    """A move does not prolong a transaction."""
    lab = three()
    lab.add(lab.producer(timeout_ms=30_000), T0)
    lab.wait(25_000)

    elections.move_leader(lab.state_partition(), another(lab), lab.now)
    lab.wait(10_000)
    lab.wait(200)

    assert lab.state() == COMPLETE_ABORT


@pytest.mark.rules("PI-8")
def test_the_epoch_before_is_not_in_the_log() -> None:
    """A repeated InitProducerId that meets another coordinator is fenced, as Kafka's sources note."""
    lab = three()
    producer = lab.producer()
    lab.init(producer)

    elections.move_leader(lab.state_partition(), another(lab), lab.now)

    assert lab.init(producer) == (ErrorCode.PRODUCER_FENCED, NO_PRODUCER)


@pytest.mark.parametrize("state", [EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT])
@pytest.mark.parametrize("as_release", ["4.3", "3.9"])
def test_a_load_gives_what_there_was(state: str, as_release: str) -> None:
    """The log is the truth: in both versions of the value, but for what version 0 does not have."""
    lab = Transactions(DELAY, as_release)
    lab.bring_to(state, is_tv2=as_release == "4.3")
    before = lab.transaction().to_value()
    previous = lab.transaction().previous_producer_id

    loaded = lab.cluster.nodes[1].transactions.load(lab.state_partition().index, lab.now).transactions["x"]

    assert loaded.to_value() == before
    assert loaded.previous_producer_id == (previous if as_release == "4.3" else -1)


def test_a_slow_load_says_so_and_everything_is_there_afterwards() -> None:
    """Requests come again meanwhile; other partitions serve."""
    lab = Transactions()
    lab.producer()
    coordinator = lab.cluster.nodes[1].transactions

    coordinator.load(lab.state_partition().index, lab.now, for_ms=500)
    during = refusal(lab, 1), coordinator.is_loading, coordinator.shard("y", lab.now).unavailable_code
    lab.wait(500)

    assert during == (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, True, None)
    assert (lab.state(), coordinator.is_loading) == (EMPTY, False)
    moves = [each for each in lab.cluster.outbox if isinstance(each, CoordinatorMoved)]
    assert {each.topic for each in moves} == {"__transaction_state"}
    assert [each.what for each in moves][-3:] == ["unloaded", "loading", "loaded"]


@pytest.mark.parametrize("what", ["value", "status", "key"])
def test_a_record_that_cannot_be_read_stops_the_load(what: str) -> None:
    """The ids of the partition are answered NOT_COORDINATOR, and the journal says why."""
    lab = Transactions()
    lab.producer()
    value = lab.transaction().to_value(status=7 if what == "status" else 0)
    key = b"\0" if what == "key" else transaction_key("x")
    pair = key, b"\0\1\0" if what == "value" else transaction_value(value)
    lab.state_partition().log.append_records(Pairs(pair), lab.now)

    lab.cluster.nodes[1].transactions.load(lab.state_partition().index, lab.now)

    assert refusal(lab, 1) is ErrorCode.NOT_COORDINATOR
    (failed,) = [each for each in lab.cluster.outbox if isinstance(each, CoordinatorMoved) and each.what == "failed"]
    assert "batch at 1" in failed.reason


def test_with_too_few_replicas_nothing_is_stored() -> None:
    """Requests are answered COORDINATOR_NOT_AVAILABLE and leave everything as it was."""
    lab = three()
    producer = lab.producer()
    leader = lab.state_partition().leader
    elections.set_in_sync(lab.state_partition(), [leader], lab.now)

    codes = lab.init(), lab.add(producer), lab.end(producer, commit=False)

    assert codes == (NOT_AVAILABLE, ErrorCode.COORDINATOR_NOT_AVAILABLE, NOT_AVAILABLE)
    assert (lab.state(), lab.transaction().producer) == (EMPTY, producer)


def test_a_write_waits_for_replicas_and_others_have_to_come_again() -> None:
    """Nothing has happened before they have it; then the answer comes."""
    lab = three()
    producer = lab.bring_to(ONGOING)
    log = lab.state_partition().log
    log.limit_high_watermark(log.high_watermark, lab.now)

    ending = lab.send_end(producer)
    meanwhile = ending.is_parked, lab.state(), lab.add(producer, T0), lab.end(producer).code, lab.init().code
    log.limit_high_watermark(None, lab.now)
    lab.wait(0)

    concurrent = ErrorCode.CONCURRENT_TRANSACTIONS
    assert meanwhile == (True, ONGOING, concurrent, concurrent, concurrent)
    assert ending.answer == (ErrorCode.NONE, Producer(producer.id, 1))
    assert lab.state() == COMPLETE_COMMIT


def test_a_write_that_no_replica_gets_fails_after_the_request_timeout() -> None:
    """The transaction may go on then."""
    lab = three({"request.timeout.ms": 5000})
    producer = lab.bring_to(ONGOING)
    log = lab.state_partition().log
    log.limit_high_watermark(log.high_watermark, lab.now)

    ending = lab.send_end(producer)
    lab.wait(5000)

    assert (ending.answer, ending.at_ms) == (NOT_AVAILABLE, 5000)
    assert (lab.state(), lab.transaction().pending) == (ONGOING, None)


def test_a_write_that_waits_is_answered_when_the_coordinator_moves() -> None:
    """The client looks for the new one, which knows only what replicas have."""
    lab = three()
    producer = lab.bring_to(ONGOING)
    log = lab.state_partition().log
    log.limit_high_watermark(log.high_watermark, lab.now)
    ending = lab.send_end(producer)

    elections.move_leader(lab.state_partition(), another(lab), lab.now)

    assert ending.answer == (ErrorCode.NOT_COORDINATOR, NO_PRODUCER)


@pytest.mark.rules("CLU-42")
def test_a_zombie_stores_nothing() -> None:
    """It does not know that it was replaced: what it decides is lost, and its answer is an error."""
    lab = three()
    producer = lab.bring_to(ONGOING)
    zombie, partition = lab.cluster.nodes[lab.state_partition().leader], lab.state_partition()
    shard = lab.shard()
    broker_life.become_zombie(lab.cluster, zombie, partition, another(lab), 2000, lab.now)
    answers: list[ErrorCode] = []

    shard.end("x", producer, commit=True, is_tv2=True, answer=lambda code, _: answers.append(code), now=lab.now)
    at_once = list(answers)
    lab.wait(2000)

    assert (at_once, answers) == ([], [ErrorCode.NOT_COORDINATOR])
    assert lab.state() == ONGOING


@pytest.mark.rules("TX-23")
def test_raising_the_epoch_again_after_a_failure() -> None:
    """With protocol 1 the raised epoch was seen by nobody, so it is used; protocol 2 never stored it."""
    producers = []
    for as_release in ("3.9", "4.3"):
        lab = Transactions(as_release=as_release, node_ids=THREE, replication_factor=3)
        lab.bring_to(ONGOING, is_tv2=False)
        elections.set_in_sync(lab.state_partition(), [lab.state_partition().leader], lab.now)
        assert lab.init() == NOT_AVAILABLE
        elections.set_in_sync(lab.state_partition(), [1, 2, 3], lab.now)
        lab.init()
        producers.append(lab.transaction().producer)

    assert producers == [Producer(0, 1), Producer(0, 1)]


def test_a_snapshot_has_transactions_in_its_logs() -> None:
    """Open ones stay open, ending ones end, idle ones expire."""
    lab = Transactions(DELAY)
    lab.producer("idle")
    lab.add(lab.producer("open", 600_000), T0, name="open")
    lab.bring_to(PREPARE_COMMIT)
    state = cluster_state(lab.cluster)

    restored = Transactions()
    cluster = build_cluster(state, Settings({}), release("4.3"), lab.now)
    load_coordinators(cluster, lab.now)
    restored.cluster = cluster
    restored = _driven(restored, lab)
    restored.wait(0)
    states = [restored.state(name) for name in ("idle", "open", "x")]
    restored.wait(8 * DAY)

    assert states == [EMPTY, ONGOING, COMPLETE_COMMIT]
    assert [restored.state(name) for name in ("idle", "open", "x")] == [DEAD, DEAD, DEAD]


def test_restarting_loads_everything_again() -> None:
    """Timers of what was in memory before are gone."""
    lab = Transactions(DELAY)
    lab.bring_to(PREPARE_COMMIT)

    broker_life.restart_all(lab.cluster, lab.now)
    lab.wait(1000)

    assert (lab.state(), len(lab.markers())) == (COMPLETE_COMMIT, 1)


def test_deleting_the_internal_topic_forgets_all_ids() -> None:
    """They begin anew with new producer ids."""
    lab = Transactions()
    lab.producer()

    lab.cluster.topics.delete("__transaction_state", lab.now)

    assert lab.state() == DEAD
    assert lab.producer() == Producer(1, 0)


def test_all_ids_of_the_cluster_are_listed_in_order() -> None:
    """Wherever they are coordinated."""
    lab = three()
    for name in ("b", "c", "a"):
        lab.producer(name)

    assert [each.transactional_id for each in lab.cluster.transactions(lab.now)] == ["a", "b", "c"]


def _driven(lab: Transactions, before: Transactions) -> Transactions:
    """Time goes on for the restored cluster."""
    lab._timers = lab.cluster.timers
    lab.now = before.now
    return lab

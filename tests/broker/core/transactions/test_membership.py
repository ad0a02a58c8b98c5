"""What leaders of partitions ask the transaction coordinator, and what they get when it is not there."""

import pytest

from fakebroker.broker.core import elections
from fakebroker.broker.core.transactions.membership import ask_coordinator
from fakebroker.broker.core.transactions.producer import Producer
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.records.offsets_topic import TopicPartition
from tests.support.parked import Parked
from tests.support.transactions import DELAY, ONGOING, PREPARE_COMMIT, T0, T1, Transactions

OK, CONCURRENT = ErrorCode.NONE, ErrorCode.CONCURRENT_TRANSACTIONS
Codes = dict[TopicPartition, ErrorCode]


def ask(
    lab: Transactions,
    producer: Producer,
    *partitions: TopicPartition,
    adds: bool = True,
    retry_ms: int | None = None,
    node: int = 1,
    name: str = "x",
) -> Parked[Codes]:
    parked: Parked[Codes] = Parked(lambda: lab.ms)
    ask_coordinator(
        lab.cluster.nodes[node],
        name,
        producer,
        partitions or (T0,),
        adds=adds,
        retry_ms=retry_ms,
        answer=lambda codes: parked(dict(codes)),
        now=lab.now,
    )
    return parked


def two() -> tuple[Transactions, Producer, int]:
    """A cluster where node 1 coordinates "x", its producer, and another node that asks."""
    lab = Transactions(node_ids=(1, 2, 3), replication_factor=3)
    for each in lab.state_partition().topic.partitions:
        elections.reassign(each, [1], lab.now)
    return lab, lab.producer(), 2


@pytest.mark.rules("TX-6", "TX-14")
def test_a_partition_is_looked_up() -> None:
    """From any node; what is not in the transaction is not added."""
    lab, producer, other = two()
    lab.add(producer, T0)

    asked = ask(lab, producer, T0, T1, adds=False, node=other)

    assert asked.answer == {T0: OK, T1: ErrorCode.TRANSACTION_ABORTABLE}


@pytest.mark.rules("TX-11")
def test_with_protocol_2_a_partition_is_added() -> None:
    """The first one begins the transaction."""
    lab, producer, other = two()

    asked = ask(lab, producer, T1, T0, node=other)

    assert asked.answer == {T1: OK, T0: OK}
    assert (lab.state(), list(lab.transaction().partitions)) == (ONGOING, [T1, T0])
    assert lab.transaction().is_tv2


@pytest.mark.rules("TX-13")
def test_it_is_asked_again_while_the_last_transaction_completes() -> None:
    """Every 20 ms; the answer comes when the markers are there."""
    lab = Transactions({"fakebroker.transaction.markers.delay.ms": 50})
    following = lab.bring_to(PREPARE_COMMIT)

    asked = ask(lab, following, retry_ms=100)
    lab.wait(100)

    assert (asked.answer, asked.at_ms) == ({T0: OK}, 60)
    assert lab.state() == ONGOING


@pytest.mark.rules("TX-13")
@pytest.mark.parametrize(("retry_ms", "at_ms"), [(None, 0), (0, 0), (100, 100)])
def test_it_is_asked_no_longer_than_is_allowed(retry_ms: int | None, at_ms: int) -> None:
    """Then the answer is that transactions are concurrent."""
    lab = Transactions(DELAY)
    following = lab.bring_to(PREPARE_COMMIT)

    asked = ask(lab, following, retry_ms=retry_ms)
    lab.wait(500)

    assert (asked.answer, asked.at_ms) == ({T0: CONCURRENT}, at_ms)


def test_an_answer_may_come_after_the_write_has_reached_the_replicas() -> None:
    """The question waits with it."""
    lab, producer, other = two()
    log = lab.state_partition().log
    log.limit_high_watermark(log.high_watermark, lab.now)

    asked = ask(lab, producer, node=other)
    was_parked = asked.is_parked
    log.limit_high_watermark(None, lab.now)

    assert (was_parked, asked.answer) == (True, {T0: OK})


@pytest.mark.rules("TX-6")
def test_a_coordinator_that_is_not_there() -> None:
    """Each trouble has its own code, which the caller turns into that of its API."""
    lab, producer, other = two()
    coordinator = lab.cluster.nodes[1].transactions
    codes = []

    def look() -> None:
        codes.append(ask(lab, producer, adds=False, node=other).answer)

    coordinator.load(lab.state_partition().index, lab.now, for_ms=1000)
    look()
    lab.wait(1000)
    lab.cluster.nodes[1].is_cut_off = True
    look()
    lab.cluster.nodes[1].is_cut_off = False
    lab.cluster.freeze_node(1, lab.now)
    look()
    lab.cluster.thaw_node(1, lab.now)
    lab.cluster.kill_node(1, lab.now)
    look()
    lab.wait(20_000)
    look()

    assert [next(iter((code or {}).values())) for code in codes] == [
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ]


def test_a_question_makes_no_internal_topic() -> None:
    """As long as nobody looked for a coordinator there is none."""
    lab = Transactions()

    assert ask(lab, Producer(0, 0)).answer == {T0: ErrorCode.COORDINATOR_NOT_AVAILABLE}
    assert "__transaction_state" not in lab.cluster.topics


def test_an_empty_transactional_id_is_invalid() -> None:
    """No coordinator is asked."""
    lab = Transactions()

    assert ask(lab, Producer(0, 0), name="").answer == {T0: ErrorCode.INVALID_REQUEST}


@pytest.mark.parametrize("ends", [True, False])
def test_a_node_that_stands_still_asks_again_when_it_goes_on(ends: bool) -> None:
    """And no more if its process ended."""
    lab = Transactions({"fakebroker.transaction.markers.delay.ms": 50}, node_ids=(1, 2))
    data = lab.cluster.topics.get("t")
    assert data is not None
    for each in (*lab.state_partition().topic.partitions, *data.partitions):
        elections.reassign(each, [1], lab.now)
    following = lab.bring_to(PREPARE_COMMIT)
    asked = ask(lab, following, retry_ms=100, node=2)

    lab.cluster.freeze_node(2, lab.now)
    lab.wait(5000)
    frozen = asked.is_parked
    if ends:
        lab.cluster.kill_node(2, lab.now)
        lab.cluster.start_node(2, lab.now)
    else:
        lab.cluster.thaw_node(2, lab.now)
    lab.wait(5000)

    assert frozen
    assert asked.answer == (None if ends else {T0: OK})


@pytest.mark.parametrize("ends", [True, False])
def test_an_answer_that_comes_late_finds_the_node_as_it_is(ends: bool) -> None:
    """A process that ended gets no answer, also if the next one runs already; a frozen one gets it when it goes on."""
    lab, producer, other = two()
    log = lab.state_partition().log
    log.limit_high_watermark(log.high_watermark, lab.now)
    asked = ask(lab, producer, node=other)

    if ends:
        lab.cluster.kill_node(other, lab.now)
        lab.cluster.start_node(other, lab.now)
    else:
        lab.cluster.freeze_node(other, lab.now)
    log.limit_high_watermark(None, lab.now)
    was_parked = asked.is_parked
    if not ends:
        lab.cluster.thaw_node(other, lab.now)
    lab.wait(0)

    assert was_parked
    assert lab.state() == ONGOING
    assert asked.answer == (None if ends else {T0: OK})

"""Overdue transactions are aborted, idle ids forgotten, by the time of day."""

import pytest

from fakebroker.broker.core.transactions.producer import NO_PRODUCER, Producer
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.instant import Instant
from tests.support.time import DAY, HOUR, SECOND
from tests.support.transactions import (
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    DEAD,
    DELAY,
    EMPTY,
    ONGOING,
    PREPARE_ABORT,
    PREPARE_COMMIT,
    Marker,
    Transactions,
)

WEEK = 7 * DAY


@pytest.mark.rules("TX-23")
def test_an_overdue_transaction_is_aborted_at_the_next_pass() -> None:
    """Passes run every 10 s; one that is open for exactly its timeout is not overdue yet."""
    lab = Transactions()
    producer = lab.producer(timeout_ms=30_000)
    lab.add(producer)

    lab.wait(30_000)
    at_timeout = lab.state()
    lab.wait(9_999)
    before_pass = lab.state()
    lab.wait(1)

    assert (at_timeout, before_pass, lab.state()) == (ONGOING, ONGOING, COMPLETE_ABORT)
    assert lab.markers() == [Marker(False, Producer(producer.id, 1), 0)]


@pytest.mark.rules("TX-23")
def test_a_late_producer_of_protocol_2_may_go_on() -> None:
    """It looks as if it had ended the transaction itself: the repeated abort is accepted, with the new epoch."""
    lab = Transactions()
    producer = lab.producer(timeout_ms=1000)
    lab.add(producer)
    lab.wait(20 * SECOND)
    following = Producer(producer.id, producer.epoch + 1)

    assert lab.end(producer, commit=True) == (ErrorCode.INVALID_TXN_STATE, NO_PRODUCER)
    assert lab.end(producer, commit=False) == (ErrorCode.NONE, following)
    assert lab.init(producer) == (ErrorCode.NONE, following)


@pytest.mark.rules("TX-23")
def test_a_late_producer_of_protocol_1_is_fenced() -> None:
    """AddPartitions and EndTxn are refused, and InitProducerId without ids gives the epoch after the fencing one."""
    lab = Transactions()
    producer = lab.producer(timeout_ms=1000)
    lab.add(producer, is_tv2=False)
    lab.wait(20 * SECOND)

    assert lab.add(producer, is_tv2=False) is ErrorCode.PRODUCER_FENCED
    assert lab.end(producer, is_tv2=False).code is ErrorCode.PRODUCER_FENCED
    assert lab.producer() == Producer(producer.id, 2)


@pytest.mark.rules("TX-23")
def test_what_ends_in_time_is_left_alone() -> None:
    """Neither one that ended nor one whose markers are on their way is aborted."""
    lab = Transactions(DELAY | {"fakebroker.transaction.markers.delay.ms": HOUR})
    ended = lab.producer("ended", timeout_ms=1000)
    lab.add(ended, name="ended")
    lab.end(ended, name="ended")

    lab.wait(60 * SECOND)

    assert lab.state("ended") == PREPARE_COMMIT


@pytest.mark.rules("TX-23")
def test_each_transaction_has_its_own_time() -> None:
    """Passes go on as long as there is something that will be overdue."""
    lab = Transactions()
    for name, timeout_ms in (("a", 5_000), ("b", 25_000), ("c", 14_000)):
        lab.add(lab.producer(name, timeout_ms), name=name)
    seen = []
    for _ in range(4):
        lab.wait(10 * SECOND)
        seen.append([name for name in "abc" if lab.state(name) == ONGOING])

    assert seen == [["b", "c"], ["b"], [], []]


def test_when_an_open_transaction_will_be_aborted_is_known() -> None:
    """It is the pass at which it is overdue."""
    lab = Transactions()
    start_ms = lab.now.wall_ms
    producer = lab.producer(timeout_ms=12_000)
    timeouts = lab.shard().timeouts

    before = timeouts.abort_ms(lab.transaction(), lab.now)
    lab.add(producer)

    assert before is None
    assert timeouts.abort_ms(lab.transaction(), lab.now) == start_ms + 20_000


def test_a_test_may_abort_an_open_transaction() -> None:
    """As if it were overdue; there is nothing to abort in other states."""
    lab = Transactions()
    assert not lab.shard().abort("x", "aborted by a test", lab.now)
    producer = lab.bring_to(ONGOING)
    lab.transitions()

    was_aborted = lab.shard().abort("x", "aborted by a test", lab.now)
    again = lab.shard().abort("x", "aborted by a test", lab.now)

    assert (was_aborted, again, lab.state()) == (True, False, PREPARE_ABORT)
    assert [each.reason for each in lab.transitions()] == ["aborted by a test"]
    assert lab.transaction().producer == Producer(producer.id, 1)


@pytest.mark.rules("TX-23", "TX-24")
def test_a_clock_that_went_back_does_not_delay_the_passes() -> None:
    """Passes come as soon as they would have; the transaction is overdue when its time has come again."""
    lab = Transactions()
    lab.add(lab.producer(timeout_ms=5_000))
    lab.now = Instant(lab.now.wall_ms - HOUR, lab.now.mono_ms)
    lab.cluster.wall_time_went_back(HOUR, lab.now)

    lab.wait(20 * SECOND)
    early = lab.state()
    lab.wait(HOUR)

    assert (early, lab.state()) == (ONGOING, COMPLETE_ABORT)


@pytest.mark.rules("TX-24")
@pytest.mark.parametrize("state", [EMPTY, COMPLETE_COMMIT, COMPLETE_ABORT])
def test_an_idle_id_is_forgotten(state: str) -> None:
    """After a week, at the next hour, with a tombstone; requests then know nothing of it."""
    lab = Transactions()
    producer = lab.bring_to(state)

    lab.wait(WEEK - HOUR)
    before = lab.state()
    lab.wait(2 * HOUR)

    assert (before, lab.state()) == (state, DEAD)
    assert lab.entries()[-1].value is None
    assert lab.add(producer) is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert lab.producer() == Producer(1, 0)


@pytest.mark.rules("TX-24")
def test_an_open_transaction_is_never_forgotten_and_use_prolongs_an_id() -> None:
    """An id expires a week after its last change."""
    lab = Transactions({"transaction.max.timeout.ms": 2**31 - 1})
    lab.add(lab.producer("open", timeout_ms=2**31 - 1), name="open")
    lab.producer("used")
    lab.wait(WEEK - HOUR)
    lab.producer("used")
    lab.wait(DAY)

    assert (lab.state("open"), lab.state("used")) == (ONGOING, EMPTY)

"""The initial delay and its extension (JG-30..JG-32, JG-37)."""

import pytest

from tests.support.groups import COMPLETING, EMPTY, PREPARING, OneGroup


@pytest.mark.rules("JG-30")
def test_an_empty_group_waits(lab: OneGroup) -> None:
    """The first rebalance waits the initial delay though nobody is missing."""
    join = lab.join()
    lab.wait(2999)
    assert join.is_parked
    lab.wait(1)

    assert join.generation == 1


@pytest.mark.rules("JG-30")
def test_no_delay() -> None:
    """With a delay of 0 the first member does not wait."""
    lab = OneGroup({"group.initial.rebalance.delay.ms": 0})

    assert lab.join().generation == 1


@pytest.mark.rules("JG-31")
@pytest.mark.parametrize(
    ("rebalance", "joins_at", "completes_at"),
    [
        (10_000, [1000], 6000),
        (10_000, [1000, 2000], 6000),
        (10_000, [1000, 4000, 7000, 9500], 10_000),
        (10_000, [1000, 7000], 6000),
        (5000, [1000], 5000),
        (3000, [1000], 3000),
        (1000, [500], 3000),
        (7000, [2999, 5999], 7000),
        (7000, [3001], 3000),
    ],
)
def test_extension(lab: OneGroup, rebalance: int, joins_at: list[int], completes_at: int) -> None:
    """Each window with a new member adds another, as long as the rebalance timeout leaves something to add."""
    first = lab.join(rebalance=rebalance)
    for at_ms in joins_at:
        lab.wait_until(at_ms)
        lab.join(rebalance=rebalance)
    lab.wait_until(20_000)

    assert first.at_ms == completes_at


@pytest.mark.rules("JG-31", "JG-36")
def test_the_cap_is_the_rebalance_timeout_at_the_start(lab: OneGroup) -> None:
    """Later members with longer timeouts do not lengthen the delay."""
    first = lab.join(rebalance=4000)
    for at_ms in (1000, 3500):
        lab.wait_until(at_ms)
        lab.join(rebalance=60_000)
    lab.wait_until(10_000)

    assert first.at_ms == 4000


@pytest.mark.rules("JG-32")
def test_what_does_not_extend(lab: OneGroup) -> None:
    """The first member itself, a second join of a member, a handed-out id and a leaver extend nothing."""
    first = lab.ask_for_id()
    lab.join(first)
    lab.wait(500)
    again = lab.join(first)
    lab.leave(lab.ask_for_id())
    lab.ask_for_id()
    lab.wait_until(3000)

    assert again.at_ms == 3000


@pytest.mark.rules("JG-32")
def test_a_join_outside_of_the_delay_extends_nothing(lab: OneGroup) -> None:
    """A member that is added to a rebalance of another state says nothing about the next delay."""
    a, b = lab.stable({}, {})
    lab.join(a)
    c = lab.join()
    lab.join(b)
    lab.leave(a, b, c.member_id)
    start = lab.ms
    join = lab.join()
    lab.wait(10_000)

    assert join.at_ms == start + 3000


@pytest.mark.rules("JG-32")
@pytest.mark.parametrize(("release", "completes_after"), [("4.3", 6000), ("3.9", 3000)])
def test_extension_after_the_first_generation(release: str, completes_after: int) -> None:
    """Kafka 4.3.1 extends at any generation, 3.9.1 only that of a new group."""
    lab = OneGroup(as_release=release)
    lab.leave(*lab.stable({}))
    start = lab.ms
    join = lab.join()
    lab.wait(100)
    lab.join()
    lab.wait(10_000)

    assert join.at_ms == start + completes_after


@pytest.mark.rules("JG-31", "JG-32")
def test_a_join_in_the_last_window_counts_for_the_next_delay(lab: OneGroup) -> None:
    """As in Kafka, what could not extend a delay any more extends the group's next one."""
    joins = [lab.join(rebalance=1000), lab.join(rebalance=1000)]
    lab.wait(3000)
    lab.leave(*[join.member_id for join in joins])
    start = lab.ms
    join = lab.join(rebalance=10_000)
    lab.wait(10_000)

    assert join.at_ms == start + 6000


@pytest.mark.rules("JG-31", "LG-11", "LG-7")
def test_all_leave_and_another_joins(lab: OneGroup) -> None:
    """The group stays in PreparingRebalance without members, and the running timer serves who comes next."""
    first = lab.ask_for_id()
    lab.join(first)
    lab.wait(1000)
    lab.leave(first)
    assert (lab.group.state, lab.group.generation, len(lab.group.members)) == (PREPARING, 0, 0)
    lab.wait(1000)
    join = lab.join()
    lab.wait(10_000)

    assert join.at_ms == 6000


@pytest.mark.rules("LG-11")
def test_all_leave(lab: OneGroup) -> None:
    """When the timer fires and nobody is there, the group is Empty."""
    first = lab.ask_for_id()
    lab.join(first)
    lab.leave(first)
    lab.wait(2999)
    assert lab.group.state == PREPARING
    lab.wait(1)

    assert (lab.group.state, lab.group.generation) == (EMPTY, 1)


@pytest.mark.rules("JG-37")
@pytest.mark.parametrize(("release", "completes_at"), [("4.3", 1000), ("3.9", 3000)])
def test_a_pending_id_times_out_in_the_delay(release: str, completes_at: int) -> None:
    """In 4.3.1 that ends the delay if all members are parked; in 3.9.1 the delay goes on."""
    lab = OneGroup({"group.min.session.timeout.ms": 1}, as_release=release)
    join = lab.join()
    lab.ask_for_id(session=1000)
    lab.wait(5000)

    assert join.at_ms == completes_at


@pytest.mark.rules("JG-37")
def test_another_pending_id_keeps_the_delay(lab: OneGroup) -> None:
    """While a second id is pending, the first one's timeout ends nothing and moves no timer."""
    join = lab.join()
    lab.ask_for_id(session=1000)
    lab.ask_for_id(session=60_000)
    lab.wait(20_000)

    assert join.at_ms == 3000


@pytest.mark.rules("JG-37", "LG-4", "LG-7")
def test_leaving_does_not_shorten_the_delay(lab: OneGroup) -> None:
    """Neither a pending id nor a member that leaves ends the delay early."""
    join = lab.join()
    second = lab.ask_for_id()
    lab.join(second)
    third = lab.ask_for_id()
    lab.wait(500)
    lab.leave(third)
    lab.leave(second)
    assert join.is_parked
    lab.wait(10_000)

    assert (join.at_ms, lab.group.state) == (6000, COMPLETING)

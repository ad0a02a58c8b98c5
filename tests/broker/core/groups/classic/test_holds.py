"""Holds: a test keeps a join phase or a sync phase from ending, and decides how it ends."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.core.groups.classic.holds import Phase
from fakebroker.broker.core.groups.classic.messages import JoinAnswer, Leaver
from fakebroker.protocol.errors import ErrorCode
from tests.support.groups import COMPLETING, EMPTY, PREPARING, STABLE, OneGroup
from tests.support.parked import Parked

NO_DELAY: dict[str, object] = {"group.initial.rebalance.delay.ms": 0}
DELAY_MS = 3000  # group.initial.rebalance.delay.ms
REBALANCE_MS = 60_000


@pytest.fixture
def lab() -> OneGroup:
    """Without an initial delay: the first member alone would make a generation at once."""
    return OneGroup(NO_DELAY)


def answered(joins: list[Parked[Any]]) -> list[ErrorCode | None]:
    return [None if join.is_parked else join.code for join in joins]


def answer_order(lab: OneGroup, count: int) -> tuple[list[Parked[Any]], list[str]]:
    """Members of clients c1, c2, ... that have joined; the list fills with client ids when their answers come."""
    order: list[str] = []
    joins = []
    for number in range(1, count + 1):
        join = lab.join(client=f"c{number}")
        joins.append(join)
    for member in lab.group.members.values():
        lab.group.members.park_join(member, noting(member.parked_join, member.client_id, order))
    return joins, order


def noting(answer: Callable[[JoinAnswer], None] | None, name: str, order: list[str]) -> Callable[[JoinAnswer], None]:
    assert answer is not None

    def note(what: JoinAnswer) -> None:
        order.append(name)
        answer(what)

    return note


def test_the_join_phase_waits_for_so_many_members(lab: OneGroup) -> None:
    """However long it takes; all get into one generation, and the hold has ended."""
    lab.hold(Phase.JOIN, 3)
    joins = [lab.join(client="a"), lab.join(client="b")]
    lab.wait(2 * REBALANCE_MS)
    assert (lab.group.state, answered(joins)) == (PREPARING, [None, None])
    joins.append(lab.join(client="c"))

    assert answered(joins) == [ErrorCode.NONE] * 3
    assert (lab.group.state, lab.group.generation, lab.holds) == (COMPLETING, 1, {"g": {}})
    assert lab.reasons[-1] == "the join phase ended, which a test had held"


@pytest.mark.rules("JG-30")
def test_enough_members_do_not_shorten_the_initial_delay() -> None:
    """A hold only lengthens: with the number reached the phase ends when Kafka's would."""
    lab = OneGroup()
    lab.hold(Phase.JOIN, 2)
    joins = [lab.join(), lab.join()]
    lab.wait(DELAY_MS - 1)
    assert answered(joins) == [None, None]
    lab.wait(2 * DELAY_MS)

    assert answered(joins) == [ErrorCode.NONE] * 2
    assert lab.group.generation == 1


def test_members_that_come_after_the_initial_delay_are_let_in() -> None:
    """The delay is over while the hold goes on; the last member ends it at once."""
    lab = OneGroup()
    lab.hold(Phase.JOIN, 2)
    first = lab.join()
    lab.wait(100_000)
    second = lab.join()

    assert (answered([first, second]), second.at_ms) == ([ErrorCode.NONE] * 2, 100_000)


def test_a_hold_without_a_number_ends_when_it_is_released(lab: OneGroup) -> None:
    """Answers come in the order that was chosen, and who was chosen leads."""
    lab.hold(Phase.JOIN)
    joins, order = answer_order(lab, 4)
    lab.release(Phase.JOIN, "c3", "c1", leader="c4")

    assert order == ["c3", "c1", "c2", "c4"]
    leader = joins[3].member_id
    assert [join.leader for join in joins] == [leader] * 4
    assert [len(join.members) for join in joins] == [0, 0, 0, 4]


def test_a_hold_with_a_number_waits_for_those_it_names(lab: OneGroup) -> None:
    """Three have joined, but not the one that is to lead."""
    lab.hold(Phase.JOIN, 2, "b", leader="b")
    joins = [lab.join(client="a"), lab.join(client="c"), lab.join(client="d")]
    assert answered(joins) == [None] * 3
    joins.append(lab.join(client="b"))

    assert {join.leader for join in joins} == {joins[-1].member_id}


def test_static_members_are_named_by_their_instance_id(lab: OneGroup) -> None:
    """As well as by client id and member id."""
    lab.hold(Phase.JOIN)
    joins = [lab.join(instance="i1"), lab.join(instance="i2")]
    lab.release(Phase.JOIN, leader="i2")

    assert joins[0].leader == joins[1].member_id


def test_a_released_join_phase_waits_for_members_that_kafka_waits_for() -> None:
    """In a rebalance whose join timer runs the choice is kept until the phase ends."""
    lab = OneGroup()
    a, b = lab.stable({"client": "a"}, {"client": "b"})
    lab.hold(Phase.JOIN)
    join = lab.join(b, client="b", protocols=(("range", b"other"),))
    lab.release(Phase.JOIN, leader="b")
    assert join.is_parked
    lab.wait(1000)
    other = lab.join(a, client="a")

    assert (join.leader, other.leader, lab.group.generation) == (b, b, 2)


@pytest.mark.rules("TM-5")
def test_a_phase_that_is_overdue_ends_when_it_is_released() -> None:
    """The join timer fired meanwhile: who has not joined again is removed, as it would have been."""
    lab = OneGroup()
    _, b = lab.stable({"session": 600_000}, {"session": 600_000})
    lab.hold(Phase.JOIN)
    join = lab.join(b, session=600_000, protocols=(("range", b"other"),))
    lab.wait(REBALANCE_MS + 1)
    assert (join.is_parked, len(lab.group.members)) == (True, 2)
    lab.release(Phase.JOIN)

    assert (join.code, list(lab.group.members), lab.group.generation) == (ErrorCode.NONE, [b], 2)


def test_a_group_that_everybody_leaves_becomes_empty(lab: OneGroup) -> None:
    """Nobody waits, so nothing is held; the hold is there for those who come next."""
    lab.hold(Phase.JOIN, 2)
    lab.join(client="a")
    lab.leave(*lab.group.members)
    assert lab.group.state == EMPTY
    assert lab.join(client="b").is_parked
    lab.join(client="c")
    assert len(lab.group.members) == 2
    assert lab.group.state == COMPLETING


@pytest.mark.rules("TM-3")
def test_a_hold_does_not_prolong_the_life_of_a_new_member(lab: OneGroup) -> None:
    """After five minutes a member that was never in a generation is gone, as in Kafka."""
    lab.hold(Phase.JOIN)
    join = lab.join()
    lab.wait(300_000)

    assert (join.code, lab.group.state) == (ErrorCode.UNKNOWN_MEMBER_ID, EMPTY)


def test_a_chosen_leader_that_left_is_replaced() -> None:
    """The choice of a released hold is for members that are there when the phase ends."""
    lab = OneGroup()
    a, b = lab.stable({"client": "a"}, {"client": "b"})
    lab.hold(Phase.JOIN)
    lab.join(b, client="b", protocols=(("range", b"other"),))
    lab.release(Phase.JOIN, leader="b")
    lab.leave(b)
    assert lab.join(a, client="a").leader == a


# -- syncs -------------------------------------------------------------------------------------------------------------


def test_the_assignment_waits_for_so_many_members(lab: OneGroup) -> None:
    """The leader's SyncGroup waits like the others; then all are answered, in the order that was chosen."""
    lab.hold(Phase.JOIN, 2)
    lab.hold(Phase.SYNC, 2, "b")
    a, b = lab.join(client="a").answer, lab.join(client="b")
    assert a is None
    first, second = lab.group.members
    leader = lab.sync(first, {first: b"x", second: b"y"})
    assert (lab.group.state, leader.is_parked, lab.written) == (COMPLETING, True, [])
    follower = lab.sync(second)

    assert (leader.assignment, follower.assignment, b.leader) == (b"x", b"y", first)
    assert (lab.group.state, len(lab.written), lab.holds) == (STABLE, 1, {"g": {}})
    assert lab.reasons[-1] == "the leader's assignment was stored, which a test had held"


def test_held_syncs_wait_until_they_are_released(lab: OneGroup) -> None:
    """Also the only member's; a release before the leader's SyncGroup leaves nothing to wait for."""
    lab.hold(Phase.SYNC)
    member = lab.join().member_id
    sync = lab.sync(member, {member: b"x"})
    assert sync.is_parked
    lab.wait(10 * REBALANCE_MS)
    assert sync.is_parked
    lab.release(Phase.SYNC)
    assert sync.assignment == b"x"

    lab.join(member, protocols=(("range", b"other"),))
    lab.hold(Phase.SYNC)
    lab.release(Phase.SYNC)
    assert lab.sync(member, {member: b"y"}).assignment == b"y"


@pytest.mark.rules("ST-10")
def test_a_rebalance_drops_the_held_assignment(lab: OneGroup) -> None:
    """Whoever waits is told to join again, and the hold is there for the next sync phase."""
    lab.hold(Phase.SYNC)
    a = lab.join().member_id
    sync = lab.sync(a, {a: b"x"})
    lab.join(client="b")
    assert sync.code == ErrorCode.REBALANCE_IN_PROGRESS
    lab.join(a)
    assert lab.group.state == COMPLETING
    again = lab.sync(a, {a: b"y"})
    assert (again.is_parked, lab.group.held_assignment is not None) == (True, True)


@pytest.mark.rules("TM-6")
def test_a_member_that_never_syncs_is_removed_from_a_held_phase(lab: OneGroup) -> None:
    """The sync timer runs as ever."""
    lab.hold(Phase.JOIN, 2)
    lab.hold(Phase.SYNC)
    lab.join(session=600_000)
    lab.join(session=600_000)
    a, b = lab.group.members
    sync = lab.sync(a, {})
    lab.wait(REBALANCE_MS)

    assert (sync.code, b in lab.group.members) == (ErrorCode.REBALANCE_IN_PROGRESS, False)


# -- what a test does to a group ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("state", "becomes"), [(COMPLETING, PREPARING), (STABLE, PREPARING), (PREPARING, PREPARING)])
def test_a_rebalance_is_started(state: str, becomes: str) -> None:
    """Members learn of it by their Heartbeat."""
    lab = OneGroup()
    a, _ = lab.in_state(state)
    lab.group.request_rebalance(lab.now, "because")

    assert lab.group.state == becomes
    assert lab.heartbeat(a) == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_group_without_members_does_not_rebalance(lab: OneGroup) -> None:
    """There is nobody who could join."""
    lab.group.request_rebalance(lab.now, "because")
    assert lab.path == []


def test_an_evicted_member_is_gone() -> None:
    """Also one whose request waits, which gets the error."""
    lab = OneGroup()
    a, b = lab.in_state(COMPLETING)
    sync = lab.sync(b)
    lab.group.evict(b, lab.now)

    assert (sync.code, list(lab.group.members), lab.group.state) == (ErrorCode.UNKNOWN_MEMBER_ID, [a], PREPARING)
    assert lab.reasons[-1] == f"member {b} was evicted by a test"
    assert lab.leave(Leaver(b)) == [ErrorCode.UNKNOWN_MEMBER_ID]

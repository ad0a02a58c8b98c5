"""The state machine: what moves a group, and what each move does (ST)."""

import pytest

from fakebroker.broker.core.events import Transition
from fakebroker.broker.core.groups.classic.states import TRANSITIONS, GroupInput, State, Trigger
from fakebroker.broker.core.groups.classic.table import HANDLERS
from fakebroker.protocol.errors import ErrorCode
from tests.support.groups import COMPLETING, EMPTY, PREPARING, STABLE, OneGroup


@pytest.mark.rules("ST-2")
def test_a_new_group(lab: OneGroup) -> None:
    """A new group is Empty at generation 0 and has no type, protocol, leader or members."""
    group = lab.group

    assert (group.state, group.generation, group.is_empty) == (EMPTY, 0, True)
    assert (group.protocol_type, group.protocol, group.leader, len(group.members)) == (None, None, None, 0)


def test_the_table_covers_every_state() -> None:
    """Every move starts and ends in a state; every state but Dead hears requests; Dead leads nowhere."""
    assert {state for state, _ in TRANSITIONS} == set(State) - {State.DEAD}
    assert set(TRANSITIONS.values()) == set(State)
    assert {move for _, move in TRANSITIONS} == set(Trigger)
    assert {event for handlers in HANDLERS.values() for event in handlers} == set(GroupInput)
    assert HANDLERS[State.DEAD] == {}


def test_an_impossible_pair_is_an_internal_error(lab: OneGroup) -> None:
    """What the table does not list is an error of ours, and says what met what."""
    with pytest.raises(AssertionError, match=r"Empty.*cannot meet JOIN_TIMER"):
        lab.group.join_timer.action(lab.now)
    with pytest.raises(KeyError):
        lab.group.transition(Trigger.ASSIGNMENT_STORED, lab.now, "by mistake")


@pytest.mark.rules("ST-3")
def test_the_protocol_type_stays(lab: OneGroup) -> None:
    """An emptied group keeps its protocol type until the next first member brings another."""
    lab.leave(*lab.stable({}))
    assert lab.group.protocol_type == "consumer"

    lab.join(type="connect")

    assert lab.group.protocol_type == "connect"


@pytest.mark.rules("ST-4")
def test_every_transition_stamps_the_time(lab: OneGroup) -> None:
    """The state timestamp is the wall time of the last transition, whichever it was."""
    group = lab.group
    stamps = [group.state_ms]
    lab.wait(10)
    lab.join()
    stamps.append(group.state_ms)
    lab.wait(3000)
    stamps.append(group.state_ms)
    lab.wait(100)
    lab.sync("c-1")
    stamps.append(group.state_ms)

    start = stamps[0]
    assert [stamp - start for stamp in stamps] == [0, 10, 3010, 3110]


@pytest.mark.rules("ST-5", "ST-6", "ST-9", "ST-11")
def test_a_sole_leader_rejoins_alone(lab: OneGroup) -> None:
    """With nobody missing the join phase ended at once, with a new generation."""
    (a,) = lab.stable({})

    join = lab.join(a)

    assert (join.at_ms, join.generation, lab.group.state) == (lab.ms, 2, COMPLETING)


@pytest.mark.rules("ST-6")
def test_becoming_empty_is_a_generation_and_a_record(lab: OneGroup) -> None:
    """The last member's departure counts as a generation; protocol and leader are gone, and that is stored."""
    lab.leave(*lab.stable({}))

    value = lab.written[-1]
    assert (lab.group.state, lab.group.generation) == (EMPTY, 2)
    assert value[:5] == ("consumer", 2, None, None, lab.now.wall_ms)
    assert value.members == ()


@pytest.mark.rules("ST-7", "SG-6")
def test_stable_only_once_stored(lab: OneGroup) -> None:
    """While the assignment is appended, followers and leader are parked and the state has not changed."""
    a, b = lab.completing({}, {})
    seen: list[tuple[str, list[bool]]] = []
    members = lab.group.members.values()
    lab.on_write = lambda: seen.append((lab.group.state, [member.parked_sync is not None for member in members]))

    syncs = [lab.sync(b), lab.sync(a, {a: b"1", b: b"2"})]

    assert seen == [(COMPLETING, [True, True])]
    assert [sync.assignment for sync in syncs] == [b"2", b"1"]
    assert lab.group.state == STABLE


@pytest.mark.rules("ST-8")
@pytest.mark.parametrize(
    ("code", "answered"),
    [
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
        (ErrorCode.RECORD_LIST_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
        (ErrorCode.INVALID_FETCH_SIZE, ErrorCode.UNKNOWN_SERVER_ERROR),
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
    ],
)
def test_storing_the_assignment_fails(lab: OneGroup, code: ErrorCode, answered: ErrorCode) -> None:
    """Everybody parked learns of it, assignments are emptied, and a rebalance starts."""
    a, b = lab.stable({}, {})
    lab.join(a), lab.join(b)
    lab.write_result = code

    syncs = [lab.sync(b), lab.sync(a, {a: b"1", b: b"2"})]

    assert [(sync.code, sync.assignment) for sync in syncs] == [(answered, b"")] * 2
    assert [member.assignment for member in lab.group.members.values()] == [b"", b""]
    assert lab.group.state == PREPARING
    assert lab.reasons[-1] == f"storing the assignment failed with {code.name}"


@pytest.mark.rules("ST-9", "JG-17")
def test_a_handed_out_id_blocks_completion(lab: OneGroup) -> None:
    """The join phase is not over while an id was handed out and has not joined."""
    (a,) = lab.stable({})
    pending = lab.ask_for_id()

    join = lab.join(a)
    assert join.is_parked
    lab.join(pending)

    assert (join.generation, len(join.members)) == (2, 2)


@pytest.mark.rules("ST-10", "SG-10", "TM-1")
def test_a_rebalance_cancels_the_sync_phase(lab: OneGroup) -> None:
    """Parked syncs get 27, assignments are emptied, no SyncGroup is pending any more, the sync timer is off."""
    a, b = lab.stable({}, {"rebalance": 20_000})
    lab.join(a), lab.join(b)
    sync = lab.sync(b)
    lab.wait(100)

    lab.join()

    assert (sync.code, sync.assignment, sync.protocol) == (ErrorCode.REBALANCE_IN_PROGRESS, b"", None)
    assert {member.assignment for member in lab.group.members.values()} == {b""}
    assert (lab.group.pending_sync_members, lab.group.sync_timer.due_ms) == ({}, None)
    assert lab.group.members[b].session.due_ms == lab.now.mono_ms + 10_000


@pytest.mark.rules("ST-12", "JG-33")
def test_the_longest_standing_member_leads_next(lab: OneGroup) -> None:
    """A leader that leaves is followed by the member that joined first; one that stays away by the first that came."""
    a, b, c = lab.stable({}, {}, {})
    lab.leave(a)
    assert lab.group.leader == b

    join = lab.join(c)
    lab.wait(10_000)

    assert (join.leader, lab.group.leader, list(lab.group.members)) == (c, c, [c])


@pytest.mark.rules("ST-12")
def test_the_longest_standing_of_those_who_rejoined_leads(lab: OneGroup) -> None:
    """A static leader that stays away stays a member, and is replaced by the oldest member that came back."""
    soon = {"rebalance": 5000}
    a, b, c = lab.stable({"instance": "i", **soon}, soon, soon)
    lab.leave(lab.ask_for_id())
    joins = [lab.join(c, **soon), lab.join(b, **soon)]
    lab.wait(5000)

    assert [join.leader for join in joins] == [b, b]
    assert list(lab.group.members) == [a, b, c]


@pytest.mark.rules("ST-13", "JG-10")
def test_dead_answers_15(lab: OneGroup) -> None:
    """A request that still meets a Dead group gets 15."""
    lab.group.die(lab.now)

    dead = ErrorCode.COORDINATOR_NOT_AVAILABLE
    join = lab.join("somebody")
    assert (join.code, join.member_id, lab.join().member_id) == (dead, "somebody", "")
    assert lab.sync("somebody").code == dead
    assert lab.heartbeat("somebody") == dead
    assert lab.leave("somebody") == [dead]


@pytest.mark.rules("ST-14")
def test_unloading_answers_what_is_parked(lab: OneGroup) -> None:
    """Parked joins get 16 with their member's id, parked syncs 16; no timer of the group is left."""
    a, b = lab.stable({}, {})
    pending = lab.ask_for_id()
    join = lab.join(a)

    lab.group.unload(lab.now)

    assert (join.code, join.member_id, join.generation) == (ErrorCode.NOT_COORDINATOR, a, -1)
    assert (lab.group.state, len(lab.timers.mono), pending in lab.group.pending_join_members) == ("Dead", 0, False)

    other = OneGroup()
    a, b = other.completing({}, {})
    sync = other.sync(b)
    other.group.unload(other.now)
    assert (sync.code, len(other.timers.mono)) == (ErrorCode.NOT_COORDINATOR, 0)


def test_transitions_tell_their_cause(lab: OneGroup) -> None:
    """Each transition is emitted with its states, its generation and one clause that says why."""
    (a,) = lab.stable({"reason": "just started"})
    lab.leave(a)

    assert lab.path == [PREPARING, COMPLETING, STABLE, PREPARING, EMPTY]
    assert lab.reasons == [
        f"member {a} joined (just started)",
        "the join phase ended",
        "the leader's assignment was stored",
        f"member {a} left",
        f"member {a} left; no members are left",
    ]
    assert [event.generation for event in lab.events if isinstance(event, Transition)] == [0, 1, 1, 1, 2]

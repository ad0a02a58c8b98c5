"""Static members (JG-18, JG-20, JG-22..JG-25)."""

import pytest

from fakebroker.broker.core.groups.classic.messages import Leaver
from fakebroker.protocol.errors import ErrorCode
from tests.support.groups import COMPLETING, PREPARING, RANGE, STABLE, OneGroup

FENCED, UNKNOWN = ErrorCode.FENCED_INSTANCE_ID, ErrorCode.UNKNOWN_MEMBER_ID
STICKY = ("sticky", b"s")
BOTH = [*RANGE, STICKY]


@pytest.mark.rules("JG-18")
def test_no_handshake(lab: OneGroup) -> None:
    """A new instance id is a member at once, also where a dynamic member would have to fetch an id."""
    assert lab.join(instance="i", handshake=True).is_parked
    assert list(lab.group.members.static) == ["i"]


@pytest.mark.rules("JG-20")
@pytest.mark.parametrize("state", [PREPARING, COMPLETING, STABLE])
def test_instance_ids_are_checked(lab: OneGroup, state: str) -> None:
    """An unknown instance id is 25; one registered for another member is 82, also if the sent id never was a member."""
    a, s = lab.in_state(state, instance="i")

    for member_id, instance, code in [(s, "other", UNKNOWN), (a, "i", FENCED), ("stranger", "i", FENCED)]:
        join = lab.join(member_id, instance=instance)
        assert (join.code, join.member_id) == (code, member_id)
        assert lab.sync(member_id, instance=instance).code == code
        assert lab.heartbeat(member_id, instance=instance) == code
        assert lab.leave(Leaver(member_id, instance)) == [code]
        assert lab.group.error_for_member(member_id, instance, 1) == code


@pytest.mark.rules("JG-20")
def test_a_static_member_may_leave_its_instance_id_out(lab: OneGroup) -> None:
    """The member id alone is enough."""
    _, s = lab.stable({}, {"instance": "i"})

    assert lab.join(s).generation == 1
    assert lab.heartbeat(s) == lab.sync(s).code == ErrorCode.NONE


@pytest.mark.rules("JG-22", "JG-23", "CR-12")
def test_a_follower_returns_to_a_stable_group(lab: OneGroup) -> None:
    """It gets a new id and keeps its place and assignment; nobody rejoins; the group is stored before the answer."""
    a, s, c = lab.stable({}, {"instance": "i"}, {})
    parked: list[bool] = []
    lab.on_write = lambda: parked.extend(member.parked_join is not None for member in lab.group.members.values())

    join = lab.join(instance="i", client="new")

    assert (parked, len(lab.written)) == ([False, True, False], 2)
    new = join.member_id
    assert join.answer == (ErrorCode.NONE, "i-4", 1, "consumer", "range", a, (), False)
    assert (lab.group.state, list(lab.group.members), lab.group.members.static["i"]) == (STABLE, [a, new, c], new)
    assert [member.member_id for member in lab.written[-1].members] == [a, new, c]
    assert lab.sync(new).assignment == s.encode()
    assert lab.group.members[new].client_id == "c"  # DS-6
    assert lab.heartbeat(s) == UNKNOWN
    assert lab.heartbeat(s, instance="i") == FENCED


@pytest.mark.rules("JG-23")
def test_a_leader_returns_to_a_stable_group(lab: OneGroup) -> None:
    """From v9 on it gets all members and has to skip the assignment."""
    _s, b = lab.stable({"instance": "i"}, {})

    join = lab.join(instance="i")

    new = join.member_id
    assert (join.leader, join.skip_assignment, lab.group.leader) == (new, True, new)
    assert [member.member_id for member in join.members] == [new, b]


@pytest.mark.rules("JG-23")
def test_an_older_leader_does_not_recognise_itself(lab: OneGroup) -> None:
    """Before v9 it gets the leader's former id and no members, so that it does not assign."""
    s, _ = lab.stable({"instance": "i"}, {})

    join = lab.join(instance="i", skips=False)

    assert (join.leader, join.members, join.skip_assignment) == (s, (), False)
    assert lab.group.leader == join.member_id


@pytest.mark.rules("JG-24")
def test_a_return_that_changes_the_protocol_rebalances(lab: OneGroup) -> None:
    """If with the new list another protocol would be chosen everybody has to rejoin."""
    _a, _s = lab.stable({"protocols": BOTH}, {"protocols": BOTH, "instance": "i"})
    lab.join(instance="i", protocols=list(RANGE))
    assert lab.group.state == STABLE

    join = lab.join(instance="i", protocols=[STICKY, *RANGE])

    assert (join.is_parked, lab.group.state) == (True, PREPARING)  # one vote each, and the tie goes to sticky
    assert lab.reasons[-1] == "static member i returned"


@pytest.mark.rules("JG-24", "JG-22")
def test_a_return_in_completing_rebalances(lab: OneGroup) -> None:
    """The others' parked syncs get 27, the old id's own sync 82."""
    _a, b, s = lab.completing({}, {}, {"instance": "i"})
    syncs = [lab.sync(b), lab.sync(s)]

    join = lab.join(instance="i")

    assert [sync.code for sync in syncs] == [ErrorCode.REBALANCE_IN_PROGRESS, FENCED]
    assert (join.is_parked, lab.group.state) == (True, PREPARING)


@pytest.mark.rules("JG-22", "JG-24")
def test_a_return_in_preparing_is_parked(lab: OneGroup) -> None:
    """The old id's parked join gets 82 with the old id; the new one waits in its place and counts as joined."""
    a, s = lab.stable({}, {"instance": "i"})
    old = lab.join(s, protocols=[("range", b"new")], instance="i")

    new = lab.join(instance="i")
    assert (old.code, old.member_id, new.is_parked) == (FENCED, s, True)
    lab.join(a)

    assert (new.generation, list(lab.group.members)) == (2, [a, new.member_id])


@pytest.mark.rules("JG-22", "JG-30")
def test_a_return_in_the_initial_delay(lab: OneGroup) -> None:
    """The delay goes on."""
    old = lab.join(instance="i")
    lab.wait(1000)
    new = lab.join(instance="i")
    lab.wait(5000)

    assert (old.code, old.at_ms, new.generation, new.at_ms) == (FENCED, 1000, 1, 3000)


@pytest.mark.rules("JG-22", "TM-1")
def test_a_return_restarts_the_session_with_the_old_timeout(lab: OneGroup) -> None:
    """The session counts from the return, but by the old timeout until the first heartbeat."""
    lab.stable({"session": 60_000}, {"instance": "i", "session": 7000})
    lab.wait(5000)
    new = lab.join(instance="i", session=20_000).member_id
    lab.wait(6999)
    assert new in lab.group.members
    lab.wait(1)
    assert new not in lab.group.members

    other = OneGroup()
    other.stable({"session": 60_000}, {"instance": "i", "session": 7000})
    new = other.join(instance="i", session=20_000).member_id
    other.wait(1000)
    other.heartbeat(new)
    other.wait(19_999)
    assert new in other.group.members
    other.wait(1)
    assert new not in other.group.members


@pytest.mark.rules("JG-25")
def test_the_return_cannot_be_stored(lab: OneGroup) -> None:
    """All is as it was, and the answer is the mapped error with the group's generation, protocol and leader."""
    s, b = lab.stable({"instance": "i", "session": 7000, "rebalance": 8000, "protocols": BOTH}, {"protocols": BOTH})
    lab.write_result = ErrorCode.REQUEST_TIMED_OUT

    join = lab.join(instance="i")

    assert join.answer == (ErrorCode.COORDINATOR_NOT_AVAILABLE, "", 1, "consumer", "range", s, (), False)
    member = lab.group.members[s]
    assert (member.session_timeout_ms, member.rebalance_timeout_ms, list(member.protocols)) == (7000, 8000, BOTH)
    assert (lab.group.leader, lab.group.members.static["i"], list(lab.group.members)) == (s, s, [s, b])
    assert lab.heartbeat(s, instance="i") == ErrorCode.NONE


@pytest.mark.rules("TM-6", "JG-23")
def test_a_return_while_a_sync_is_pending(lab: OneGroup) -> None:
    """As in Kafka the old id stays pending: the sync timer starts a rebalance but removes nobody."""
    a, s = lab.completing({"rebalance": 7000}, {"instance": "i", "rebalance": 7000})
    lab.sync(a, {a: b"", s: b""})
    new = lab.join(instance="i").member_id
    lab.sync(new)
    lab.wait(6999)
    assert lab.group.state == STABLE
    lab.wait(1)

    assert (lab.group.state, list(lab.group.members)) == (PREPARING, [a, new])

"""Timers, to the millisecond (TM)."""

import pytest

from fakebroker.protocol.errors import ErrorCode
from tests.support.groups import COMPLETING, EMPTY, PREPARING, STABLE, OneGroup

OK, UNKNOWN, REBALANCE = ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.REBALANCE_IN_PROGRESS


def lives_until(lab: OneGroup, member_id: str) -> int:
    """How many ms from now the member is still there if nothing more is heard of it."""
    start = lab.ms
    while member_id in lab.group.members:
        due = lab.timers.mono.next_due_ms()
        assert due is not None
        lab.wait(due - lab.now.mono_ms)
    return lab.ms - start


@pytest.mark.rules("TM-1", "JG-35")
def test_session_counts_from_the_join_answer(lab: OneGroup) -> None:
    """A successful join answer restarts the session; it ends exactly at the member's own session timeout."""
    _a, b = lab.completing({}, {"session": 7000})

    assert lives_until(lab, b) == 7000
    assert lab.group.state == PREPARING


@pytest.mark.rules("TM-1")
def test_session_counts_from_the_sync_answer(lab: OneGroup) -> None:
    """A sync answer restarts the session, however long the sync was parked."""
    a, b = lab.completing({}, {"session": 7000})
    sync = lab.sync(b)
    lab.wait(9000)
    assert sync.is_parked
    lab.sync(a)

    assert lives_until(lab, b) == 7000


@pytest.mark.rules("TM-1", "HB-5", "HB-6")
@pytest.mark.parametrize(("state", "answer"), [(STABLE, OK), (COMPLETING, OK), (PREPARING, REBALANCE)])
def test_session_counts_from_a_heartbeat(lab: OneGroup, state: str, answer: ErrorCode) -> None:
    """A heartbeat restarts the session in every state with members."""
    _, b = lab.in_state(state, session=7000)
    lab.wait(5000)

    assert lab.heartbeat(b) == answer
    assert lives_until(lab, b) == 7000


@pytest.mark.rules("TM-1", "HB-6")
def test_release_2_1_does_not_restart_it_in_completing() -> None:
    """A heartbeat that is answered 27 in CompletingRebalance leaves the session as it is."""
    lab = OneGroup(as_release="2.1")
    _, b = lab.completing({}, {"session": 7000})
    lab.wait(5000)

    assert lab.heartbeat(b) == REBALANCE
    assert lives_until(lab, b) == 2000


@pytest.mark.rules("TM-1")
def test_what_does_not_restart_the_session(lab: OneGroup) -> None:
    """An unchanged rejoin, a refused heartbeat and a sync in Stable leave the session as it is."""
    _, b = lab.stable({}, {"session": 7000, "instance": "i"})
    lab.wait(3000)

    assert lab.join(b, session=7000, instance="i").code == OK
    assert lab.heartbeat(b, generation=9) == ErrorCode.ILLEGAL_GENERATION
    assert lab.heartbeat("stranger", instance="i") == ErrorCode.FENCED_INSTANCE_ID
    assert lab.sync(b).code == OK
    assert lives_until(lab, b) == 4000


@pytest.mark.rules("TM-1")
def test_release_3_9_restarts_it_on_a_sync_in_stable() -> None:
    """Kafka 3.9.1 restarts the session on SyncGroup in Stable."""
    lab = OneGroup(as_release="3.9")
    _, b = lab.stable({}, {"session": 7000})
    lab.wait(3000)
    lab.sync(b)

    assert lives_until(lab, b) == 7000


@pytest.mark.rules("TM-2")
@pytest.mark.parametrize("state", [STABLE, COMPLETING])
def test_an_ended_session_starts_a_rebalance(lab: OneGroup, state: str) -> None:
    """Outside of the join phase a lost member means a rebalance."""
    a, b = lab.in_state(state, session=7000)
    lab.wait(6000)
    lab.heartbeat(a)
    lab.wait(1000)

    assert (lab.group.state, list(lab.group.members)) == (PREPARING, [a])
    assert lab.reasons[-1] == f"member {b} exceeded its session timeout"


@pytest.mark.rules("TM-2", "ST-9")
def test_an_ended_session_may_complete_the_join_phase(lab: OneGroup) -> None:
    """If only the lost member was missing, the join phase ended."""
    a, _b = lab.stable({}, {"session": 7000})
    join = lab.join(a)
    lab.wait(6999)
    assert join.is_parked
    lab.wait(1)

    assert (join.generation, [member.member_id for member in join.members]) == (2, [a])


@pytest.mark.rules("TM-2", "TM-6")
def test_nobody_parked_is_evicted_by_its_session(lab: OneGroup) -> None:
    """A parked join or sync keeps a member past its session timeout."""
    a, b = lab.stable({"session": 6000}, {"session": 6000})
    lab.join(a)
    for _ in range(5):  # b keeps its session alive but does not rejoin
        lab.wait(5000)
        assert lab.heartbeat(b) == REBALANCE
    assert a in lab.group.members

    join_b = lab.join(b)
    sync_b = lab.sync(b)
    for _ in range(5):
        lab.wait(5000)
        lab.heartbeat(a)
    assert (join_b.code, sync_b.is_parked, b in lab.group.members) == (OK, True, True)


@pytest.mark.rules("TM-3")
def test_a_new_members_join_lives_five_minutes(lab: OneGroup) -> None:
    """Until the join phase completes a new member has 300 s, whatever its session timeout; then its join gets 25."""
    a, b = lab.stable({"rebalance": 1_000_000}, {})
    new = lab.join(session=6000, rebalance=1_000_000)
    new_id = list(lab.group.members)[-1]
    for _ in range(299):
        lab.wait(1000)
        lab.heartbeat(a), lab.heartbeat(b)
    lab.wait(999)
    assert new.is_parked
    lab.wait(1)

    assert (new.code, new.member_id) == (UNKNOWN, "")
    assert new_id not in lab.group.members
    assert lab.group.state == PREPARING


@pytest.mark.rules("TM-3", "TM-1")
def test_a_new_member_that_heartbeats_has_its_session(lab: OneGroup) -> None:
    """As in Kafka a heartbeat sets a new member's timer to the session timeout, which removes it though parked."""
    lab.stable({}, {})
    new_id = lab.ask_for_id(session=6000)
    new = lab.join(new_id, session=6000)
    lab.wait(100)
    assert lab.heartbeat(new_id) == REBALANCE
    lab.wait(5999)
    assert new.is_parked
    lab.wait(1)

    assert (new.code, new.member_id) == (UNKNOWN, "")


@pytest.mark.rules("TM-4")
def test_a_pending_id_lives_its_session_timeout(lab: OneGroup) -> None:
    """A handed-out id is forgotten after the session timeout of its request; nothing prolongs that."""
    pending = lab.ask_for_id(session=7000)
    lab.wait(3000)
    assert lab.heartbeat(pending) == UNKNOWN
    lab.wait(3999)
    assert pending in lab.group.pending_join_members
    lab.wait(1)

    assert lab.join(pending).code == UNKNOWN


@pytest.mark.rules("TM-4")
def test_a_pending_timeout_may_complete_the_join_phase(lab: OneGroup) -> None:
    """If only the pending id was missing, the join phase ended when it is forgotten."""
    (a,) = lab.stable({})
    lab.ask_for_id(session=7000)
    join = lab.join(a)
    lab.wait(6999)
    assert join.is_parked
    lab.wait(1)

    assert join.generation == 2


@pytest.mark.rules("TM-4")
@pytest.mark.parametrize("state", [EMPTY, COMPLETING, STABLE])
def test_a_pending_timeout_elsewhere_is_nothing(lab: OneGroup, state: str) -> None:
    """Outside of the join phase an id that times out changes nothing."""
    lab.in_state(state, session=20_000)
    lab.ask_for_id(session=6000)
    generation = lab.group.generation
    lab.wait(6000)

    assert (lab.group.state, lab.group.generation, len(lab.group.pending_join_members)) == (state, generation, 0)


@pytest.mark.rules("TM-5", "JG-36")
def test_the_join_timer_is_the_longest_rebalance_timeout(lab: OneGroup) -> None:
    """It counts from the start of the rebalance; later joins and rejoins do not restart it."""
    a, b, c = lab.stable(*[{"rebalance": each, "session": 30_000} for each in (4000, 5000, 3000)])
    join = lab.join(a, rebalance=4000)
    start = lab.ms
    lab.wait(2000)
    lab.join(c, rebalance=9000)
    lab.wait(1000)
    lab.join(rebalance=9000)
    lab.wait(1999)
    assert join.is_parked
    lab.wait(1)

    assert (join.at_ms, b in lab.group.members) == (start + 5000, False)


@pytest.mark.rules("TM-6")
def test_members_that_never_sync_are_removed(lab: OneGroup) -> None:
    """They may heartbeat as they like: the sync timer, the longest rebalance timeout, ends them, static ones too."""
    a, b, c = lab.completing({"rebalance": 8000}, {"rebalance": 7000}, {"rebalance": 1000, "instance": "i"})
    lab.sync(a)
    lab.wait(4000)
    assert [lab.heartbeat(each) for each in (a, b, c)] == [OK] * 3
    lab.wait(3999)
    assert (lab.group.state, len(lab.group.members)) == (STABLE, 3)
    lab.wait(1)

    assert (lab.group.state, list(lab.group.members), dict(lab.group.members.static)) == (PREPARING, [a], {})
    assert lab.reasons[-1] == f"members {b}, {c} sent no SyncGroup in time"


@pytest.mark.rules("TM-6", "SG-9")
def test_the_sync_timer_ends_with_the_last_sync(lab: OneGroup) -> None:
    """It is cancelled once every member has synced, and a new generation disarms it."""
    a, b = lab.completing({}, {})
    lab.sync(a)
    assert lab.group.sync_timer.due_ms == lab.now.mono_ms + 60_000
    lab.sync(b)
    assert lab.group.sync_timer.due_ms is None

    lab.join(a), lab.join(b)
    lab.wait(1000)
    assert lab.group.sync_timer.due_ms is not None
    lab.join()
    assert lab.group.sync_timer.due_ms is None


@pytest.mark.rules("TM-7")
def test_the_join_timer_ignores_pending_ids(lab: OneGroup) -> None:
    """When the join timer fires the phase is over without them; their ids stay usable."""
    (a,) = lab.stable({"rebalance": 6000})
    pending = lab.ask_for_id(session=20_000)
    join = lab.join(a, rebalance=6000)
    lab.wait(6000)
    assert (join.generation, lab.group.state) == (2, COMPLETING)

    assert lab.join(pending).is_parked
    assert lab.group.state == PREPARING


@pytest.mark.rules("TM-9", "ST-6")
def test_all_members_removed_by_the_sync_timer(lab: OneGroup) -> None:
    """Then the group is Empty at once, one generation later, and the next members start another."""
    lab.completing({"session": 20_000, "rebalance": 6000})
    lab.wait(6000)
    assert (lab.group.state, lab.group.generation) == (EMPTY, 2)

    join = lab.join()
    lab.wait(3000)

    assert join.generation == 3

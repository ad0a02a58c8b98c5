"""LeaveGroup (LG)."""

import pytest

from fakebroker.broker.core.groups.classic.messages import Leaver
from fakebroker.protocol.errors import ErrorCode
from tests.support.groups import COMPLETING, EMPTY, PREPARING, STABLE, OneGroup

OK, UNKNOWN, FENCED = ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID
LIVE = [PREPARING, COMPLETING, STABLE]


@pytest.mark.rules("LG-3", "LG-5")
@pytest.mark.parametrize("state", LIVE)
def test_each_entry_on_its_own(lab: OneGroup, state: str) -> None:
    """By member id, by instance id alone, by both; strangers, empty ids and wrong pairs are refused one by one."""
    a, s = lab.in_state(state, instance="i")
    pending = lab.ask_for_id()

    codes = lab.leave(
        "stranger",
        "",
        Leaver("", "other"),
        Leaver(a, "i"),
        Leaver(s, "other"),
        pending,
        Leaver("", "i"),
        Leaver(s, "i"),
        a,
    )

    assert codes == [UNKNOWN, UNKNOWN, UNKNOWN, FENCED, UNKNOWN, OK, OK, UNKNOWN, OK]
    assert (len(lab.group.members), len(lab.group.pending_join_members)) == (0, 0)


@pytest.mark.rules("LG-4")
@pytest.mark.parametrize("state", [COMPLETING, STABLE])
@pytest.mark.parametrize(("release", "rebalances"), [("4.3", True), ("3.9", False)])
def test_a_pending_id_leaves(state: str, release: str, rebalances: bool) -> None:
    """4.3.1 starts a rebalance for it, which 3.9.1 does not."""
    lab = OneGroup(as_release=release)
    ids = lab.in_state(state)
    sync = lab.sync(ids[1])
    pending = lab.ask_for_id()

    assert lab.leave(pending) == [OK]

    assert (lab.group.state, list(lab.group.members)) == (PREPARING if rebalances else state, ids)
    if state == COMPLETING:
        assert sync.is_parked is not rebalances
    assert lab.join(pending).code == UNKNOWN


@pytest.mark.rules("LG-4")
def test_a_pending_id_leaves_an_empty_group(lab: OneGroup) -> None:
    """Nothing else happens."""
    assert lab.leave(lab.ask_for_id()) == [OK]

    assert (lab.group.state, lab.group.generation) == (EMPTY, 0)


@pytest.mark.rules("LG-4")
def test_a_pending_id_leaves_in_preparing(lab: OneGroup) -> None:
    """If only it was missing, the join phase ended."""
    (a,) = lab.stable({})
    pending = lab.ask_for_id()
    join = lab.join(a)
    assert join.is_parked

    lab.leave(pending)

    assert join.generation == 2


@pytest.mark.rules("LG-6")
def test_what_a_leaver_had_parked(lab: OneGroup) -> None:
    """Its join is answered 25 without an id; its sync 25 too, where Kafka forgets to answer."""
    a, b = lab.stable({}, {})
    join = lab.join(a)
    lab.leave(a)
    assert (join.code, join.member_id) == (UNKNOWN, "")

    other = OneGroup()
    a, b = other.completing({}, {})
    sync = other.sync(b)
    other.leave(b)
    assert (sync.code, sync.assignment) == (UNKNOWN, b"")


@pytest.mark.rules("LG-7")
@pytest.mark.parametrize("state", [COMPLETING, STABLE])
def test_a_departure_rebalances(lab: OneGroup, state: str) -> None:
    """Those who stay have to rejoin; parked syncs get 27."""
    a, b = lab.in_state(state)
    sync = lab.sync(a, {}) if state == STABLE else lab.sync(b)

    lab.leave(a if state == COMPLETING else b)

    assert (lab.group.state, len(lab.group.members)) == (PREPARING, 1)
    assert sync.code == (OK if state == STABLE else ErrorCode.REBALANCE_IN_PROGRESS)


@pytest.mark.rules("LG-7", "ST-9")
def test_the_missing_member_leaves(lab: OneGroup) -> None:
    """The join phase is over if everybody else has joined."""
    a, b = lab.stable({}, {})
    join = lab.join(a)

    lab.leave(b)

    assert [member.member_id for member in join.members] == [a]


@pytest.mark.rules("LG-7", "ST-6")
@pytest.mark.parametrize("state", LIVE)
def test_the_last_one_leaves(lab: OneGroup, state: str) -> None:
    """The group is Empty at once, a generation later."""
    lab.leave(*lab.in_state(state))

    assert (lab.group.state, lab.group.generation, lab.group.leader) == (EMPTY, 2, None)


@pytest.mark.rules("LG-7")
def test_the_last_one_leaves_and_an_id_is_pending(lab: OneGroup) -> None:
    """Then the group waits for the join timer, or for the id to go, before it is Empty."""
    (a,) = lab.stable({"rebalance": 7000})
    pending = lab.ask_for_id(session=20_000)
    lab.leave(a)
    assert (lab.group.state, len(lab.group.members)) == (PREPARING, 0)

    lab.leave(pending)

    assert lab.group.state == EMPTY


@pytest.mark.rules("LG-8")
@pytest.mark.parametrize(
    ("release", "members", "code", "state"), [("4.3", 1, UNKNOWN, COMPLETING), ("3.9", 2, OK, PREPARING)]
)
def test_a_batch(release: str, members: int, code: ErrorCode, state: str) -> None:
    """4.3.1 acts once after the whole batch: nobody sees a generation in between. 3.9.1 acts after each member."""
    lab = OneGroup(as_release=release)
    a, b, c = lab.stable({}, {}, {})
    join_a, join_c = lab.join(a), lab.join(c)

    assert lab.leave(b, c) == [OK, OK]  # without b all have joined

    assert (join_a.generation, len(join_a.members), join_c.code) == (2, members, code)
    assert lab.group.state == state


@pytest.mark.rules("LG-8")
@pytest.mark.parametrize(("release", "generation"), [("4.3", 2), ("3.9", 2)])
def test_all_leave_at_once(release: str, generation: int) -> None:
    """Either way the group is Empty one generation later."""
    lab = OneGroup(as_release=release)
    ids = lab.stable({}, {}, {})

    lab.leave(*ids)

    assert (lab.group.state, lab.group.generation) == (EMPTY, generation)


@pytest.mark.rules("LG-8")
@pytest.mark.parametrize("leavers", [[], ["stranger"]])
def test_a_batch_without_success(lab: OneGroup, leavers: list[str]) -> None:
    """Nothing changes."""
    lab.stable({})

    assert lab.leave(*leavers) == [UNKNOWN] * len(leavers)
    assert lab.group.state == STABLE


@pytest.mark.rules("LG-10")
def test_the_generation_plays_no_role(lab: OneGroup) -> None:
    """A member may leave in any generation, static ones too."""
    a, s = lab.stable({}, {"instance": "i"})
    lab.join(a)
    lab.wait(10)

    assert lab.leave(Leaver(s, "i"), a) == [OK, OK]


def test_the_reasons_are_reported(lab: OneGroup) -> None:
    """What the clients give as their reason is part of the transition's reason."""
    _a, b = lab.stable({}, {})
    lab.leave(Leaver(b, None, "shutting down"))

    assert lab.reasons[-1] == f"member {b} left (shutting down)"

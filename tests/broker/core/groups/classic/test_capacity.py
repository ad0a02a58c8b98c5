"""group.max.size (JG-7..JG-9, JG-38, LD-4)."""

import pytest

from fakebroker.protocol.errors import ErrorCode
from tests.support.groups import COMPLETING, EMPTY, PREPARING, STABLE, OneGroup

FULL, UNKNOWN = ErrorCode.GROUP_MAX_SIZE_REACHED, ErrorCode.UNKNOWN_MEMBER_ID


def small(size: int, as_release: str = "4.3") -> OneGroup:
    return OneGroup({"group.max.size": size}, as_release)


@pytest.mark.rules("JG-7", "JG-8", "JG-29")
@pytest.mark.parametrize("state", [COMPLETING, STABLE])
def test_a_full_group_takes_nobody(state: str) -> None:
    """A newcomer, with or without the handshake, and a stranger get 81 without an id; members may rejoin."""
    lab = small(2)
    _a, b = lab.in_state(state)

    for join in (lab.join(), lab.join(handshake=True), lab.join("stranger")):
        assert (join.code, join.member_id, join.generation) == (FULL, "", -1)
    assert lab.join(b).generation == 1
    assert lab.group.state == state


@pytest.mark.rules("JG-7")
def test_an_empty_group_accepts_all() -> None:
    """The size plays no role in an Empty group."""
    lab = small(1)
    lab.leave(*lab.stable({}))

    assert lab.join(handshake=True).code == ErrorCode.MEMBER_ID_REQUIRED
    assert lab.join().is_parked


@pytest.mark.rules("JG-7")
def test_in_preparing_the_parked_count() -> None:
    """Newcomers and members are taken as long as there is room among the parked; the parked may always rejoin."""
    lab = small(2)
    a, _b = lab.stable({}, {})
    lab.join(a)
    new = lab.join()

    assert new.is_parked
    assert lab.join(a).is_parked


@pytest.mark.rules("JG-7", "JG-8")
@pytest.mark.parametrize("release", ["4.3", "3.9"])
def test_the_last_to_rejoin_are_evicted(release: str) -> None:
    """The refused member is no member any more; 4.3.1 then waits for the join timer, 3.9.1 completes at once."""
    lab = small(2, release)
    a, b = lab.stable({"rebalance": 7000}, {"rebalance": 7000})
    start = lab.ms
    join_a, join_c = lab.join(a, rebalance=7000), lab.join()
    lab.wait(100)

    late = lab.join(b, rebalance=7000)

    assert (late.code, late.member_id, b in lab.group.members) == (FULL, "", False)
    lab.wait(20_000)
    done_at = start + (7000 if release == "4.3" else 100)
    assert [join_a.at_ms, join_c.at_ms] == [done_at, done_at]
    assert len(join_a.members) == 2


@pytest.mark.rules("JG-9")
def test_pending_ids_do_not_count() -> None:
    """More ids than places may be handed out; one that was refused is unknown once there is room again."""
    lab = small(1)
    first, second = lab.ask_for_id(), lab.ask_for_id()
    join = lab.join(first)
    assert lab.join(second).code == FULL
    lab.wait(3000)
    lab.leave(join.member_id)
    assert lab.group.state == EMPTY

    assert lab.join(second).code == UNKNOWN


@pytest.mark.rules("JG-9")
def test_pending_ids_take_no_place_in_a_stable_group() -> None:
    """With one of two places taken, any number of ids may be asked for."""
    lab = small(2)
    lab.stable({})
    lab.ask_for_id()

    assert lab.join(handshake=True).code == ErrorCode.MEMBER_ID_REQUIRED


@pytest.mark.rules("JG-38")
@pytest.mark.parametrize("state", [COMPLETING, STABLE])
def test_a_static_member_returns_to_a_full_group(state: str) -> None:
    """Without its id it is a stranger: 81; its old id stays valid."""
    lab = small(2)
    _a, s = lab.in_state(state, instance="i")

    assert lab.join(instance="i").code == FULL
    assert lab.heartbeat(s, instance="i") == ErrorCode.NONE


@pytest.mark.rules("JG-38", "JG-7")
def test_a_static_member_returns_with_room() -> None:
    """In PreparingRebalance the parked count, so there is room for its return."""
    lab = small(2)
    _a, _s = lab.in_state(PREPARING, instance="i")

    assert lab.join(instance="i").code == ErrorCode.NONE

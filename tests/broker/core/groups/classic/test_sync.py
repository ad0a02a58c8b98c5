"""SyncGroup and Heartbeat (SG, HB)."""

import pytest

from fakebroker.protocol.errors import ErrorCode
from tests.support.groups import COMPLETING, EMPTY, PREPARING, STABLE, OneGroup

OK, UNKNOWN, ILLEGAL = ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION
LIVE = [PREPARING, COMPLETING, STABLE]


@pytest.mark.rules("SG-4", "HB-3", "HB-4")
@pytest.mark.parametrize("state", LIVE)
def test_order_of_checks(lab: OneGroup, state: str) -> None:
    """An unknown member wins over a wrong generation, and that over a wrong protocol."""
    a, _ = lab.in_state(state)

    assert lab.sync("stranger", generation=9, type="x").code == UNKNOWN
    assert lab.sync(a, generation=9, type="x").code == ILLEGAL
    assert lab.sync(a, generation=0, type="x").code == ILLEGAL
    assert lab.sync(a, type="x", protocol="range").code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert lab.sync(a, type="consumer", protocol="x").code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert lab.heartbeat("stranger", generation=9) == UNKNOWN
    assert lab.heartbeat(a, generation=9) == ILLEGAL
    assert lab.heartbeat(a, generation=-1) == ILLEGAL


@pytest.mark.rules("SG-4", "HB-3", "HB-4")
@pytest.mark.parametrize("state", LIVE)
def test_instance_ids_come_first(lab: OneGroup, state: str) -> None:
    """A member that names the instance of another is fenced, one that names an unknown instance is unknown."""
    a, _ = lab.in_state(state, instance="i")

    for instance, code in (("i", ErrorCode.FENCED_INSTANCE_ID), ("other", UNKNOWN)):
        assert lab.sync(a, instance=instance, generation=9).code == code
        assert lab.heartbeat(a, instance=instance) == lab.heartbeat(a, 9, instance) == code


@pytest.mark.rules("SG-5", "HB-5")
def test_in_empty(lab: OneGroup) -> None:
    """An Empty group knows nobody: 25 before anything else."""
    a, _ = lab.in_state(EMPTY)

    assert lab.sync(a, generation=99, type="x").code == UNKNOWN
    assert lab.heartbeat(a, generation=99) == UNKNOWN


@pytest.mark.rules("SG-5", "HB-5")
def test_in_preparing(lab: OneGroup) -> None:
    """27: rejoin first."""
    _, b = lab.in_state(PREPARING)

    assert lab.sync(b, type="consumer", protocol="range").code == ErrorCode.REBALANCE_IN_PROGRESS
    assert lab.heartbeat(b) == ErrorCode.REBALANCE_IN_PROGRESS


@pytest.mark.rules("SG-4")
@pytest.mark.parametrize(
    ("release", "code"),
    [("4.3", ErrorCode.REBALANCE_IN_PROGRESS), ("3.9", ErrorCode.INCONSISTENT_GROUP_PROTOCOL)],
)
def test_before_the_first_generation(release: str, code: ErrorCode) -> None:
    """No protocol is chosen yet: 4.3.1 then accepts any name, 3.9.1 none. The type is known and compared."""
    lab = OneGroup(as_release=release)
    a = lab.ask_for_id()
    lab.join(a)

    assert lab.sync(a, protocol="range", type="consumer").code == code
    assert lab.sync(a, type="x").code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


@pytest.mark.rules("SG-6", "SG-8", "SG-10")
def test_the_leader_assigns(lab: OneGroup) -> None:
    """Followers wait for it; missing members get nothing, strangers are ignored, of two entries the last counts."""
    a, b, c = lab.completing({}, {}, {})
    parked = lab.sync(b)
    lab.wait(100)
    assert parked.is_parked

    entries = [(b, b"first"), ("stranger", b"x"), (b, b"second"), (a, b"mine")]
    leads = lab.sync(a, entries=entries, type="consumer", protocol="range")

    assert leads.answer == (OK, "consumer", "range", b"mine")
    assert parked.answer == (OK, "consumer", "range", b"second")
    assert lab.sync(c).assignment == b""
    assert lab.group.state == STABLE


@pytest.mark.rules("SG-6", "CR-15")
def test_what_is_stored(lab: OneGroup) -> None:
    """The group's record has the new assignments, and the time at which the group entered CompletingRebalance."""
    a, b = lab.completing({}, {"instance": "i"})
    completing_since = lab.now.wall_ms
    lab.wait(100)
    lab.sync(a, {a: b"1"})

    value = lab.written[-1]
    assert value[:5] == ("consumer", 1, "range", a, completing_since)
    assert value.members == (
        (a, None, "c", "/127.0.0.1", 60_000, 10_000, b"r", b"1"),
        (b, "i", "c", "/127.0.0.1", 60_000, 10_000, b"r", b""),
    )


@pytest.mark.rules("SG-6")
def test_a_follower_cannot_assign(lab: OneGroup) -> None:
    """Only the leader's assignments count, and it may send none."""
    a, b = lab.completing({}, {})
    lab.sync(b, {a: b"x", b: b"x"})
    assert lab.group.state == COMPLETING

    assert lab.sync(a).assignment == b""


@pytest.mark.rules("SG-7")
def test_in_stable(lab: OneGroup) -> None:
    """The stored assignment at once; what is sent is ignored, the leader's too."""
    a, b = lab.stable({}, {})

    assert lab.sync(a, {a: b"new", b: b"new"}).assignment == a.encode()
    assert lab.sync(b).assignment == b.encode()


@pytest.mark.rules("SG-9")
def test_a_late_sync_pays_the_debt(lab: OneGroup) -> None:
    """A sync in Stable counts too: the member is not removed by the sync timer."""
    a, b = lab.completing({"session": 100_000}, {"session": 100_000})
    lab.sync(a)
    lab.wait(59_999)
    lab.sync(b)
    lab.wait(1)

    assert (lab.group.state, list(lab.group.members)) == (STABLE, [a, b])


@pytest.mark.rules("SG-11")
def test_a_second_sync_replaces_the_first(lab: OneGroup) -> None:
    """The first one is never answered."""
    a, b = lab.completing({}, {})
    first, second = lab.sync(b), lab.sync(b)
    lab.sync(a, {b: b"1"})

    assert (first.is_parked, second.assignment) == (True, b"1")


@pytest.mark.rules("HB-3")
def test_a_pending_id_is_no_member(lab: OneGroup) -> None:
    """A handed-out id that heartbeats is unknown."""
    lab.stable({})

    assert lab.heartbeat(lab.ask_for_id()) == UNKNOWN


@pytest.mark.rules("HB-6")
@pytest.mark.parametrize("state", [COMPLETING, STABLE])
def test_heartbeat(lab: OneGroup, state: str) -> None:
    """0 in CompletingRebalance and Stable, for static members with their instance id too."""
    a, b = lab.in_state(state, instance="i")

    assert lab.heartbeat(a) == lab.heartbeat(b) == lab.heartbeat(b, instance="i") == OK


@pytest.mark.rules("HB-6")
def test_heartbeat_in_2_1() -> None:
    """2.1.1 makes a member that waits for its assignment rejoin, whatever its generation; a stranger is unknown."""
    lab = OneGroup(as_release="2.1")
    a, b = lab.completing({}, {})

    assert lab.heartbeat(a) == lab.heartbeat(b, generation=9) == ErrorCode.REBALANCE_IN_PROGRESS
    assert lab.heartbeat("stranger", generation=9) == UNKNOWN
    lab.sync(a)
    assert (lab.heartbeat(b), lab.heartbeat(b, generation=9)) == (OK, ILLEGAL)

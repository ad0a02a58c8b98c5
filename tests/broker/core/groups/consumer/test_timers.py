"""Session and rebalance timers: who is removed when."""

import pytest

from fakebroker.protocol.errors import ErrorCode
from tests.support.consumer_groups import OneConsumerGroup


def revoking(rebalance_ms: int = 5_000) -> OneConsumerGroup:
    """m1 has to give up two partitions to m2."""
    lab = OneConsumerGroup()
    lab.join("m1", rebalance=rebalance_ms)
    lab.join("m2")
    lab.send("m1", 2)
    assert lab.has("m1") == (2, "UNREVOKED_PARTITIONS", {"t": [0, 1]}, {"t": [2, 3]})
    lab.types(), lab.events()
    return lab


@pytest.mark.rules("CGT-1", "CGT-2")
def test_a_silent_member_is_removed() -> None:
    """Its session is restarted by every good heartbeat, and ends as a leave does."""
    lab = OneConsumerGroup()
    lab.join("m1")
    lab.wait(44_999)
    lab.send("m1", 2)
    lab.wait(44_999)
    assert not lab.group.is_empty
    lab.types()

    lab.wait(1)

    assert lab.types() == [["-8 m1", "-7 m1", "-5 m1", "3"]]
    assert (lab.group.state, lab.group.group_epoch) == ("Empty", 3)
    assert lab.group.state_reason == "member m1 timed out"


@pytest.mark.rules("CGT-1")
def test_a_refused_heartbeat_keeps_nobody_alive() -> None:
    """Only a successful one restarts the session."""
    lab = OneConsumerGroup()
    lab.join("m1")
    lab.wait(30_000)
    assert lab.send("m1", 9).code is ErrorCode.FENCED_MEMBER_EPOCH
    lab.wait(15_000)

    assert lab.group.is_empty


@pytest.mark.rules("CGT-3")
def test_partitions_that_are_not_given_up() -> None:
    """The member is removed after its rebalance timeout; heartbeats do not help."""
    lab = revoking()
    lab.wait(4_000)
    lab.send("m1", 2)
    lab.wait(999)
    assert "m1" in lab.group.members
    lab.wait(1)

    assert lab.types() == [["-8 m1", "-7 m1", "-5 m1", "3"]]
    assert lab.group.state_reason == "member m1 did not give up its partitions in time"
    assert lab.assigned(lab.send("m2", 3)) == {"t": [0, 1, 2, 3]}


@pytest.mark.rules("CGT-3")
def test_the_rebalance_timer_ends_with_the_revocation() -> None:
    """Nobody is removed afterwards."""
    lab = revoking()
    lab.send("m1", 2, {"t": [0, 1]})
    lab.wait(40_000)

    assert set(lab.group.members) == {"m1", "m2"}


@pytest.mark.rules("CGT-3")
def test_a_change_within_the_state_starts_it_anew() -> None:
    """What it has to give up is more now."""
    lab = revoking()
    lab.wait(4_000)
    lab.cluster.group_configs["g"] = {"consumer.assignment.interval.ms": "15000"}
    lab.send("m1", 2, topics=[])
    assert lab.has("m1") == (2, "UNREVOKED_PARTITIONS", {}, {"t": [0, 1, 2, 3]})
    lab.wait(4_999)
    assert "m1" in lab.group.members
    lab.wait(1)

    assert "m1" not in lab.group.members


@pytest.mark.rules("CGT-3", "CGS-2")
def test_a_static_member_that_is_away_is_not_removed_for_it() -> None:
    """Its epoch is another by then."""
    lab = OneConsumerGroup()
    lab.join("m1", instance="i1")
    lab.join("m2")
    lab.send("m1", 2, instance="i1")
    lab.send("m1", -2, instance="i1")
    lab.wait(10_000)

    assert "m1" in lab.group.members


@pytest.mark.rules("CGT-4")
def test_timers_are_full_after_loading() -> None:
    """Of the session, and of the revocation that is under way."""
    lab = revoking()
    lab.wait(4_000)
    lab.reload()
    lab.wait(4_999)
    assert set(lab.group.members) == {"m1", "m2"}
    lab.wait(1)
    assert set(lab.group.members) == {"m2"}
    lab.wait(39_999)
    assert set(lab.group.members) == {"m2"}
    lab.wait(1)
    assert lab.group.is_empty


@pytest.mark.rules("CGT-2")
@pytest.mark.parametrize("wait_ms", [5_000, 45_000])
def test_a_timer_that_cannot_store_tries_again(wait_ms: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The member is removed when that can be stored."""
    lab = revoking()
    if wait_ms == 45_000:
        lab.send("m1", 2, {"t": [0, 1]})
        lab.wait(1)
        lab.send("m2", 3)
    with monkeypatch.context() as patched:
        patched.setattr(lab.shard, "write_records", lambda *_: ErrorCode.NOT_ENOUGH_REPLICAS)
        lab.wait(wait_ms)
        assert "m1" in lab.group.members
    lab.wait(500)

    assert "m1" not in lab.group.members


def test_a_group_that_is_unloaded_has_no_timers() -> None:
    """Nothing runs for a group that is coordinated elsewhere."""
    lab = revoking()
    old = lab.group
    lab.reload()

    assert old.is_dead
    assert old not in [timer.owner for timer in lab.cluster.timers.mono.armed()]


def test_a_test_evicts_a_member() -> None:
    """As if its session had timed out now."""
    lab = revoking()

    lab.group.evict("m1", lab.now)

    assert list(lab.group.members) == ["m2"]
    assert lab.group.state_reason == "member m1 was evicted by a test"

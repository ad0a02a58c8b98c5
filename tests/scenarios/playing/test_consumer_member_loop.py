"""Members of consumer groups that act by themselves: they take and give up what they get."""

from typing import Any

import pytest

from fakebroker.scenarios.happenings import Sent
from fakebroker.scenarios.playing.player import Played
from tests.support.scenarios import Steps, play

CONSUME: dict[str, Any] = {"group_id": "billing", "topics": ["orders"], "group_protocol": "consumer"}


@pytest.fixture
def s() -> Steps:
    """Makes the steps of one timeline."""
    return Steps()


def heartbeats(played: Played, actor: str) -> list[Sent]:
    """The heartbeats that an actor sent."""
    return [
        each
        for each in played.happenings
        if isinstance(each, Sent) and (each.actor, each.api) == (actor, "ConsumerGroupHeartbeat")
    ]


@pytest.mark.rules("CGR-3", "CGR-4", "CGR-5", "CGH-30")
def test_members_share_the_partitions_and_take_over(s: Steps) -> None:
    """The first gives up half of what it has when the second comes, and has all again when that one leaves."""
    played = play(
        s.do("a", "consume", **CONSUME),
        s.group(within_ms=1000, state="Stable", members=1),
        s.expect("actor", {"actor": "a"}, {"assignment": {"orders": [0, 1]}}),
        s.do("b", "consume", **CONSUME),
        s.group(within_ms=15_000, state="Stable", members=2, is_reconciled=True),
        s.expect("actor", {"actor": "a"}, {"assignment": {"orders": [0]}}),
        s.expect("actor", {"actor": "b"}, {"assignment": {"orders": [1]}}),
        s.do("b", "stop"),
        s.expect("actor", {"actor": "a"}, {"assignment": {"orders": [0, 1]}}, 15_000),
        s.group(state="Stable", members=1),
    )

    assert played.problems == []


@pytest.mark.rules("CGH-40")
def test_the_coordinator_says_how_often_it_beats(s: Steps) -> None:
    """Every five seconds, whatever the member was reported itself; nothing else is sent."""
    played = play(s.do("a", "consume", **CONSUME, heartbeat_interval_ms=1000), s.passes(20_000))

    assert played.problems == []
    assert [each.at_ms for each in heartbeats(played, "a")] == [0, 5000, 10_000, 15_000, 20_000]


@pytest.mark.rules("CGO-1", "CGR-4")
def test_it_commits_before_it_gives_up(s: Steps) -> None:
    """Who takes over goes on where the other was; no record is read twice."""
    read: dict[str, Any] = {"poll_interval_ms": 500, "auto_commit_interval_ms": 60_000}
    played = play(
        s.do("c", "produce", topic="orders", partition=0, records=["a", "b"]),
        s.do("c", "produce", topic="orders", partition=1, records=["c", "d"]),
        s.do("a", "consume", **CONSUME, **read),
        s.passes(2000),
        s.expect("actor", {"actor": "a"}, {"consumed": 4}),
        s.do("b", "consume", **CONSUME, **read),
        s.group(within_ms=15_000, state="Stable", members=2, is_reconciled=True),
        s.passes(2000),
        s.expect("actor", {"actor": "b"}, {"consumed": 0}),
        s.expect("committed", {"group_id": "billing"}, {"orders-1": 2}),
    )

    assert played.problems == []


@pytest.mark.rules("CGT-2", "CGH-20")
def test_a_long_pause_costs_the_membership(s: Steps) -> None:
    """It learns that it is no member any more, and joins again with the same id."""
    played = play(
        s.do("a", "consume", **CONSUME),
        s.do("b", "consume", **CONSUME),
        s.group(within_ms=20_000, state="Stable", members=2, is_reconciled=True),
        s.do("b", "pause"),
        s.passes(60_000),
        s.group(state="Stable", members=1),
        s.expect("actor", {"actor": "a"}, {"assignment": {"orders": [0, 1]}}),
        s.do("b", "resume"),
        s.group(within_ms=20_000, state="Stable", members=2, is_reconciled=True),
    )

    assert played.problems == []
    assert [each.request["MemberEpoch"] for each in heartbeats(played, "b")].count(0) == 2
    assert {each.request["MemberId"] for each in heartbeats(played, "b")} == {"b-member-1"}


@pytest.mark.rules("CGS-2", "CGS-3")
def test_a_static_member_comes_back_to_its_partitions(s: Steps) -> None:
    """It leaves for a while when it is stopped: nothing moves, and the epoch stays."""
    static = {**CONSUME, "group_instance_id": "one"}
    played = play(
        s.do("a", "consume", **static),
        s.do("b", "consume", **CONSUME),
        s.group(within_ms=20_000, state="Stable", members=2, is_reconciled=True),
        s.do("a", "stop"),
        s.passes(10_000),
        s.group(state="Reconciling", members=2, epoch=3),
        s.do("a", "consume", **static),
        s.group(within_ms=10_000, state="Stable", members=2, epoch=3),
    )

    assert played.problems == []
    assert [each.request["MemberEpoch"] for each in heartbeats(played, "a")].count(-2) == 1


@pytest.mark.rules("CGH-6")
def test_a_coordinator_that_moves_is_found(s: Steps) -> None:
    """It goes on there with the epoch that it has."""
    played = play(
        s.power("coordinator.move", {"group_id": "billing"}, to=1),
        s.do("a", "consume", **CONSUME),
        s.group(within_ms=1000, state="Stable"),
        s.power("coordinator.move", {"group_id": "billing"}, to=2),
        s.passes(15_000),
        s.group(state="Stable", members=1, epoch=2),
        s.expect("actor", {"actor": "a"}, {"is_connected": True, "member_epoch": 2}),
        nodes=2,
    )

    assert played.problems == []


@pytest.mark.rules("CGS-1")
def test_a_second_member_of_one_instance_gives_up(s: Steps) -> None:
    """As a consumer does that finds its instance id taken."""
    static = {**CONSUME, "group_instance_id": "one"}
    played = play(
        s.do("a", "consume", **static),
        s.do("b", "consume", **static),
        s.expect("actor", {"actor": "b"}, {"is_consuming": False, "failure": "UNRELEASED_INSTANCE_ID"}, 1000),
    )

    assert played.problems == []

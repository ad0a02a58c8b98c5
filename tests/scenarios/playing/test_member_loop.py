"""Members that act by themselves: over rebalances, restarts of brokers, pauses, and what ends them."""

from typing import Any

import pytest

from fakebroker.protocol.errors import ErrorCode
from fakebroker.scenarios.happenings import Received, Sent
from fakebroker.scenarios.playing.player import Played
from tests.support.scenarios import Steps, play


@pytest.fixture
def s() -> Steps:
    """Makes the steps of one timeline."""
    return Steps()


CONSUME: dict[str, Any] = {"group_id": "billing", "topics": ["orders"]}


def sent(played: Played, actor: str, api: str) -> list[Sent]:
    """The requests of one kind that an actor sent."""
    return [each for each in played.happenings if isinstance(each, Sent) and (each.actor, each.api) == (actor, api)]


def test_members_share_the_partitions_and_take_over(s: Steps) -> None:
    """Two members have a partition each; when one leaves, the other has both."""
    played = play(
        s.do("a", "consume", **CONSUME),
        s.group(within_ms=1000, state="Stable", members=1),
        s.do("b", "consume", **CONSUME),
        s.group(within_ms=10_000, state="Stable", members=2),
        s.expect("actor", {"actor": "a"}, {"assignment": {"orders": [0]}}, 1000),
        s.expect("actor", {"actor": "b"}, {"assignment": {"orders": [1]}}, 1000),
        s.do("a", "stop"),
        s.expect("actor", {"actor": "b"}, {"assignment": {"orders": [0, 1]}}, 5000),
        s.group(state="Stable", members=1),
    )

    assert played.problems == []


def test_a_heartbeat_every_three_seconds(s: Steps) -> None:
    """Time passes, and a member sends what it has to, no more."""
    played = play(s.do("a", "consume", **CONSUME), s.passes(60_000), s.group(state="Stable", members=1))

    assert played.problems == []
    assert [each.at_ms for each in sent(played, "a", "Heartbeat")] == list(range(3000, 60_001, 3000))
    assert len(sent(played, "a", "JoinGroup")) == 2
    assert played.virtual_ms == 60_000


def test_three_members_over_a_rolling_restart(s: Steps) -> None:
    """Brokers are restarted one after the other; each time the members find the coordinator, and all is well."""
    restarts = [
        step
        for node in (1, 2, 3)
        for step in (
            s.power("node.stop", {"node_id": node}),
            s.passes(5000),
            s.power("node.start", {"node_id": node}),
            s.group(within_ms=60_000, state="Stable", members=3),
            s.passes(10_000),
        )
    ]
    played = play(
        *(s.do(name, "consume", **CONSUME, session_timeout_ms=10_000) for name in "abc"),
        s.group(within_ms=10_000, state="Stable", members=3),
        *restarts,
        *(s.expect("actor", {"actor": name}, {"assignment": {"orders": 1}, "is_connected": True}) for name in "abc"),
        nodes=3,
        topics={"orders": {"partitions": 3, "replication_factor": 3}},
    )

    assert played.problems == []


def test_a_long_pause_costs_the_membership(s: Steps) -> None:
    """A member that sends nothing is expelled after its session; when it goes on it learns that, and joins again."""
    played = play(
        s.do("a", "consume", **CONSUME, session_timeout_ms=10_000),
        s.do("b", "consume", **CONSUME, session_timeout_ms=10_000),
        s.group(within_ms=20_000, state="Stable", members=2),
        s.do("b", "pause"),
        s.passes(20_000),
        s.group(state="Stable", members=1),
        s.do("b", "resume"),
        s.group(within_ms=10_000, state="Stable", members=2),
        s.passes(5000),
        s.expect("actor", {"actor": "b"}, {"assignment": {"orders": 1}, "is_consuming": True}),
    )

    assert played.problems == []
    errors = [
        each.response["ErrorCode"]
        for each in played.happenings
        if isinstance(each, Received) and each.actor == "b" and each.api == "Heartbeat"
    ]
    assert ErrorCode.UNKNOWN_MEMBER_ID in errors


def test_a_coordinator_that_moves_is_found(s: Steps) -> None:
    """NOT_COORDINATOR leads to FindCoordinator, and the member goes on there in its generation."""
    played = play(
        s.power("coordinator.move", {"group_id": "billing"}, to=1),
        s.do("a", "consume", **CONSUME),
        s.group(within_ms=1000, state="Stable"),
        s.power("coordinator.move", {"group_id": "billing"}, to=2),
        s.passes(10_000),
        s.group(state="Stable", members=1),
        s.expect("actor", {"actor": "a"}, {"is_connected": True, "generation_id": 1}),
        nodes=2,
    )

    assert played.problems == []
    assert len(sent(played, "a", "FindCoordinator")) >= 2


def test_a_fenced_member_gives_up(s: Steps) -> None:
    """An error that ends a real consumer ends it, and says so."""
    played = play(
        s.do("a", "consume", **CONSUME, group_instance_id="one"),
        s.group(within_ms=1000, state="Stable"),
        s.do("b", "consume", **CONSUME, group_instance_id="one"),
        s.passes(10_000),
        s.expect("actor", {"actor": "a"}, {"is_consuming": False, "failure": "FENCED_INSTANCE_ID"}),
        s.do("a", "stop"),
    )

    assert played.problems == ["made.yaml:6: a: stop: a is not consuming: FENCED_INSTANCE_ID"]


def test_records_are_read_and_offsets_committed(s: Steps) -> None:
    """With a poll interval it reads on from what is committed; with a commit interval it commits, also at its end."""
    played = play(
        s.do("b", "produce", topic="orders", partition=0, records=["x", "y"]),
        s.do("b", "commit", offsets={"orders-0": 1}, group_id="billing"),
        s.do("a", "consume", **CONSUME, poll_interval_ms=100, auto_commit_interval_ms=5000),
        s.passes(1000),
        s.expect("actor", {"actor": "a"}, {"consumed": 1}),
        s.group(offsets={"orders-0": 1}),
        s.passes(5000),
        s.group(offsets={"orders-0": 2, "orders-1": 0}),
        s.do("b", "produce", topic="orders", partition=1, records=["z"]),
        s.passes(500),
        s.do("a", "stop"),
        s.group(state="Empty", offsets={"orders-0": 2, "orders-1": 1}),
    )

    assert played.problems == []


@pytest.mark.parametrize("stop", ["node.kill", "node.freeze"])
def test_a_lost_coordinator_is_replaced(s: Steps, stop: str) -> None:
    """A coordinator that answers no more, or is gone, is given up; the member finds the next."""
    played = play(
        s.power("coordinator.move", {"group_id": "billing"}, to=1),
        s.do("a", "consume", **CONSUME, session_timeout_ms=10_000),
        s.group(within_ms=1000, state="Stable"),
        s.power(stop, {"node_id": 1}),
        s.passes(120_000),
        s.group(state="Stable", members=1),
        s.expect("actor", {"actor": "a"}, {"is_consuming": True, "is_connected": True}),
        nodes=3,
        topics={"orders": {"partitions": 2, "replication_factor": 3}},
    )

    assert played.problems == []


def test_partitions_are_read_at_their_leaders(s: Steps) -> None:
    """Each leader is asked over a connection of its own; when one moves, the next is found."""
    played = play(
        s.power("topic.partition.move_leader", {"name": "orders", "index": 0}, to=1),
        s.power("topic.partition.move_leader", {"name": "orders", "index": 1}, to=2),
        s.power("topic.produce", {"name": "orders"}, values=["x"], partition=0),
        s.power("topic.produce", {"name": "orders"}, values=["y"], partition=1),
        s.do("a", "consume", **CONSUME, poll_interval_ms=100),
        s.expect("actor", {"name": "a"}, {"consumed": 2}, 1000),
        s.power("topic.partition.move_leader", {"name": "orders", "index": 1}, to=1),
        s.power("topic.produce", {"name": "orders"}, values=["z"], partition=1),
        s.expect("actor", {"name": "a"}, {"consumed": 3}, 1000),
        s.power("node.kill", {"node_id": 2}),
        s.passes(30_000),
        s.power("topic.produce", {"name": "orders"}, values=["z"], partition=1),
        s.expect("actor", {"name": "a"}, {"consumed": 4, "is_consuming": True}, 1000),
        s.do("a", "stop"),
        nodes=2,
        topics={"orders": {"partitions": 2, "replication_factor": 2}},
    )

    assert played.problems == []

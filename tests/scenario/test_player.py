"""The player: steps in virtual time, what they expect, what happens, and what goes wrong."""

import pytest

from fakebroker.scenario.happenings import BrokerEvent, Received, Sent, StepBegan
from tests.support.scenarios import Steps, play

DAY_MS = 86_400_000


@pytest.fixture
def s() -> Steps:
    """Makes the steps of one timeline."""
    return Steps()


def test_two_members_meet(s: Steps) -> None:
    """The story of the language's page: a parked join, silence, a heartbeat that tells of it, both get partitions."""
    played = play(
        s.join("a", {"error": "NONE"}, save={"first": "member_id"}),
        s.sync("a", {"a": {"orders": [0, 1]}}, {"assignment": {"orders": [0, 1]}}),
        s.join("b", later=True),
        s.silent("b", 100),
        s.do("a", "heartbeat", {"error": "REBALANCE_IN_PROGRESS"}),
        s.do("a", "rejoin", {"member_id": "$first", "generation_id": 2, "members": 2}),
        s.answered("b", {"error": "NONE", "leader": "$first"}),
        s.sync("b", later=True),
        s.sync("a", {"a": {"orders": [0]}, "b": {"orders": [1]}}),
        s.answered("b", {"assignment": {"orders": [1]}}),
        s.do("a", "commit", {"error": "NONE"}, offsets={"orders-0": 42}),
        s.group(state="Stable", members=2, offsets={"orders-0": 42}, generation={"at_least": 2}),
        s.expect("actor", {"actor": "b"}, {"assignment": {"orders": [1]}, "is_leader": False}),
    )

    assert played.problems == []


def test_days_pass_and_offsets_expire(s: Steps) -> None:
    """The time of day moves in no time, and what is due has happened."""
    played = play(
        s.do("a", "commit", {"error": "NONE"}, offsets={"orders-0": 42}, group_id="billing"),
        s.power("clock.advance", days=3),
        s.group(offsets={"orders-0": 42}),
        s.power("clock.advance", days=5),
        s.group(offsets={}),
        config={"offsets.retention.minutes": 7 * 24 * 60},
    )

    assert played.problems == []
    assert [each.at_ms for each in played.happenings if isinstance(each, StepBegan)][-1] == 8 * DAY_MS


def test_what_happens_is_told_in_order(s: Steps) -> None:
    """A step, its request, what the broker did, the answer."""
    played = play(s.join("a"))
    kinds = [type(each) for each in played.happenings]

    assert kinds[0] is StepBegan
    assert kinds.count(Sent) == kinds.count(Received) == 2  # the first is answered MEMBER_ID_REQUIRED
    assert BrokerEvent in kinds
    sent = [each for each in played.happenings if isinstance(each, Sent)]
    received = [each for each in played.happenings if isinstance(each, Received)]
    assert [(each.number, each.api) for each in sent] == [(1, "JoinGroup"), (2, "JoinGroup")]
    assert [each.response["ErrorCode" if "ErrorCode" in each.response else "errorCode"] for each in received] == [79, 0]

"""Passes over much that is stored: clients are served between the turns, and a clock that is moved waits for all."""

import pytest

from fakebroker.broker.core.long_passes import STEP_COST, TURN_COST, LongPasses
from tests.support.engine import SimEngine
from tests.support.frames import request
from tests.support.time import DAY, MINUTE

GROUPS = 1_200
WEEK = 7 * DAY


@pytest.fixture
def lab() -> SimEngine:
    """Simple groups with ten offsets each, in all shards, which are due in a week."""
    lab = SimEngine()
    lab.cluster.topics.create("t", 10)
    now = lab.network.now
    for n in range(GROUPS):
        shard = lab.cluster.nodes[1].coordinator.shard(f"g{n}", now)
        rows = [("t", index, n, -1, "", now.wall_ms, -1, bytes(16)) for index in range(10)]
        shard.commit(shard.create_group(f"g{n}", now, for_commit=True), rows, now)
    return lab


def groups(lab: SimEngine) -> int:
    return sum(len(shard.groups) for shard in lab.cluster.nodes[1].coordinator.shards.values())


def passes_seen(lab: SimEngine) -> set[int]:
    """When the passes were that expired something."""
    return {expiration.pass_ms for expiration in lab.cluster.expirations}


@pytest.mark.rules("EX-8")
def test_clients_are_served_between_turns(lab: SimEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tick does a part of what is due in all shards, each step of the engine another, and requests do none."""
    spent: list[int] = []
    spend = LongPasses.spend

    def spy(passes: LongPasses, cost: int) -> None:
        spent.append(cost)
        spend(passes, cost)

    monkeypatch.setattr(LongPasses, "spend", spy)
    due = lab.network.now.plus(WEEK)
    lab.engine.tick(due)
    turns = [spent[:]]
    before = groups(lab)
    assert 0 < before < GROUPS

    connection = lab.bare_connection()
    connection.receive(request("ApiVersions", 0), due)
    assert connection.data_to_send()
    assert groups(lab) == before
    while lab.engine.works:
        assert len(lab.engine.works) == 1
        spent.clear()
        lab.engine.step(due.plus(5))
        turns.append(spent[:])

    assert groups(lab) == 0
    assert max(map(sum, turns)) <= TURN_COST + STEP_COST
    assert passes_seen(lab) == {due.wall_ms}


@pytest.mark.rules("EX-1")
@pytest.mark.parametrize("further_ms", [0, DAY, -MINUTE])
def test_a_clock_that_moves_waits_for_the_pass(lab: SimEngine, further_ms: int) -> None:
    """When the clock has been moved, all is done that was due, at its own moment."""
    due = lab.network.now.plus(WEEK)
    lab.engine.tick(due)
    assert lab.engine.works
    lab.engine.move_clock(due._replace(wall_ms=due.wall_ms + further_ms), "advanced")

    assert groups(lab) == 0
    assert passes_seen(lab) == {due.wall_ms}
    lab.engine.step(due)
    assert not lab.engine.works


def test_a_driver_that_stops_ends_the_pass(lab: SimEngine) -> None:
    """Nothing is half done afterwards."""
    lab.engine.tick(lab.network.now.plus(WEEK))
    lab.engine.end_works(lab.network.now.plus(WEEK))
    assert (groups(lab), lab.engine.errors) == (0, [])

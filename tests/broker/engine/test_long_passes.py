"""Passes over much that is stored: clients are served between the turns, and a clock that is moved waits for all."""

from collections.abc import Generator

import pytest

from fakebroker.broker.core.deadlines import Deadline
from fakebroker.broker.core.long_passes import STEP_COST, TURN_COST, LongPasses
from fakebroker.protocol.instant import Instant
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


class Steps:
    """Work that notes the time of each step, and of its end."""

    def __init__(self, lab: SimEngine, count: int) -> None:
        self.passes = lab.cluster.timers.passes
        self.taken: list[Instant] = []
        self.ended: list[Instant] = []
        self._count = count

    def begin(self, now: Instant) -> None:
        self.passes.begin(self._steps(), lambda _nothing, now: self.ended.append(now), now)

    def _steps(self) -> Generator[None, None, None]:
        for _ in range(self._count):
            self.taken.append(self.passes.now)
            yield


def test_what_a_request_begins_goes_on_in_later_turns() -> None:
    """Its first step is taken at once; what is left is among the works once, and ends with the time of then."""
    lab = SimEngine()
    now, steps = lab.network.now, Steps(lab, 9)
    steps.begin(now)
    assert steps.taken == [now]
    while lab.engine.works:
        assert len(lab.engine.works) == 1
        before, now = len(steps.taken), now.plus(10)
        lab.engine.step(now)
        assert len(steps.taken) <= before + TURN_COST // STEP_COST
    assert (len(steps.taken), steps.ended) == (9, [now])
    assert steps.taken == sorted(steps.taken)


def test_a_clock_that_moves_takes_all_steps() -> None:
    """What a deadline begins on the way is done at its own moment."""
    lab = SimEngine()
    due, steps = lab.network.now.plus(MINUTE), Steps(lab, 9)
    lab.cluster.timers.mono.arm(Deadline(steps.begin), due.mono_ms)
    lab.engine.advance_to(due.plus(MINUTE))
    assert (steps.taken, steps.ended) == ([due] * 9, [due])

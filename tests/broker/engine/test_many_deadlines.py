"""Very many deadlines that are due at once: clients are served in between, and none is forgotten."""

from functools import partial

import pytest

from fakebroker.broker.core.deadlines import Deadline
from fakebroker.broker.engine.engine import DUE_PER_TURN
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.pace import STEP_S
from tests.support.engine import SimEngine
from tests.support.frames import request
from tests.support.time import START

MANY = 3 * DUE_PER_TURN + 1
DUE = START.plus(1_000)


class Lab(SimEngine):
    """An engine with so many deadlines, in which nothing else is due."""

    def __init__(self) -> None:
        super().__init__()
        self.rang: list[tuple[int, Instant]] = []
        timers = self.cluster.timers
        for queue in (timers.wall, timers.mono):
            for deadline in queue.armed():
                deadline.disarm()
        for number in range(MANY):
            timers.mono.arm(Deadline(partial(self._ring, number)), DUE.mono_ms)

    def _ring(self, number: int, now: Instant) -> None:
        self.rang.append((number, now))


def test_a_tick_runs_a_part_of_them() -> None:
    """The steps run the rest in order, with the time of then; a request is answered before that."""
    lab = Lab()
    lab.engine.tick(DUE)
    assert len(lab.rang) == DUE_PER_TURN

    connection = lab.bare_connection()
    connection.receive(request("ApiVersions", 0), DUE)
    assert connection.data_to_send()
    assert len(lab.rang) < MANY

    later = DUE.plus(7)
    while lab.engine.works:
        before = len(lab.rang)
        lab.engine.step(later)
        assert len(lab.rang) <= before + DUE_PER_TURN
    assert [number for number, _ in lab.rang] == list(range(MANY))
    assert {now for _, now in lab.rang[: 2 * DUE_PER_TURN]} == {DUE}
    assert lab.rang[-1][1] == later


def test_few_of_them_that_take_long_are_a_part() -> None:
    """The stopwatch of the driver ends a turn, too: each deadline may stand for much."""
    lab = Lab()
    lab.cluster.timers.passes.stopwatch = lambda: STEP_S * len(lab.rang)
    lab.engine.tick(DUE)
    assert len(lab.rang) == 3  # the first begins the step, the second is as long as one, the third is more
    while lab.engine.works:
        lab.engine.step(DUE)
    assert [number for number, _ in lab.rang] == list(range(MANY))


@pytest.mark.parametrize("further_ms", [0, 60_000])
def test_a_clock_that_moves_runs_all(further_ms: int) -> None:
    """A test that moves the clock has all of them done, each at its own moment."""
    lab = Lab()
    lab.engine.advance_to(DUE.plus(further_ms))
    assert lab.rang == [(number, DUE) for number in range(MANY)]


def test_virtual_time_waits_for_all() -> None:
    """Time does not pass before all that is due is done."""
    lab = Lab()
    lab.network.advance(5_000)
    assert lab.rang == [(number, DUE) for number in range(MANY)]

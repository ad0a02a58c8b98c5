"""Passes at whole intervals: the next one that can find something, also after the clock went back."""

from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.core.coordinator.runtime.passes import Passes, PassGrid
from fakebroker.broker.core.deadlines import Timers
from fakebroker.protocol.instant import Instant
from tests.support.time import START, TimeDriven

TIMES = st.integers(0, 100_000)


@given(TIMES, st.integers(1, 5000), TIMES, TIMES)
def test_the_next_pass_is_the_first_on_the_grid_that_sees_what_is_due(
    since_ms: int, interval_ms: int, due_ms: int, passed_ms: int
) -> None:
    """It is a whole number of intervals after the beginning, later than now, and no earlier one would do."""
    now_ms = since_ms + passed_ms

    pass_ms = PassGrid(since_ms, interval_ms).next_ms(due_ms, now_ms)

    assert (pass_ms - since_ms) % interval_ms == 0
    assert pass_ms >= max(due_ms, now_ms + 1, since_ms + interval_ms)
    assert pass_ms - interval_ms < max(due_ms, now_ms + 1, since_ms + interval_ms)


class Lab(TimeDriven):
    """Passes every second, which note when they run."""

    def __init__(self) -> None:
        timers = Timers()
        super().__init__(timers)
        self.ran: list[int] = []
        self.passes = Passes(PassGrid(START.wall_ms, 1000), timers.wall, self._run, self)

    def _run(self, now: Instant) -> None:
        self.ran.append(now.wall_ms - START.wall_ms)

    def look_at(self, due_ms: int) -> None:
        self.passes.look_at(START.wall_ms + due_ms, self.now.wall_ms)


def test_only_passes_that_can_find_something_run() -> None:
    """The earliest of what is to be looked at counts; the others are asked for again by whoever runs."""
    lab = Lab()

    lab.look_at(4500)
    lab.look_at(2500)
    lab.look_at(9000)
    lab.wait(20_000)

    assert lab.ran == [3000]


def test_a_clock_that_went_back_moves_the_passes_along() -> None:
    """The next one comes as soon as it would have come, to look at everything; without one that waits, none does."""
    lab = Lab()
    lab.look_at(5000)
    lab.wait(400)
    lab.now = Instant(lab.now.wall_ms - 3_600_000, lab.now.mono_ms)

    lab.passes.wall_time_went_back(3_600_000, lab.now.wall_ms)
    lab.wait(600)
    lab.passes.wall_time_went_back(1000, lab.now.wall_ms)
    lab.wait(3_600_000)

    assert lab.ran == [1000 - 3_600_000]


def test_what_is_stopped_runs_no_more() -> None:
    """The partition is unloaded."""
    lab = Lab()
    lab.look_at(500)

    lab.passes.stop()
    lab.wait(5000)

    assert lab.ran == []

"""The clock on sockets: the machine's time, and what a test does to it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.core.deadlines import NEVER_MS, Deadline
from fakebroker.broker.engine.clock import BrokerClock
from tests.support.engine import SimEngine

DAY_MS = 86_400_000
MOVES = st.one_of(
    st.tuples(st.just("pass"), st.integers(0, 100_000)),
    st.tuples(st.sampled_from(["advance", "step back"]), st.integers(0, 9 * DAY_MS)),
    st.tuples(st.just("advance timers"), st.integers(0, DAY_MS)),
    st.tuples(st.just("rate"), st.sampled_from([1, 2, 8, 64])),
    st.tuples(st.sampled_from(["freeze", "resume"]), st.just(0)),
)


class Machine:
    """A machine whose time the test sets, in seconds."""

    def __init__(self) -> None:
        self.wall_s, self.mono_s = 1_700_000_000.0, 50.0
        self.moves = 0
        self.clock = BrokerClock(self.moved, os_wall=lambda: self.wall_s, os_mono=lambda: self.mono_s)

    def moved(self) -> None:
        self.moves += 1

    def pass_s(self, seconds: float) -> None:
        self.wall_s += seconds
        self.mono_s += seconds

    def passed_ms(self) -> tuple[int, int]:
        """What the broker's clock shows, since the machine was made."""
        now = self.clock.now()
        return now.wall_ms - 1_700_000_000_000, now.mono_ms - 50_000


@pytest.fixture
def machine() -> Machine:
    return Machine()


def test_time_is_the_machines(machine: Machine) -> None:
    """Both readings follow the machine's, to the millisecond; a step of its wall clock is followed too."""
    machine.pass_s(1.2345)
    assert machine.passed_ms() == (1234, 1234)
    machine.wall_s -= 1
    assert machine.passed_ms() == (234, 1234)


def test_advance_moves_wall_time_only(machine: Machine) -> None:
    """A week passes for stored times, not for the timers that watch over clients; with `timers` for both."""
    machine.clock.advance(7 * DAY_MS)
    assert machine.passed_ms() == (7 * DAY_MS, 0)
    machine.clock.advance(500, timers=True)
    machine.pass_s(1)
    assert machine.passed_ms() == (7 * DAY_MS + 1500, 1500)
    assert machine.moves == 2


def test_time_does_not_go_back(machine: Machine) -> None:
    """Nor stand still by rate: freeze() does that."""
    with pytest.raises(ValueError, match="cannot advance by -1 ms; step_back"):
        machine.clock.advance(-1)
    for rate in (0, -1, float("nan")):
        with pytest.raises(ValueError, match="must be above 0"):
            machine.clock.rate = rate


def test_what_no_date_can_hold_is_refused(machine: Machine) -> None:
    """A rate or an amount that would lead beyond the year 9999; the clock goes on as it was."""
    for rate in (float("inf"), 1e7, 1e-7):
        with pytest.raises(ValueError, match=r"0.000001 to 1,000,000"):
            machine.clock.rate = rate
    for ms in (2**63, 10**400):
        with pytest.raises(ValueError, match="year 9999"):
            machine.clock.advance(ms)
    machine.pass_s(1)
    assert (machine.clock.rate, machine.passed_ms(), machine.moves) == (1, (1000, 1000), 0)


def test_freeze_and_resume(machine: Machine) -> None:
    """Frozen wall time stands, and moves by `advance` only; the other reading goes on."""
    machine.clock.freeze()
    machine.pass_s(10)
    assert machine.passed_ms() == (0, 10_000)
    machine.clock.advance(5)
    assert machine.clock.is_frozen
    assert machine.passed_ms() == (5, 10_000)
    machine.clock.resume()
    machine.pass_s(1)
    assert machine.passed_ms() == (1005, 11_000)


def test_rate(machine: Machine) -> None:
    """An hour of wall time in a minute; changing the rate does not jump."""
    machine.clock.rate = 60
    machine.pass_s(60)
    machine.clock.rate = 0.5
    assert machine.passed_ms() == (3_600_000, 60_000)
    machine.pass_s(2)
    assert machine.passed_ms() == (3_601_000, 62_000)
    assert machine.clock.rate == 0.5


def test_a_rate_set_while_frozen_counts_from_the_resume(machine: Machine) -> None:
    """Freezing wins over the rate."""
    machine.clock.freeze()
    machine.clock.rate = 10
    machine.pass_s(1)
    assert machine.passed_ms()[0] == 0
    machine.clock.resume()
    machine.pass_s(1)
    assert machine.passed_ms()[0] == 10_000


def test_what_falls_due_runs_before_advance_returns() -> None:
    """In due order, each at its own moment."""
    machine, lab = Machine(), SimEngine()
    machine.clock.engine = lab.engine
    lab.engine.tick(machine.clock.now())
    start, rang = machine.clock.now(), []
    for after_ms in (300, 100, 900):
        alarm = Deadline(lambda now: rang.append(now.wall_ms - start.wall_ms))
        lab.cluster.timers.wall.arm(alarm, start.wall_ms + after_ms)
    machine.clock.advance(500)
    assert rang == [100, 300]


def test_how_long_to_wait(machine: Machine) -> None:
    """Until the earlier of the two deadlines, each on its own reading at its own pace."""
    clock = machine.clock
    wall_ms, mono_ms = clock.now()
    assert clock.wait_s(NEVER_MS, NEVER_MS) is None
    assert clock.wait_s(wall_ms + 2000, NEVER_MS) == pytest.approx(2)
    assert clock.wait_s(wall_ms + 2000, mono_ms + 500) == pytest.approx(0.5)
    assert clock.wait_s(wall_ms - 5, NEVER_MS) == 0
    clock.rate = 4
    assert clock.wait_s(wall_ms + 2000, NEVER_MS) == pytest.approx(0.5)
    clock.freeze()
    assert clock.wait_s(wall_ms + 2000, NEVER_MS) is None
    clock.advance(1000, timers=True)
    assert clock.wait_s(NEVER_MS, mono_ms + 3000) == pytest.approx(2)


def test_reset_gives_the_machines_time_back(machine: Machine) -> None:
    """After `reset` wall time is the machine's, running, at its pace."""
    machine.clock.advance(DAY_MS)
    machine.clock.rate = 3
    machine.clock.freeze()
    machine.clock.reset()
    machine.pass_s(1)
    assert machine.passed_ms() == (1000, 1000)


@given(st.lists(MOVES, max_size=20))
def test_the_readings_are_the_sum_of_what_was_done(moves: list[tuple[str, int]]) -> None:
    """In both directions, frozen or fast; monotonic time never goes back."""
    machine = Machine()
    wall_ms = mono_ms = 0
    rate, is_frozen = 1, False
    for what, number in moves:
        if what == "pass":
            machine.pass_s(number / 1000)
            wall_ms += 0 if is_frozen else number * rate
            mono_ms += number
        elif what == "advance":
            machine.clock.advance(number)
            wall_ms += number
        elif what == "step back":
            machine.clock.step_back(number)
            wall_ms -= number
        elif what == "advance timers":
            machine.clock.advance(number, timers=True)
            wall_ms += number
            mono_ms += number
        elif what == "rate":
            machine.clock.rate = rate = number
        else:
            is_frozen = what == "freeze"
            (machine.clock.freeze if is_frozen else machine.clock.resume)()
        read_wall_ms, read_mono_ms = machine.passed_ms()
        assert read_wall_ms == pytest.approx(wall_ms, abs=len(moves) + 1)  # a change may lose part of one
        assert read_mono_ms == pytest.approx(mono_ms, abs=1)


def test_a_step_back_moves_wall_time_only(machine: Machine) -> None:
    """By the amount that was asked for; what leads to before 1970, or is negative, is refused and changes nothing."""
    machine.clock.step_back(1500)
    assert (machine.passed_ms(), machine.moves) == ((-1500, 0), 1)
    with pytest.raises(ValueError, match="leads to before 1970"):
        machine.clock.step_back(10**13)
    with pytest.raises(ValueError, match="advance moves it forwards"):
        machine.clock.step_back(-1)
    assert (machine.passed_ms(), machine.moves) == ((-1500, 0), 1)


def test_what_waits_for_a_time_of_day_waits_longer_after_a_step_back(machine: Machine) -> None:
    """The timer of the loop is set again."""
    wall_ms, _ = machine.clock.now()
    machine.clock.step_back(3000)
    assert machine.clock.wait_s(wall_ms + 2000, NEVER_MS) == pytest.approx(5)


def test_a_frozen_clock_shows_what_it_was_set_to(machine: Machine) -> None:
    """Also when it was frozen at the very end of a millisecond, in a float that a sum would round up."""
    machine.pass_s(0.0009998)
    machine.clock.freeze()
    machine.clock.advance(1_000_000_000_000)
    assert machine.passed_ms() == (1_000_000_000_000, 0)


def test_requests_of_one_millisecond_share_an_instant() -> None:
    """While neither reading has moved `now` is the same object; when one has, by whatever way, it is another."""
    readings = {"wall": 1000.0, "mono": 5.0}
    clock = BrokerClock(lambda: None, os_wall=lambda: readings["wall"], os_mono=lambda: readings["mono"])
    first = clock.now()
    assert clock.now() is first
    readings["mono"] += 0.001
    second = clock.now()
    assert (second.wall_ms, second.mono_ms) == (first.wall_ms, first.mono_ms + 1)
    readings["wall"] += 0.002
    assert clock.now().wall_ms == first.wall_ms + 2
    assert clock.now().mono_ms == second.mono_ms

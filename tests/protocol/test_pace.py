"""Tests of long work in steps."""

from collections.abc import Generator

import pytest

from fakebroker.protocol.pace import STEP_S, Pace, StepTime, finished, kept


def test_a_step_is_over_with_what_exceeds_it() -> None:
    """Work that fills a step exactly, and ends there, makes no pause; each step has room for as much."""
    pace = Pace(3)
    assert [pace.is_over() for _ in range(8)] == [False, False, False, True, False, False, False, True]


def test_one_large_piece_is_one_step() -> None:
    """What one piece exceeds a step by is not taken from the next."""
    pace = Pace(3)
    assert pace.is_over(100)
    assert not pace.is_over(3)


def test_work_is_counted_where_it_cannot_pause() -> None:
    """The next question sees it."""
    pace = Pace(3)
    pace.count(4)
    assert pace.is_over(0)
    assert not pace.is_over(0)


def test_a_step_of_few_long_units_is_over_by_the_stopwatch() -> None:
    """What passes between two steps is not counted: others have their turns then."""
    now_s = [0.0]
    pace = Pace(1000, StepTime(lambda: now_s[0]))
    for _ in range(3):
        now_s[0] += 10
        assert not pace.is_over()
        now_s[0] += STEP_S
        assert not pace.is_over()
        now_s[0] += STEP_S / 10
        assert pace.is_over()


def test_what_is_kept_of_many_entries() -> None:
    """All that shall be, in their order; there is a pause after each step, whatever was found in it."""
    seen: list[int] = []
    steps = kept(range(10), lambda number: seen.append(number) is None and number > 6, Pace(5), 2)
    for last_of_step in (2, 5, 8):
        next(steps)
        assert seen[-1] == last_of_step
    assert finished(steps) == [7, 8, 9]


def test_all_steps_at_once() -> None:
    """`finished` gives what the steps return, and raises what they raise."""

    def steps(fault: Exception | None) -> Generator[None, None, str]:
        yield
        if fault is not None:
            raise fault
        yield
        return "result"

    assert finished(steps(None)) == "result"
    with pytest.raises(ValueError, match="no"):
        finished(steps(ValueError("no")))

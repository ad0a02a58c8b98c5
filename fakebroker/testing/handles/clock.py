"""The broker's clock as a test sees it."""

import sys
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

from fakebroker.broker.engine.clock import FASTEST_RATE, SLOWEST_RATE, check_wall_ms
from fakebroker.protocol.arguments.kinds import Number, PythonOnly, Whole
from fakebroker.protocol.arguments.types import Amount, Count
from fakebroker.protocol.durations import duration_ms
from fakebroker.protocol.errors import InvalidArgument
from fakebroker.testing.handles.handle import Handle

if TYPE_CHECKING:
    from fakebroker.testing.explanations.due_events import ClockAndDue

MAX_DUE = 100
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_IN_PYTHON = 'a timedelta or a text such as "8d"'
_DURATION = f"a duration: days=8, hours=, minutes=, seconds=, ms=, or in Python {_IN_PYTHON}"
Duration = Annotated[
    timedelta | str,
    PythonOnly(
        f"{_IN_PYTHON} (a number takes its unit: days=8, ms=500)", lambda value: isinstance(value, timedelta | str)
    ),
]
_LARGEST = sys.float_info.max
_UNITS_MS = {"days": 86_400_000, "hours": 3_600_000, "minutes": 60_000, "seconds": 1000, "ms": 1}


class ClockHandle(Handle):
    """The broker's time of day. Session and rebalance timers run in real time, except in `advance(timers=True)`.

    Wrong arguments raise InvalidArgument and leave the clock as it was: an amount that is negative or not finite, a
    time without a time zone, before 1970 or after the year 9999.
    """

    @property
    def now(self) -> datetime:
        """The broker's time of day, in UTC."""
        return _EPOCH + timedelta(milliseconds=self.now_ms)

    @property
    def now_ms(self) -> int:
        """The same in milliseconds since the epoch."""
        return self._access._call(lambda: self._access._broker_clock.now().wall_ms)

    def advance(
        self, by: Duration | None = None, /, *, days: Amount | None = None, hours: Amount | None = None,
        minutes: Amount | None = None, seconds: Amount | None = None, ms: Count | None = None, timers: bool = False,
    ) -> None:  # fmt: skip
        """Move the time of day forward; due work (expiry, retention, cleaning) has run, in order, when this returns.

        `by` is a timedelta or a string such as "8d" or "1h 30m", instead of numbers with units. Connected clients stay
        alive; with `timers` their session and rebalance timers move, too.
        """
        amount = _amount("advance", by, days=days, hours=hours, minutes=minutes, seconds=seconds, ms=ms)
        self._access._call(lambda: self._advance(amount, timers))

    def step_back(
        self, by: Duration | None = None, /, *, days: Amount | None = None, hours: Amount | None = None,
        minutes: Amount | None = None, seconds: Amount | None = None, ms: Count | None = None,
    ) -> None:  # fmt: skip
        """Set the time of day back, as when a machine's clock is corrected.

        No due work runs; timers of clients continue.

        Stored timestamps stay, and may then lie in the future: they fall due when the clock reaches them again. The
        next cleanup of offsets and the next retention check are not delayed by the step.
        """
        amount = _amount("step_back", by, days=days, hours=hours, minutes=minutes, seconds=seconds, ms=ms)
        self._access._call(lambda: self._step_back(amount))

    def set(self, when: datetime | int) -> None:
        """Set the time of day to `when`: a datetime with a time zone, or milliseconds since the epoch.

        To a later time it is `advance`, to an earlier one `step_back`.
        """
        wall_ms = _wall_ms(when)
        self._access._call(lambda: self._set(wall_ms))

    def run_until(self, when: datetime | int) -> None:
        """Advance to `when`, as in `set`. Also raises InvalidArgument for a time that has passed."""
        wall_ms = _wall_ms(when)
        self._access._call(lambda: self._run_until(wall_ms))

    def freeze(self) -> None:
        """Stop the time of day until `resume`; `advance`, `set` and `step_back` still move it."""
        self._access._call(self._access._broker_clock.freeze)

    def resume(self) -> None:
        """Let the time of day continue from its present value."""
        self._access._call(self._access._broker_clock.resume)

    @property
    def is_frozen(self) -> bool:
        """Whether `freeze` stopped the time of day."""
        return self._access._call(lambda: self._access._broker_clock.is_frozen)

    @property
    def rate(self) -> float:
        """The rate of the time of day relative to real time: from 0.000001 to 1,000,000.

        Other values raise InvalidArgument. A frozen clock continues at this rate when it is resumed.
        """
        return self._access._broker_clock.rate

    @rate.setter
    def rate(self, rate: Annotated[float, Number(SLOWEST_RATE, FASTEST_RATE)]) -> None:
        self._access._call(lambda: setattr(self._access._broker_clock, "rate", rate))

    def due(self, limit: Annotated[int, Whole(1, MAX_DUE)] = 10) -> "ClockAndDue":
        """The next due events, in words: at most `limit` by the time of day, and as many by timers.

        `run_until(due_ms)` goes to an event by the time of day, `advance(ms=left_ms, timers=True)` to one by timers.
        Raises InvalidArgument for a `limit` outside of 1 to 100.
        """
        return self._access._call(lambda: self._due(limit))

    # On the engine's thread

    def _due(self, limit: int) -> "ClockAndDue":
        from fakebroker.testing.explanations.due_events import ClockAndDue, due_events

        clock = self._access._broker_clock
        now = clock.now()
        due = due_events(self._access._engine.cluster, now, limit)
        return ClockAndDue(now.wall_ms, now.mono_ms, clock.rate, clock.is_frozen, due)

    def _advance(self, amount: "_Amount", timers: bool) -> None:
        clock = self._access._broker_clock
        check_wall_ms(amount.field, amount.value, clock.now().wall_ms + amount.total_ms)
        clock.advance(amount.total_ms, timers)

    def _step_back(self, amount: "_Amount") -> None:
        clock = self._access._broker_clock
        check_wall_ms(amount.field, amount.value, clock.now().wall_ms - amount.total_ms)
        clock.step_back(amount.total_ms)

    def _set(self, wall_ms: int) -> None:
        clock = self._access._broker_clock
        by_ms = wall_ms - clock.now().wall_ms
        if by_ms >= 0:
            clock.advance(by_ms)
        else:
            clock.step_back(-by_ms)

    def _run_until(self, wall_ms: int) -> None:
        clock = self._access._broker_clock
        by_ms = wall_ms - clock.now().wall_ms
        if by_ms < 0:
            late = f"when={_EPOCH + timedelta(milliseconds=wall_ms)} has passed"
            raise InvalidArgument("when", wall_ms, f"{late}; set() can go back to it")
        clock.advance(by_ms)


def _amount(method: str, by: timedelta | str | None, **units: float | None) -> "_Amount":
    """The amount of a call: a timedelta, a text, or numbers with units; exactly one of these is given."""
    given = {name: value for name, value in units.items() if value is not None}
    if by is None and not given:
        raise InvalidArgument("days", None, f"{method}() needs {_DURATION}")
    if by is None:
        return _Amount(**given)
    if given:
        raise InvalidArgument(
            "by", by, f"{method}({by!r}): it cannot be combined with {', '.join(f'{name}=' for name in given)}"
        )
    if isinstance(by, str):
        return _Amount(ms=_text_ms(method, by))
    return _Amount(days=by.days, seconds=by.seconds, ms=by.microseconds / 1000)


def _text_ms(method: str, text: str) -> int:
    try:
        return duration_ms(text)
    except ValueError as error:
        raise InvalidArgument("by", text, f"{method}({text!r}): {text!r} {error}") from None


class _Amount:
    """A sum of units of time. `field` and `value` are the first of them that is not 0, for messages."""

    def __init__(self, **units: float) -> None:
        self.field: str = next((name for name, value in units.items() if value), next(iter(units)))
        self.value = units[self.field]
        total_ms: float = 0
        for name, value in units.items():
            total_ms += value * _UNITS_MS[name]
        self.total_ms = round(min(total_ms, _LARGEST))  # finite amounts may add up to infinity


def _wall_ms(when: datetime | int) -> int:
    """Milliseconds since the epoch. Raises InvalidArgument for a time that the clock cannot show."""
    wall_ms = (when - _EPOCH) // timedelta(milliseconds=1) if isinstance(when, datetime) else when
    check_wall_ms("when", when, wall_ms)
    return wall_ms

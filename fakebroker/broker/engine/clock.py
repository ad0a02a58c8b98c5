"""The clock of a broker: it follows a machine's, real or virtual, and a test may move, freeze or speed it up.

Wall time is kept as a straight line: `_wall_ms` at the machine's time `_since_s`, and `_pace_ms` milliseconds more for
each second of the machine's since. Every change of pace starts a new line from the present moment (`_rebase`).
"""

from collections.abc import Callable

from fakebroker.broker.core.deadlines import NEVER_MS
from fakebroker.broker.engine.engine import Engine
from fakebroker.protocol.errors import InvalidArgument
from fakebroker.protocol.instant import Instant

EARLIEST_WALL_MS = 0  # the beginning of 1970; Kafka's timestamps before it mean "none"
LATEST_WALL_MS = 253_402_300_799_999  # the end of the year 9999, after which Python has no date
SLOWEST_RATE, FASTEST_RATE = 1e-6, 1e6
_MS = 1000.0
_ROUNDING_MS = 0.25  # so that whole milliseconds, added to it as floats, are never a little less than whole


class BrokerClock:
    """Wall time starts as the machine's and can be moved, slowed or frozen; monotonic time goes on like the machine's.

    All methods belong to the engine's thread. `on_change` is called after every move, freeze, resume and change
    of rate, because the time until the next deadline is another then.
    """

    def __init__(
        self,
        on_change: Callable[[], None],
        *,
        os_wall: Callable[[], float],
        os_mono: Callable[[], float],
    ) -> None:
        """`os_wall` and `os_mono` are the machine's two readings, in seconds."""
        self.engine: Engine | None = None
        self._on_change = on_change
        self._os_wall = os_wall
        self._os_mono = os_mono
        self._mono_offset_ms = 0
        self._latest = Instant(0, 0)  # what `now` returned last
        self._latest_wall_ms = self._latest_mono_ms = 0  # the same, as numbers of our own: they are read faster
        self.reset()

    def reset(self) -> None:
        """Wall time is the machine's again; this may move it back, so only a new engine may see it."""
        self._rate = 1.0
        self._is_frozen = False
        self._pace_ms = _MS  # milliseconds of wall time per second of the machine's
        self._since_s = self._os_wall()
        self._wall_ms = self._since_s * _MS  # at _since_s

    def after_reset(self) -> Instant:
        """What `now` would return after `reset`."""
        return Instant(int(self._os_wall() * _MS), self.now().mono_ms)

    def restore(self, wall_ms: int, rate: float, is_frozen: bool) -> None:
        """Wall time goes on from `wall_ms`, which may be in the past, so only a new engine may see it."""
        self.reset()
        self._wall_ms, self._rate, self._is_frozen = wall_ms + _ROUNDING_MS, rate, is_frozen
        self._pace_ms = 0.0 if is_frozen else rate * _MS

    def now(self) -> Instant:
        """The present wall and monotonic time, in whole milliseconds.

        All requests of one millisecond share an Instant, which the journal keeps: to make one is costly.
        """
        wall_ms = int(self._wall_ms + (self._os_wall() - self._since_s) * self._pace_ms)
        mono_ms = int(self._os_mono() * _MS) + self._mono_offset_ms
        if wall_ms != self._latest_wall_ms or mono_ms != self._latest_mono_ms:
            self._latest_wall_ms, self._latest_mono_ms = wall_ms, mono_ms
            self._latest = Instant(wall_ms, mono_ms)
        return self._latest

    def advance(self, ms: int, timers: bool = False) -> None:
        """Move wall time by `ms`; with `timers` monotonic time, too. What falls due has run when this returns.

        Raises InvalidArgument for a negative amount and for one beyond the year 9999.
        """
        if ms < 0:
            raise InvalidArgument("ms", ms, f"the clock cannot advance by {ms} ms; step_back moves it back")
        self._move_by(ms, "advanced with timers" if timers else "advanced", ms if timers else 0)

    def step_back(self, ms: int) -> None:
        """Move wall time back by `ms`, as when a machine's clock is corrected; monotonic time goes on.

        Raises InvalidArgument for a negative amount and for one that leads to before 1970.
        """
        if ms < 0:
            raise InvalidArgument("ms", ms, f"the clock cannot step back by {ms} ms; advance moves it forwards")
        self._move_by(-ms, "stepped back", 0)

    def _move_by(self, ms: int, how: str, timers_ms: int) -> None:
        now = self.now()
        check_wall_ms("ms", ms, now.wall_ms + ms)
        self._rebase()
        if self.engine is not None:
            self.engine.tick(now)
            self.engine.move_clock(Instant(now.wall_ms + ms, now.mono_ms + timers_ms), how)
        self._wall_ms += ms
        self._mono_offset_ms += timers_ms
        self._on_change()

    def freeze(self) -> None:
        """Wall time stands still until `resume`; `advance` still moves it."""
        self._rebase()
        self._wall_ms = int(self._wall_ms) + _ROUNDING_MS  # else a sum with what it moves by may be the next whole one
        self._is_frozen, self._pace_ms = True, 0.0
        self._on_change()

    def resume(self) -> None:
        """Wall time goes on from where it stands."""
        self._rebase()
        self._is_frozen, self._pace_ms = False, self._rate * _MS
        self._on_change()

    @property
    def rate(self) -> float:
        """How many times as fast as real time wall time passes; 1 unless a test sets it.

        Setting it raises InvalidArgument outside of SLOWEST_RATE to FASTEST_RATE.
        """
        return self._rate

    @rate.setter
    def rate(self, rate: float) -> None:
        if not rate > 0:
            raise InvalidArgument("rate", rate, f"the rate {rate} must be above 0; freeze() stops the clock")
        if not SLOWEST_RATE <= rate <= FASTEST_RATE:
            limits = f"{SLOWEST_RATE:f} to {FASTEST_RATE:,.0f}"
            raise InvalidArgument("rate", rate, f"the rate {rate} must be from {limits}")
        self._rebase()
        self._rate = rate
        if not self._is_frozen:
            self._pace_ms = rate * _MS
        self._on_change()

    @property
    def is_frozen(self) -> bool:
        """Whether wall time stands still."""
        return self._is_frozen

    def wait_s(self, wall_due_ms: int, mono_due_ms: int) -> float | None:
        """Seconds of real time until the first of two deadlines; None if neither will ever come.

        `wall_due_ms` is in wall time, `mono_due_ms` in monotonic time; NEVER_MS is no deadline.
        """
        waits = []
        if mono_due_ms != NEVER_MS:
            waits.append((mono_due_ms - self._mono_offset_ms) / _MS - self._os_mono())
        if wall_due_ms != NEVER_MS and self._pace_ms:
            waits.append((wall_due_ms - self._wall_ms) / self._pace_ms - (self._os_wall() - self._since_s))
        return max(0.0, min(waits)) if waits else None

    def _rebase(self) -> None:
        """Start a new line of wall time at the present moment, so that `_pace_ms` can change without a jump."""
        os_wall_s = self._os_wall()
        self._wall_ms += (os_wall_s - self._since_s) * self._pace_ms
        self._since_s = os_wall_s


def check_wall_ms(field: str, value: object, wall_ms: int) -> None:
    """Raises InvalidArgument for a time of day that the clock cannot show; `field` is what led there."""
    if wall_ms > LATEST_WALL_MS:
        raise InvalidArgument(field, value, f"{field}={value} leads beyond the year 9999, where the clock ends")
    if wall_ms < EARLIEST_WALL_MS:
        raise InvalidArgument(field, value, f"{field}={value} leads to before 1970, where the clock begins")

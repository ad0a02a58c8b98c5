"""The broker's clock as a test sees it."""

from datetime import UTC, datetime

from fakebroker.handles.handle import Handle


class ClockHandle(Handle):
    """The broker's time of day. Session and rebalance timers go on in real time, except in `advance(timers=True)`."""

    @property
    def now(self) -> datetime:
        """The broker's time of day, in UTC."""
        return datetime.fromtimestamp(self.now_ms / 1000, UTC)

    @property
    def now_ms(self) -> int:
        """The same in milliseconds since the epoch."""
        return self._access.call(lambda: self._access.loop_clock.now().wall_ms)

    def advance(
        self, *, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0, ms: int = 0,
        timers: bool = False,
    ) -> None:  # fmt: skip
        """Move the time of day; what falls due (expiry, retention, cleaning) has run, in due order, when this returns.

        Connected clients stay alive; with `timers` their session and rebalance timers move, too.
        Raises ValueError for a negative amount, one that is no number, and one beyond the year 9999.
        """
        try:
            total_ms = round((((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000) + ms
        except (OverflowError, ValueError):  # infinite, or no number
            raise ValueError("the clock can only be moved by a finite amount of time") from None
        self._access.call(lambda: self._access.loop_clock.advance(total_ms, timers))

    def run_until(self, when: datetime) -> None:
        """Advance to a time of day. Raises ValueError for one that has passed."""
        self._access.call(lambda: self._run_until(round(when.timestamp() * 1000)))

    def freeze(self) -> None:
        """The time of day stands still until `resume`; `advance` still moves it."""
        self._access.call(self._access.loop_clock.freeze)

    def resume(self) -> None:
        """The time of day goes on from where it stands."""
        self._access.call(self._access.loop_clock.resume)

    @property
    def rate(self) -> float:
        """How many times as fast as real time the time of day passes: from 0.000001 to 1,000,000.

        Setting anything else raises ValueError.
        """
        return self._access.loop_clock.rate

    @rate.setter
    def rate(self, rate: float) -> None:
        self._access.call(lambda: setattr(self._access.loop_clock, "rate", rate))

    def _run_until(self, wall_ms: int) -> None:
        self._access.loop_clock.advance(wall_ms - self._access.loop_clock.now().wall_ms)

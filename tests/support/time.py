"""Where the tests' time begins, and how it passes."""

from fakebroker.broker.core.deadlines import Timers
from fakebroker.protocol.instant import Instant

T0 = 1_700_000_000_000
START = Instant(wall_ms=T0, mono_ms=5_000)
SECOND, MINUTE, HOUR, DAY = 1000, 60_000, 3_600_000, 86_400_000


class TimeDriven:
    """Something whose time a test passes; what falls due in `timers` on the way runs at its own moment."""

    def __init__(self, timers: Timers, start: Instant = START) -> None:
        self._timers = timers
        self._start = start
        self.now = start

    @property
    def ms(self) -> int:
        """How much has passed."""
        return self.now.mono_ms - self._start.mono_ms

    @ms.setter
    def ms(self, ms: int) -> None:
        """Time has passed while nothing ran."""
        self.now = self._start.plus(ms)

    def wait(self, ms: int) -> int:
        """Let time pass on both readings; how many deadlines ran."""
        target, ran = self.now.plus(ms), 0
        for moment, action in self._timers.pop_due(self.now, target):
            self.now = moment
            action(moment)
            ran += 1
        self.now = target
        return ran

"""SIGINT and SIGTERM while a command starts, before its event loop has handlers of its own."""

import signal
import sys
from types import FrameType

from fakebroker.platform.signals import SIGNALS


class EarlySignals:
    """Ends the process with status 0 at a signal, as a broker that runs ends.

    Python ignores what a handler raises in some places: a signal that comes while the lock of an import is dropped does
    not end the process. So it is remembered, too: look at `has_come` once the loop has handlers of its own.
    """

    def __init__(self) -> None:
        self.has_come = False
        for number in SIGNALS:
            signal.signal(number, self._came)

    def _came(self, _number: int, _frame: FrameType | None) -> None:
        self.has_come = True
        sys.exit(0)

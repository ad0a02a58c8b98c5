"""Gives back the memory of brokers, scenarios and states of a broker that have ended.

The objects of a broker refer to each other, so one that has ended waits for Python's cycle collector. That runs by the
number of new objects, and a broker is some hundred objects, perhaps with a gigabyte of records.
"""

import asyncio
import gc
from time import monotonic
from typing import Final

SOON_S: Final = 0.05  # until the request that ended something is answered, and refers to it no more
PAUSE: Final = 4  # times as long as the collector took, it does not run again


class Leftovers:
    """What has ended in the running loop. The collector runs once for all that ends at nearly the same time."""

    def __init__(self) -> None:
        self._timer: asyncio.TimerHandle | None = None
        self._not_before_s = 0.0
        self._is_closed = False

    def add(self) -> None:
        """Note that something has ended: the collector runs soon, unless the process wants no collector."""
        if self._timer is None and not self._is_closed:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_at(max(loop.time() + SOON_S, self._not_before_s), self._collect, loop)

    def close(self) -> None:
        """Run no more."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _collect(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        began_s = monotonic()
        if gc.isenabled():
            gc.collect()
        self._not_before_s = loop.time() + PAUSE * (monotonic() - began_s)

"""The longest turn of an event loop, counted by calls: the same on every machine, however busy it is."""

import sys
from asyncio.events import Handle
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from tests.support.work_counter import no_collection

_RUN = Handle._run.__code__


class Turns:
    """Counts the calls of each turn, of Python and of built-in functions."""

    def __init__(self) -> None:
        self.longest = 0
        self._calls = 0

    def note(self, frame: FrameType, event: str, _argument: object) -> None:
        """What `sys.setprofile` wants."""
        if event in ("call", "c_call"):
            self._calls += 1
            self.longest = max(self.longest, self._calls)
            if frame.f_code is _RUN and event == "call":
                self._calls = 0


@contextmanager
def counted_turns() -> Iterator[Turns]:
    """Count in this thread; a turn that is under way begins anew."""
    turns, before = Turns(), sys.getprofile()
    with no_collection():
        sys.setprofile(turns.note)
        try:
            yield turns
        finally:
            sys.setprofile(before)

"""Work counted by calls, of Python and of built-in functions: the same on every machine, however busy it is."""

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def no_collection() -> Iterator[None]:
    """Keep the cycle collector away: its callbacks, as Hypothesis has one, are calls that are nobody's work."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def calls_of(work: Callable[[], object]) -> int:
    """How many calls something makes."""
    count = 0

    def note(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    with no_collection():
        sys.setprofile(note)
        try:
            work()
        finally:
            sys.setprofile(before)
    return count

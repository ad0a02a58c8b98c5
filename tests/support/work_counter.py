"""Work counted by calls, of Python and of built-in functions: the same on every machine, however busy it is."""

import sys
from collections.abc import Callable


def calls_of(work: Callable[[], object]) -> int:
    """How many calls something makes."""
    count = 0

    def note(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count

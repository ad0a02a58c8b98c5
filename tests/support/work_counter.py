"""Work counted by calls, of Python and of built-in functions, or by operations: the same on every machine."""

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


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


def operations_of(work: Callable[[], object], counts: Callable[[FrameType], bool] = lambda _frame: True) -> int:
    """How many operations of the interpreter something makes: a loop without calls counts, too.

    `counts` says of which functions.
    """
    count = 0

    def note(frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal count
        if event == "call" and not counts(frame):
            return None
        count += event == "opcode"
        frame.f_trace_opcodes = True
        return note

    before = sys.gettrace()
    with no_collection():
        sys.settrace(note)
        try:
            work()
        finally:
            sys.settrace(before)
    return count

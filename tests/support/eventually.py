"""Waiting for what another process does."""

import time
from collections.abc import Callable


def eventually(condition: Callable[[], bool], within_s: float = 30) -> None:
    """Ask until it is so.

    :raises AssertionError: it was not so within the time
    """
    end_s = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < end_s, f"not within {within_s} s"
        time.sleep(0.05)

"""A wait that is under way: tried after everything the engine does, until it gives something."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from fakebroker.errors import InvalidArgument


class Waiter:
    """A wait: `probe` is tried until it returns something, which becomes the result of the future."""

    def __init__(self, probe: Callable[[], Any], future: "Future[Any] | asyncio.Future[Any]") -> None:
        self.probe = probe
        self._future = future

    def found(self, result: object) -> None:
        if not self._future.done():
            self._future.set_result(result)

    def failed(self, error: Exception) -> None:
        if not self._future.done():
            self._future.set_exception(error)


def check_timeout_s(timeout_s: float) -> None:
    """Raises InvalidArgument for what is no number of seconds, 0 or more; infinite is for ever."""
    if isinstance(timeout_s, bool) or not isinstance(timeout_s, int | float) or not timeout_s >= 0:
        text = f"timeout_s={timeout_s!r} is not a number of seconds, 0 or more"
        raise InvalidArgument("timeout_s", timeout_s, text)

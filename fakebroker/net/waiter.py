"""A wait that is under way: tried after everything the engine does, until it gives something."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any


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

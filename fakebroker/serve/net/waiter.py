"""Waits that are under way: each is tried after everything the engine does, until it gives something."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from fakebroker.protocol.errors import BrokerStopped


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


class Waiters:
    """The waits of a broker. All but `forget` belongs to the engine's thread."""

    def __init__(self) -> None:
        self._waiters: list[Waiter] = []
        self._is_notifying = False

    def __len__(self) -> int:
        return len(self._waiters)

    def add(self, waiter: Waiter, is_running: bool) -> None:
        """Begin a wait: try it at once, then after each `notify`. On a stopped broker it is tried once only."""
        self._waiters.append(waiter)
        self._try(waiter)
        if not is_running:
            self.end("the broker is not running, so the wait would never end")

    def notify(self) -> None:
        """Try every wait; called after everything that the engine does."""
        if self._waiters and not self._is_notifying:  # a probe may call handles, which makes the engine do something
            self._is_notifying = True
            try:
                for waiter in tuple(self._waiters):
                    self._try(waiter)
            finally:
                self._is_notifying = False

    def forget(self, waiter: Waiter) -> None:
        """The wait is over, or given up."""
        with suppress(ValueError):  # forgotten already, perhaps by another thread
            self._waiters.remove(waiter)

    def end(self, reason: str) -> None:
        """No wait can succeed any more: all raise BrokerStopped."""
        for waiter in tuple(self._waiters):
            waiter.failed(BrokerStopped(reason))
        self._waiters.clear()

    def clear(self) -> None:
        """Forget all without a word: in a forked child they are the parent's, as a `notify` is that was under way."""
        self._waiters.clear()
        self._is_notifying = False

    def _try(self, waiter: Waiter) -> None:
        try:
            found = waiter.probe()
        except Exception as error:
            waiter.failed(error)
        else:
            if found is None:
                return
            waiter.found(found)
        self.forget(waiter)

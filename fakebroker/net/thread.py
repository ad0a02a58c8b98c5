"""The thread of brokers that have a loop of their own, and how other threads get something done there."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from fakebroker.net.loop import new_event_loop

T = TypeVar("T")


class LoopThread:
    """A thread that runs an event loop from `start` to `stop`; `begin` and `end` are awaited there first and last.

    Whatever `hand_over` took is run, and before `end`: `_gate` puts it into the loop's queue before the order to stop.
    """

    def __init__(
        self, begin: Callable[[], Coroutine[Any, Any, None]], end: Callable[[], Coroutine[Any, Any, None]]
    ) -> None:
        self._begin = begin
        self._end = end
        self._loop: asyncio.AbstractEventLoop
        self._gate = threading.Lock()
        self._is_open = False  # changes under the gate only, as does the next
        self._is_to_stop = False
        self._started: Future[None] = Future()
        self._thread = threading.Thread(target=self._live, name="fakebroker", daemon=True)

    @property
    def is_open(self) -> bool:
        """Whether functions can be handed over."""
        return self._is_open

    @property
    def is_current(self) -> bool:
        """Whether this is the thread that asks."""
        return threading.current_thread() is self._thread

    def start(self) -> None:
        """Start, and wait until `begin` is done. Raises what that raised; then the thread has ended."""
        self._thread.start()
        try:
            self._started.result()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Wait until all is run that was handed over, `end` is done and the thread has ended."""
        with self._gate:
            self._is_to_stop = True
            if self._is_open:
                self._is_open = False
                self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def hand_over(self, function: Callable[[], T]) -> "Future[T] | None":
        """Have `function` run on the thread; its outcome. None: the thread is stopping or has ended."""
        done: Future[T] = Future()
        with self._gate:
            if not self._is_open:
                return None
            self._loop.call_soon_threadsafe(_fulfil, done, function)
        return done

    def _live(self) -> None:
        self._loop = new_event_loop()
        try:
            self._run()
        finally:
            self._loop.close()

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._begin())
        except BaseException as error:
            self._started.set_exception(error)
            return
        with self._gate:
            self._is_open = not self._is_to_stop
        self._started.set_result(None)
        try:
            if self._is_open:
                self._loop.run_forever()
        finally:
            with self._gate:
                self._is_open = False  # also when the loop ended by itself
            self._loop.run_until_complete(self._end())


def _fulfil(done: "Future[T]", function: Callable[[], T]) -> None:
    try:
        done.set_result(function())
    except BaseException as error:
        done.set_exception(error)

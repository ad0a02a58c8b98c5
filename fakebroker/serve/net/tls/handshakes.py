"""Handshakes beside the event loop, where clients show certificates.

OpenSSL decodes the key of every certificate before it asks who has signed it. A key of 700 bytes with a curve of its
own takes half a second, and nothing can tell OpenSSL not to: in TLS 1.3 nobody but OpenSSL sees the certificates. While
it is at work, other threads are served, and a step that takes long has the lowest priority from then on.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from threading import Lock, Thread, get_native_id
from typing import Final

from fakebroker.platform.processes import give_lowest_priority

MOST_THREADS: Final = 512
SHORT_S: Final = 0.02  # a step takes 2 ms


class _Step:
    """A step of a handshake. It forgets what it was given, so that no thread keeps a connection from its end."""

    def __init__(self, handshake: Callable[[], None], then: Callable[[Exception | None], None]) -> None:
        self._handshake = [handshake]
        self._then = [then]
        self._loop = asyncio.get_running_loop()
        self._thread_id: int | None = None  # of the thread that takes it
        self._timer = self._loop.call_later(SHORT_S, self._slow_down)

    def forget(self) -> None:
        """Nobody waits for it any more. If it is not being taken yet, it never is."""
        self._handshake.clear()
        self._then.clear()

    def take_in_thread(self) -> None:
        """Take it in a thread of its own."""
        self._thread_id = get_native_id()
        self.take()
        self._thread_id = None

    def take(self) -> None:
        """Take it, and have `then` called in the loop."""
        try:
            handshake = self._handshake.pop()
        except IndexError:
            return
        error: Exception | None = None
        try:
            handshake()
        except Exception as failed:
            error = failed.with_traceback(None)  # it would be a cycle, with all that OpenSSL has of the connection
        del handshake
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._tell, error)

    def _slow_down(self) -> None:
        if (thread_id := self._thread_id) is not None:
            give_lowest_priority(thread_id)
        elif self._handshake:  # it is in line
            self._timer = self._loop.call_later(SHORT_S, self._slow_down)

    def _tell(self, error: Exception | None) -> None:
        self._timer.cancel()
        for then in self._then:
            then(error)
        self.forget()


class Handshakes:
    """Goes on with handshakes in threads, among which the system divides its time: one that takes long holds up no
    other, unless there are very many.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._waiting = deque[_Step]()
        self._threads = 0

    def go_on(self, handshake: Callable[[], None], then: Callable[[Exception | None], None]) -> _Step:
        """Take a step of a handshake. The running loop calls `then` with the error or None, unless it was closed."""
        step = _Step(handshake, then)
        with self._lock:
            self._waiting.append(step)
            may_begin = self._threads < MOST_THREADS
            self._threads += may_begin
        if may_begin:
            self._begin()
        return step

    def _begin(self) -> None:
        try:
            Thread(target=self._work, name="fakebroker-handshake", daemon=True).start()
        except RuntimeError:  # the system has no further thread
            with self._lock:
                self._threads -= 1
                step = self._waiting.pop() if self._waiting and not self._threads else None
            if step is not None:  # nobody else would take it
                step.take()

    def _work(self) -> None:
        """Take the steps that wait. They are none but the thread's own unless there are very many; then they may have
        the lowest priority, which a thread cannot give back.
        """
        while (step := self._next()) is not None:
            step.take_in_thread()

    def _next(self) -> _Step | None:
        """The step that has waited longest. With None the thread is over."""
        with self._lock:
            if self._waiting:
                return self._waiting.popleft()
            self._threads -= 1
            return None

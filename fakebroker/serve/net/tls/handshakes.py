"""Handshakes beside the event loop, where clients show certificates.

OpenSSL decodes the key of every certificate before it asks who has signed it. A key of 700 bytes with a curve of its
own takes half a second, and nothing can tell OpenSSL not to: in TLS 1.3 nobody but OpenSSL sees the certificates. While
it is at work, other threads are served, and these here have the lowest priority.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from ssl import SSLError
from typing import Final

from fakebroker.platform.processes import give_thread_lowest_priority

MOST_THREADS: Final = 512


class _Step:
    """A step of a handshake. It forgets what it was given, so that no thread keeps a connection from its end."""

    def __init__(self, handshake: Callable[[], None], then: Callable[[SSLError | None], None]) -> None:
        self._handshake = [handshake]
        self._then = [then]
        self._loop = asyncio.get_running_loop()

    def forget(self) -> None:
        """Nobody waits for it any more. If it is not being taken yet, it never is."""
        self._handshake.clear()
        self._then.clear()

    def take(self) -> None:
        """Take it, and have `then` called in the loop."""
        error: SSLError | None = None
        try:
            self._handshake.pop()()
        except IndexError:
            return
        except SSLError as failed:
            error = failed.with_traceback(None)  # it would be a cycle, with all that OpenSSL has of the connection
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._tell, error)

    def _tell(self, error: SSLError | None) -> None:
        for then in self._then:
            then(error)
        self.forget()


class Handshakes:
    """Goes on with handshakes in threads, among which the system divides its time: one that takes long holds up no
    other, unless there are very many.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting = deque[_Step]()
        self._threads = 0

    def go_on(self, handshake: Callable[[], None], then: Callable[[SSLError | None], None]) -> _Step:
        """Take a step of a handshake. The running loop calls `then` with the error or None, unless it was closed."""
        step = _Step(handshake, then)
        with self._lock:
            self._waiting.append(step)
            has_thread = self._threads < MOST_THREADS
            self._threads += has_thread
        if has_thread:
            self._begin()
        return step

    def _begin(self) -> None:
        try:
            threading.Thread(target=self._work_beside, name="fakebroker-handshake", daemon=True).start()
        except RuntimeError:  # the system has no further thread
            with self._lock:
                self._threads -= 1
                is_alone = not self._threads
                self._threads += is_alone
            if is_alone:  # nobody else would take it
                self._work()

    def _work_beside(self) -> None:
        give_thread_lowest_priority()
        self._work()

    def _work(self) -> None:
        while (step := self._next()) is not None:
            step.take()

    def _next(self) -> _Step | None:
        """The step that has waited longest. With None the thread is over."""
        with self._lock:
            if self._waiting:
                return self._waiting.popleft()
            self._threads -= 1
            return None

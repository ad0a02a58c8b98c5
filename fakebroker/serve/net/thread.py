"""The thread of brokers that have a loop of their own, and how other threads get something done there."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from fakebroker.protocol.errors import BrokerStopped
from fakebroker.serve.net.loop import new_event_loop

T = TypeVar("T")


class LoopThread:
    """A thread that runs an event loop from `start` to `stop`; `begin` and `end` are awaited there first and last.

    Every function that `hand_over` accepts is run, before `end`. The difficulty is a `hand_over` in one thread while
    another calls `stop`: a function that came into the loop's queue after the order to stop would never run, and its
    caller would wait for ever. Therefore both go through a lock, `_gate`: either the function is put into the queue
    before the order, or `hand_over` finds the gate closed and returns None. asyncio runs what is in the queue before
    the order in the same turn of the loop, so nothing is left over.

    The loop itself may fail, e.g. because a function closed its selector. Then what was handed over and has not run
    raises BrokerStopped, as every later `hand_over` does; in place of `end` there is a call of `give_up`, which has no
    loop to work with.
    """

    def __init__(
        self,
        begin: Callable[[], Coroutine[Any, Any, None]],
        end: Callable[[], Coroutine[Any, Any, None]],
        give_up: Callable[[BaseException, str], None],
    ) -> None:
        """`give_up` is called with the loop's error and with a text that names it."""
        self._begin = begin
        self._end = end
        self._give_up = give_up
        self._failure: str | None = None  # why the loop does not run any more; written under the gate only
        self._not_run: dict[Future[Any], None] = {}  # what was handed over and has not run yet
        self._loop: asyncio.AbstractEventLoop
        self._gate = threading.Lock()
        self._is_open = False  # whether the loop runs and takes functions; written under the gate only
        self._is_to_stop = False  # `stop` was called, perhaps before the loop runs; written under the gate only
        self._started: Future[None] = Future()
        self._thread = threading.Thread(target=self._main, name="fakebroker", daemon=True)

    @property
    def is_open(self) -> bool:
        """Whether functions can be handed over."""
        return self._is_open

    @property
    def has_failed(self) -> bool:
        """Whether the loop ended by an error."""
        return self._failure is not None

    @property
    def is_current(self) -> bool:
        """Whether the calling thread is this one."""
        return threading.current_thread() is self._thread

    def start(self) -> None:
        """Start, and wait until `begin` is done. Raises what `begin` raised; the thread has ended then."""
        self._thread.start()
        try:
            self._started.result()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Wait until everything handed over has run, `end` is done and the thread has ended. May be called twice."""
        with self._gate:
            self._is_to_stop = True
            if self._is_open:
                self._is_open = False
                self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def hand_over(self, function: Callable[[], T]) -> "Future[T] | None":
        """Have `function` run on the thread. Returns the future of its result or exception.

        None if it will not be run, because the thread has not started, is stopping or has ended. Raises BrokerStopped
        if the loop has failed; so does the future if it fails before the function's turn.
        """
        done: Future[T] = Future()
        with self._gate:
            if self._failure is not None:
                raise BrokerStopped(self._failure)
            if not self._is_open:
                return None
            self._not_run[done] = None
            self._loop.call_soon_threadsafe(self._fulfil, done, function)
        return done

    def _main(self) -> None:
        try:
            self._loop = new_event_loop()
        except BaseException as error:  # no descriptors left, most likely
            self._started.set_exception(error)
            return
        try:
            self._run()
        finally:
            try:
                self._loop.close()
            except Exception:
                if self._failure is None:  # else it is the same again
                    raise

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._begin())
        except BaseException as error:
            self._started.set_exception(error)
            return
        with self._gate:
            # An interrupted `start` calls `stop` while `begin` still runs.
            is_opened = self._is_open = not self._is_to_stop
        self._started.set_result(None)
        try:
            if is_opened:  # even if `stop` was called since: its order is in the loop's queue
                self._loop.run_forever()
        except BaseException as error:
            self._failed(error)
            return
        with self._gate:
            self._is_open = False  # `stop` did that, unless a handed-over function called loop.stop() itself
        self._loop.run_until_complete(self._end())

    def _failed(self, error: BaseException) -> None:
        text = f"the broker's thread died of {error!r}; stop() raises that error, start() starts a new thread"
        with self._gate:
            self._is_open = False
            self._failure = text
        for done in self._not_run:
            done.set_exception(BrokerStopped(text))
        self._not_run.clear()
        self._give_up(error, text)

    def _fulfil(self, done: "Future[T]", function: Callable[[], T]) -> None:
        del self._not_run[done]
        try:
            done.set_result(function())
        except BaseException as error:
            done.set_exception(error)

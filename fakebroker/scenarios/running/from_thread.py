"""The powers of an AsyncFakeBroker for another thread, whose calls block: a player is no part of the broker's loop."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from typing import TYPE_CHECKING, Any, TypeVar

from fakebroker.broker.engine.engine import Engine
from fakebroker.protocol.errors import BrokerStopped
from fakebroker.protocol.listeners import Listener
from fakebroker.testing.broker import AsyncFakeBroker
from fakebroker.testing.handles.broker_control import BrokerControl

if TYPE_CHECKING:
    from fakebroker.testing.snapshot.snapshot import Snapshot

T = TypeVar("T")


class FromThread(BrokerControl):
    """A broker that runs in `loop`, as other threads reach it. `close` ends their calls, and lets no more begin."""

    def __init__(self, broker: AsyncFakeBroker, loop: asyncio.AbstractEventLoop) -> None:
        self._broker = broker
        self._loop = loop
        self._gate = threading.Lock()
        self._is_closed = False
        self._under_way: dict[Future[Any], None] = {}

    def is_of(self, broker: AsyncFakeBroker) -> bool:
        """Whether this reaches `broker`."""
        return self._broker is broker

    @property
    def _engine(self) -> Engine:
        """The engine of the moment."""
        return self._broker._engine

    @property
    def _broker_clock(self) -> Any:
        """The clock itself; to be used inside `call`."""
        return self._broker._broker_clock

    @property
    def _server(self) -> Any:
        """Its sockets; to be used inside `call`."""
        return self._broker._server

    @property
    def listeners(self) -> Sequence[Listener]:
        """Where clients are accepted."""
        return self._broker.listeners

    @property
    def bootstrap(self) -> str:
        """What clients call bootstrap.servers."""
        return self._broker.bootstrap

    @property
    def is_running(self) -> bool:
        """Whether clients can connect."""
        return self._broker.is_running

    @property
    def errors(self) -> list[Exception]:
        """The broker's internal errors so far."""
        return self._broker.errors

    def _call(self, function: Callable[[], T]) -> T:
        """Run `function` in the loop, and wait for its result. Raises BrokerStopped after `close`."""
        done: Future[T] = Future()

        def run() -> None:
            if not done.set_running_or_notify_cancel():
                return
            try:
                done.set_result(self._broker._call(function))
            except BaseException as error:
                done.set_exception(error)

        return self._result(done, lambda: self._loop.call_soon_threadsafe(run))

    def wait(self, probe: Callable[[], T | None], timeout_s: float, failure: Callable[[], str]) -> T:
        """Block until `probe` gives something. Raises WaitTimeout, and BrokerStopped when the broker is stopped."""

        async def waited() -> T:
            return await self._broker.wait(probe, timeout_s, failure)

        def begin() -> None:
            task = self._loop.create_task(waited())
            task.add_done_callback(finish)

        def finish(task: "asyncio.Task[T]") -> None:
            if done.cancelled():
                task.cancelled() or task.exception()
            elif task.cancelled():
                done.set_exception(BrokerStopped("the broker's loop has ended"))
            elif (error := task.exception()) is not None:
                done.set_exception(error)
            else:
                done.set_result(task.result())

        done: Future[T] = Future()
        return self._result(done, lambda: self._loop.call_soon_threadsafe(begin))

    def close(self) -> None:
        """End the calls and waits of other threads, which raise BrokerStopped, as later ones do."""
        with self._gate:
            self._is_closed = True
            for done in self._under_way:
                done.cancel()

    def _result(self, done: "Future[T]", begin: Callable[[], object]) -> T:
        with self._gate:
            if self._is_closed:
                raise BrokerStopped("the broker no longer serves this thread")
            try:
                begin()
            except RuntimeError:  # the loop was closed
                raise BrokerStopped("the broker's loop has ended") from None
            self._under_way[done] = None
        try:
            return done.result()
        except CancelledError:
            raise BrokerStopped("the broker was stopped") from None
        finally:
            with self._gate:
                self._under_way.pop(done, None)

    def _take_snapshot(self) -> "Snapshot":
        return self._broker._take_snapshot()

    def _restore(self, snapshot: "Snapshot") -> None:
        self._broker._restore(snapshot)

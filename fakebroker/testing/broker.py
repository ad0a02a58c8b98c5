"""A broker in this process: FakeBroker in a thread of its own, AsyncFakeBroker in your event loop.

    with FakeBroker() as broker:                          async with AsyncFakeBroker() as broker:
        broker.create_topic("orders", partitions=3)           broker.create_topic("orders", partitions=3)
        ... any client at broker.bootstrap ...                await broker.group("billing").wait(state="Stable")

Both have one object model (testing/handles/). What differs: FakeBroker's methods may be called from any thread and its
waits block; AsyncFakeBroker's belong to the loop it was started in, and its waits are to be awaited.

`start` listens, `stop` closes everything, and then `start` goes on: on the same ports, with the same topics, records,
committed offsets, history and clock, as Kafka does with its disk. Groups are what their logs say. What fell due
meanwhile happens at the start. `reset` is a new broker on the same ports. A forked child has a stopped copy of a
running broker, with copies of none of its sockets.
"""

import asyncio
import inspect
import os
import threading
import weakref
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import TYPE_CHECKING, Never, Self, TypeVar

from fakebroker.platform.processes import after_fork_in_child
from fakebroker.platform.sockets import check_watches_sockets
from fakebroker.protocol.arguments.checks import check_options
from fakebroker.protocol.arguments.types import Name, Passwords, TimeoutS
from fakebroker.protocol.errors import WaitTimeout
from fakebroker.serve.listener_options import FIRST_NODE_ID, FirstNodeId, NodeCount, listeners_for
from fakebroker.serve.net.ports import Ports
from fakebroker.serve.net.server import Server
from fakebroker.serve.net.thread import LoopThread
from fakebroker.serve.net.waiter import Waiter, Waiters
from fakebroker.testing.broker_base import BrokerBase, noted_on
from fakebroker.testing.journal.make import make_journal
from fakebroker.testing.literals import Profile, ReleaseName

if TYPE_CHECKING:
    from fakebroker.broker.engine.security.key_sets import Fetched
    from fakebroker.client.scripted.tcp_driver import TcpDriver

T = TypeVar("T")


class _Broker(BrokerBase):
    """What both brokers share beside `BrokerBase`: sockets and waits."""

    _server: Server

    def __init__(
        self,
        *,
        nodes: NodeCount = 1,
        node_id: FirstNodeId = FIRST_NODE_ID,
        racks: Sequence[Name | None] | None = None,
        config: Mapping[str, object] | None = None,
        users: Passwords | None = None,
        acls: Sequence[Mapping[str, object]] | None = None,
        seed: int = 0,
        profile: Profile = "test",
        as_release: ReleaseName = "4.3",
        listen: str | Sequence[str] | Ports | None = None,
        advertise: str | Sequence[str] | None = None,
        journal_dir: str | os.PathLike[str] | None = None,
        data: str | os.PathLike[str] | None = None,
        verbose: bool = False,
        **unknown: Never,
    ) -> None:
        """A broker that is not started yet.

        `nodes` is the number of brokers, with ids from `node_id` on; `racks` are their racks, in order. `config` are
        broker settings by their Kafka names, `profile` ("test" or "kafka") their defaults. `users` are passwords by
        user: with them every client must log in with SASL, unless `listen` has "protocol=PLAINTEXT,HOST:PORT". `acls`
        are ACLs ({"allow": "User:alice", "operation": "READ", "topic": "orders"}): with them, even an empty list, an
        authorizer refuses everything else, except to the `super.users` of `config`. `as_release` emulates that Kafka
        release; `seed` determines all random ids. `listen` is "HOST:PORT", or several ("node=2,HOST:PORT",
        "dialect=kip-17,HOST:PORT", "protocol=SASL_PLAINTEXT,HOST:PORT"), or ports that are already bound; port 0 takes
        a free one. `advertise` are the addresses that responses contain instead, in the same order. `journal_dir` is
        the directory of the journal, `verbose` logs every request and event. `data` is a directory that keeps the state
        of the broker in Kafka's format; a broker on a directory that has a cluster goes on with it.

        Raises SettingError for bad settings, UnknownRelease, InvalidArgument for bad nodes, racks, seed and addresses,
        for an option that does not exist, for a directory without write access, and for a data directory that is of
        other brokers, of a newer release or damaged; Unavailable for one that is in use.
        """
        if unknown:
            check_options("a broker", unknown, broker_options())
        super().__init__(nodes, racks, config, seed, profile, as_release, users, acls, node_id)
        ports = listen if isinstance(listen, Ports) else Ports(listeners_for(self._node_ids, listen, advertise))
        journal = make_journal(journal_dir, verbose)
        self._tells_more = False  # in a turn to come
        self._waiters = Waiters()
        server = self._make_server(ports, data, self._after_turn if journal.has_observers else self._waiters.notify)
        self._life = threading.RLock()  # FakeBroker: held while starting, stopping, and in calls on a stopped broker
        server.host_reads = self._host_reads
        self._serve_by(server, journal)
        if any(listener.has_tls for listener in self._listeners):
            self._check_tls()
        _BROKERS.add(self)

    def _make_server(
        self, ports: Ports, data: str | os.PathLike[str] | None, after_flush: Callable[[], None]
    ) -> Server:
        if data is None:
            return Server(ports, after_flush)
        from fakebroker.serve.storage.broker_storage import BrokerStorage
        from fakebroker.serve.storage.storing_server import StoringServer

        self._storage = BrokerStorage(data, self._node_ids)
        return StoringServer(ports, self._storage, after_flush)

    def on_data_failure(self, action: Callable[[str], None]) -> None:
        """Call `action` with the reason when no node is left that can write to its data directory."""
        if self._storage is not None:
            self._storage.on_failure = action

    def _check_tls(self) -> None:
        """Raises SettingError if a listener cannot speak TLS, at once and not when the first client comes."""
        for listener in self._listeners:
            if listener.has_tls:
                self._server.tls.of(listener)

    def _make_driver(self) -> "TcpDriver":
        from fakebroker.client.scripted.tcp_driver import TcpDriver

        listener = self._listeners[0]
        if not listener.has_tls:
            return TcpDriver(listener.host, listener.port)
        from fakebroker.client.scripted.tls_stream import unverified_context

        return TcpDriver(listener.host, listener.port, tls=unverified_context())

    def _fetch(self, url: str, then: "Callable[[Fetched], None]") -> None:
        from fakebroker.serve.net.fetching import fetch_in_thread

        engine = self._engine

        def deliver(fetched: "Fetched") -> None:
            if self.is_running and engine is self._engine:
                self._run(lambda: engine.run(lambda _now: then(fetched), engine.now))

        fetch_in_thread(url, deliver)

    def _after_turn(self) -> None:
        """Called after everything that the engine does, if the journal has observers."""
        if not self._tells_more:
            self._tell_more()
        self._waiters.notify()

    def _tell_more(self) -> None:
        """Tell the observers of the journal; what is too long for this turn has one of its own."""
        self._tells_more = self._ring.tell()
        if self._tells_more:
            self._server.call_soon(self._tell_more)

    async def _serve(self) -> None:
        self._tells_more = False  # a turn that was to come on another loop never came, as in a forked child
        await self._server.serve(self._engine)
        self._ring.begin(self._engine.beginning)

    async def _close(self) -> None:
        """Stop the server, then end the waits; the last thing that runs on the loop."""
        await self._server.stop()
        self._stop_storage()
        self._ring.end()
        self._waiters.end("the broker was stopped before the wait was over")

    def _forked(self) -> None:
        """In a forked child: become a stopped broker, whatever the parent's was doing."""
        self._server.close_copies()
        if self._storage is not None:
            self._storage.forget()
            self._storage = None
        self._ring.forget_observers()
        self._waiters.clear()


def broker_options() -> tuple[str, ...]:
    """The names of the options that a broker is made with."""
    return tuple(inspect.unwrap(_Broker.__init__).__kwdefaults__ or ())


class FakeBroker(_Broker):
    """A broker in a thread of its own. Its methods may be called from any thread; its waits block.

    Concurrent calls are serialized: calls run on the broker's thread, and starts and stops do not interleave. A call
    during a start or stop waits for it; on a stopped broker it uses the broker's present state.
    """

    _thread: LoopThread | None = None

    def start(self) -> Self:
        """Start to listen; a restart uses the same ports and keeps all data. Does nothing on a running broker.

        Raises OSError for a port that is taken; then nothing is changed.
        """
        if self._is_own_thread():
            return self
        with self._life:
            if self._running_thread(or_failed=False) is None:
                self._resume_storage()
                self._server.ports.bind()
                self._restart_nodes()
                thread = LoopThread(self._serve, self._close, self._give_up)
                thread.start()
                self._thread = thread
        return self

    def stop(self) -> None:
        """Close everything: ports, connections, thread. Stopping twice is allowed.

        Calls from other threads complete first; their waits end with BrokerStopped. Re-raises internal errors of the
        broker, and the error that ended its thread. Raises RuntimeError on the broker's own thread, which keeps
        running.
        """
        if self._is_own_thread():
            raise RuntimeError("stop() cannot be used inside a function that the broker runs: it would wait for itself")
        with self._life:
            self._close_clients()
            if self._thread is not None:
                self._thread.stop()
                self._thread = None
            self._stop_storage()
            self._raise_errors()

    def _call(self, function: Callable[[], T]) -> T:
        """Run `function` on the broker's thread; returns what it returns and raises what it raises.

        While the broker is not running: on the caller's thread, one at a time. Raises BrokerStopped with the cause if
        its thread has ended by an error, until the next `start` or `stop`.
        """
        if self._is_own_thread():
            return self._run(function)
        while True:
            thread = self._thread
            done = thread.hand_over(lambda: self._run(function)) if thread is not None else None
            if done is not None:
                return done.result()
            with self._life:  # after a start or stop that is under way
                if self._running_thread() is None:
                    return self._run(function)

    def wait(self, probe: Callable[[], T | None], timeout_s: TimeoutS, failure: Callable[[], str]) -> T:
        """Block until `probe` returns a value. Raises WaitTimeout with the text of `failure`, any error of `probe`,
        BrokerStopped when the broker stops during the wait or is not running and `probe` returns None, RuntimeError on
        the broker's own thread.
        """
        done: Future[T] = Future()
        waiter = Waiter(probe, done)
        try:
            self._call(lambda: self._waiters.add(waiter, self.is_running))
            if not done.done() and self._is_own_thread():
                raise RuntimeError(
                    "no waits inside a function that the broker runs: nothing else happens before it returns"
                )
            return done.result(min(timeout_s, threading.TIMEOUT_MAX))
        except TimeoutError:
            if done.done():  # it was the probe's, or came in the last moment
                return done.result()
            raise WaitTimeout(self._call(failure)) from None
        finally:
            self._waiters.forget(waiter)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with noted_on(error):
            self.stop()

    def _is_own_thread(self) -> bool:
        thread = self._thread
        return thread is not None and thread.is_current

    def _running_thread(self, *, or_failed: bool = True) -> LoopThread | None:
        """The thread, which is forgotten if it ended by itself or a stop was interrupted, and also if it ended by an
        error unless `or_failed`. Needs `_life`.
        """
        thread = self._thread
        if thread is not None and not (thread.is_open or (or_failed and thread.has_failed)):
            thread.stop()
            self._thread = None
        return self._thread

    def _give_up(self, error: BaseException, text: str) -> None:
        """The loop has failed: close everything without it. `stop` raises the error, also after another `start`."""
        self.errors.append(error if isinstance(error, Exception) else RuntimeError(text))
        self._server.abandon()
        self._stop_storage()
        self._ring.end()
        self._waiters.end(text)

    def _forked(self) -> None:
        super()._forked()
        self._life = threading.RLock()
        self._thread = None


class AsyncFakeBroker(_Broker):
    """A broker in the running event loop. Its methods belong to that loop's thread; its waits are awaited.

    Between `stop` and `start` it may change loops, e.g. in a second `asyncio.run`. The end of a loop counts as a
    `stop`, but connections are only closed by the next `start` or `stop`.
    """

    _closing: "asyncio.Task[None] | None" = None

    async def start(self) -> Self:
        """Start to listen; a restart uses the same ports and keeps all data. Does nothing on a running broker.

        Raises OSError for a port that is taken, RuntimeError while it runs in another loop and in a loop that cannot
        watch sockets, such as Windows' ProactorEventLoop.
        """
        check_watches_sockets(asyncio.get_running_loop())
        await self._leave_old_loop()
        if not self.is_running:
            self._resume_storage()
            self._server.ports.bind()
            self._restart_nodes()
            await self._serve()
        return self

    async def stop(self) -> None:
        """Close all connections, sockets and timers. Stopping twice is allowed.

        Pending waits end with BrokerStopped. The stop completes even if it is cancelled. Re-raises internal errors of
        the broker. Raises RuntimeError while it runs in another loop.
        """
        self._close_clients()
        await self._leave_old_loop()
        if self.is_running:
            self._closing = asyncio.get_running_loop().create_task(self._close())
            await self._leave_old_loop()
        self._stop_storage()
        self._raise_errors()

    def _call(self, function: Callable[[], T]) -> T:
        """Run `function` now; returns what it returns and raises what it raises."""
        return self._run(function)

    def wait(self, probe: Callable[[], T | None], timeout_s: TimeoutS, failure: Callable[[], str]) -> Awaitable[T]:
        """An awaitable of the value of `probe`. Raises WaitTimeout with the text of `failure`, any error of `probe`,
        BrokerStopped when the broker stops during the wait or is not running and `probe` returns None.
        """
        return self._wait(probe, timeout_s, failure)

    async def _wait(self, probe: Callable[[], T | None], timeout_s: TimeoutS, failure: Callable[[], str]) -> T:
        __tracebackhide__ = True
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        waiter = Waiter(probe, future)
        try:
            self._waiters.add(waiter, self.is_running)
            # Not wait_for: on Python 3.11 it loses a cancellation that comes together with the result.
            async with asyncio.timeout(min(timeout_s, threading.TIMEOUT_MAX)):
                return await future
        except TimeoutError:
            if future.done() and not future.cancelled():  # at the last moment, or the probe raised TimeoutError
                return future.result()
            raise WaitTimeout(failure()) from None
        finally:
            self._waiters.forget(waiter)

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with noted_on(error):
            await self.stop()

    async def _leave_old_loop(self) -> None:
        """Wait for a stop that is under way; clean up after another loop that was closed without a stop."""
        self._server.come_over()
        closing = self._closing
        if closing is not None and closing.get_loop() is asyncio.get_running_loop():
            await asyncio.shield(closing)
        if closing is self._closing:
            self._closing = None


# A forked child holds copies of all sockets. As long as it lived its parent could not have the ports again, and clients
# would not see their connections end. It has no copies of threads.
_BROKERS: "weakref.WeakSet[_Broker]" = weakref.WeakSet()


def _forked() -> None:
    for broker in list(_BROKERS):
        broker._forked()


after_fork_in_child(_forked)

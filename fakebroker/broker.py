"""A broker in this process: FakeBroker in a thread of its own, AsyncFakeBroker in your event loop.

    with FakeBroker() as broker:                          async with AsyncFakeBroker() as broker:
        broker.create_topic("orders", partitions=3)           broker.create_topic("orders", partitions=3)
        ... any client at broker.bootstrap ...                await broker.group("billing").wait(state="Stable")

Both have one object model (handles/). What differs: FakeBroker's methods may be called from any thread and its waits
block; AsyncFakeBroker's belong to the loop it was started in, and its waits are to be awaited.
"""

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from fakebroker.core.cluster import Cluster
from fakebroker.engine.engine import Engine, Listener
from fakebroker.engine.journal import Journal
from fakebroker.errors import WaitTimeout
from fakebroker.listen import bootstrap, listeners_for
from fakebroker.net.clock import LoopClock
from fakebroker.net.loop import new_event_loop
from fakebroker.net.ports import Ports
from fakebroker.net.server import Server
from fakebroker.release import release
from fakebroker.settings import Settings

if TYPE_CHECKING:
    from fakebroker.handles import ClockHandle, CoordinatorHandle, GroupHandle, TopicHandle
    from fakebroker.testclient.scripted_client import ScriptedClient, ScriptedClients

T = TypeVar("T")


class _Broker(ABC):
    """What both brokers are: a cluster that can be made anew, an engine, a server."""

    def __init__(
        self,
        *,
        nodes: int = 1,
        config: Mapping[str, object] | None = None,
        seed: int = 0,
        profile: str = "test",
        as_release: str = "4.3",
        listen: str | Sequence[str] | Ports | None = None,
        advertise: str | Sequence[str] | None = None,
        journal: Journal | None = None,
    ) -> None:
        """A broker that is not started yet.

        `config` are broker settings by their Kafka names, `profile` ("test" or "kafka") their defaults; `as_release`
        makes it answer as that Kafka did; all it hands out at random follows from `seed`. `listen` is "HOST:PORT",
        or several ("node=2,HOST:PORT", "dialect=kip-17,HOST:PORT"); port 0 takes a free one. `advertise` is what
        clients are told instead, in the same order. Ports that are taken already may be given, too.

        Raises SettingError for bad settings, UnknownRelease, ValueError for bad addresses.
        """
        self._config, self._profile = dict(config or {}), profile
        self._release, self._seed = release(as_release), seed
        self._node_ids = tuple(range(1, nodes + 1))
        ports = listen if isinstance(listen, Ports) else Ports(listeners_for(self._node_ids, listen, advertise))
        self._listeners = ports.listeners
        self._server = Server(ports, self._settled)
        self._waiters: list[_Waiter] = []
        self._scripted_clients: ScriptedClients | None = None  # where scripted clients act
        self._is_running = False
        self.journal = Journal() if journal is None else journal
        self.errors: list[Exception] = []  # bugs of the broker's own; `stop` raises them again
        self._engine = self._new_engine()

    @property
    def engine(self) -> Engine:
        """The engine of the moment; `reset()` makes a new one."""
        return self._engine

    @property
    def bootstrap(self) -> str:
        """What clients call bootstrap.servers: "127.0.0.1:PORT", one for each node."""
        return bootstrap(self._listeners)

    @property
    def listeners(self) -> Sequence[Listener]:
        """Where clients are accepted; the ports are known once the broker was started."""
        return self._listeners

    @property
    def is_running(self) -> bool:
        """Whether clients can connect."""
        return self._is_running

    @property
    def clock(self) -> "ClockHandle":
        """The broker's clock."""
        from fakebroker.handles import ClockHandle

        return ClockHandle(self)

    @property
    def loop_clock(self) -> LoopClock:
        """The clock itself; to be used inside `call`."""
        return self._server.clock

    def topic(self, name: str) -> "TopicHandle":
        """One topic, which need not exist yet."""
        from fakebroker.handles import TopicHandle

        return TopicHandle(self, name)

    def group(self, group_id: str) -> "GroupHandle":
        """One group, which need not exist yet."""
        from fakebroker.handles import GroupHandle

        return GroupHandle(self, group_id)

    def coordinator(self, group_id: str) -> "CoordinatorHandle":
        """Whoever coordinates a group."""
        from fakebroker.handles import CoordinatorHandle

        return CoordinatorHandle(self, group_id)

    def client(self, client_id: str | None = "client", versions: Mapping[str, int] | None = None) -> "ScriptedClient":
        """A scripted client, connected to the running broker: every step is the test's (scripted.py).

        `versions` pins APIs to versions. Its steps block until the broker has answered: do not take them in the loop
        of an AsyncFakeBroker, but with `asyncio.to_thread`. All clients of a broker belong to one thread at a time.
        """
        from fakebroker.testclient.scripted_client import ScriptedClients
        from fakebroker.testclient.tcp_driver import TcpDriver

        if self._scripted_clients is None:
            listener = self._listeners[0]
            self._scripted_clients = ScriptedClients(TcpDriver(listener.host, listener.port))
        return self._scripted_clients.client(client_id, versions)

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        replication_factor: int | None = None,
        config: Mapping[str, object] | None = None,
    ) -> "TopicHandle":
        """Create a topic. Raises KafkaError for a bad name or one that exists, SettingError for bad settings."""
        values = {key: str(value) for key, value in (config or {}).items()}
        self.call(lambda: self._engine.cluster.topics.create(name, partitions, replication_factor, values))
        return self.topic(name)

    def reset(self) -> None:
        """Empty it: no topics, no groups, no history, machine's time again. Whoever is connected is disconnected."""
        self.call(self._reset)

    def story(self) -> str:
        """What happened lately, for people: last requests of each client, group transitions, what is unanswered."""
        from fakebroker.story import story

        return self.call(lambda: story(self._engine))

    @abstractmethod
    def call(self, function: Callable[[], T]) -> T:
        """Run `function` on the engine's thread; returns what it returns and raises what it raises."""

    @abstractmethod
    def wait(self, probe: Callable[[], T | None], timeout_s: float, failure: Callable[[], str]) -> Any:
        """What `probe` gives as soon as it gives something, or an awaitable of it. Raises WaitTimeout."""

    def _new_engine(self) -> Engine:
        settings = Settings(self._config, profile=self._profile)
        cluster = Cluster(settings, self._release, self._seed, self._node_ids)
        engine = Engine(cluster, self._listeners, self.journal, self._server.clock.now())
        engine.errors = self.errors
        return engine

    def _reset(self) -> None:
        if self._is_running:
            self._server.drop_clients()
        self.journal.clear()
        self._server.clock.reset()
        self._engine = self._new_engine()
        if self._is_running:
            self._server.use(self._engine)

    def _run(self, function: Callable[[], T]) -> T:
        """Run something on the engine's thread, then carry away what came of it."""
        if not self._is_running:
            return function()
        self._engine.tick(self._server.clock.now())
        try:
            return function()
        finally:
            self._server.settle()

    def _restart_nodes(self) -> None:
        now = self._server.clock.now()
        for node in self._engine.cluster.nodes.values():
            node.restart(now)

    def _settled(self) -> None:
        """The engine did something: perhaps somebody waits for just that."""
        if self._waiters:
            for waiter in tuple(self._waiters):
                self._try(waiter)

    def _try(self, waiter: "_Waiter") -> None:
        try:
            found = waiter.probe()
        except Exception as error:
            waiter.failed(error)
        else:
            if found is None:
                return
            waiter.found(found)
        if waiter in self._waiters:
            self._waiters.remove(waiter)

    def _close_clients(self) -> None:
        """The scripted clients' connections end with the broker."""
        if self._scripted_clients is not None:
            self._scripted_clients.close()
            self._scripted_clients = None

    def _raise_errors(self) -> None:
        """Raise what the broker's own code raised, once."""
        errors = self.errors.copy()
        self.errors.clear()
        if len(errors) == 1:
            raise errors[0]
        if errors:
            raise ExceptionGroup("internal errors of the broker", errors)


class _Waiter:
    """Somebody who waits until `probe` gives something."""

    def __init__(self, probe: Callable[[], Any], future: "Future[Any] | asyncio.Future[Any]") -> None:
        self.probe = probe
        self._future = future

    def found(self, result: object) -> None:
        if not self._future.done():
            self._future.set_result(result)

    def failed(self, error: Exception) -> None:
        if not self._future.done():
            self._future.set_exception(error)


class FakeBroker(_Broker):
    """A broker in a thread of its own. Its methods may be called from any thread; its waits block."""

    _loop: asyncio.AbstractEventLoop
    _thread: threading.Thread | None = None

    def start(self) -> Self:
        """Listen; the second time on the same ports, with everything that was there. Raises OSError (port taken)."""
        if self._thread is not None:
            return self
        self._server.ports.bind()
        self._restart_nodes()
        started: Future[None] = Future()
        self._thread = threading.Thread(target=self._live, args=(started,), name="fakebroker", daemon=True)
        self._thread.start()
        try:
            started.result()
        except BaseException:
            self._thread = None
            raise
        return self

    def stop(self) -> None:
        """Close everything. Raises again what the broker's own code raised: a bug of ours."""
        self._close_clients()
        if self._thread is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._thread = None
        self._raise_errors()

    def call(self, function: Callable[[], T]) -> T:
        """Run `function` on the broker's thread; returns what it returns and raises what it raises."""
        if self._thread is None or threading.current_thread() is self._thread:
            return self._run(function)
        done: Future[T] = Future()
        thread = self._thread
        self._loop.call_soon_threadsafe(self._fulfil, done, function)
        while thread.is_alive() and not done.done():  # it may be stopped by another thread before it gets to this
            wait([done], timeout=1)
        if not done.done():
            raise RuntimeError("the broker was stopped by another thread")
        return done.result()

    def wait(self, probe: Callable[[], T | None], timeout_s: float, failure: Callable[[], str]) -> T:
        """Block until `probe` gives something. Raises WaitTimeout with the text of `failure`."""
        done: Future[T] = Future()
        waiter = _Waiter(probe, done)
        self.call(lambda: self._await(waiter))
        try:
            return done.result(timeout_s)
        except TimeoutError:
            raise WaitTimeout(self.call(lambda: self._give_up(waiter, failure))) from None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.stop()
        except Exception as internal:
            if error is None:
                raise
            error.add_note(f"the broker also had an internal error: {internal!r}")

    def _live(self, started: "Future[None]") -> None:
        """The thread: a loop from start to stop."""
        self._loop = new_event_loop()
        try:
            self._loop.run_until_complete(self._server.serve(self._engine))
        except BaseException as error:
            started.set_exception(error)
            self._loop.close()
            return
        self._is_running = True
        started.set_result(None)
        self._loop.run_forever()
        self._is_running = False
        self._loop.run_until_complete(self._server.stop())
        self._loop.close()

    def _fulfil(self, done: "Future[T]", function: Callable[[], T]) -> None:
        try:
            done.set_result(self._run(function))
        except BaseException as error:
            done.set_exception(error)

    def _await(self, waiter: _Waiter) -> None:
        self._waiters.append(waiter)
        self._try(waiter)

    def _give_up(self, waiter: _Waiter, failure: Callable[[], str]) -> str:
        if waiter in self._waiters:
            self._waiters.remove(waiter)
        return failure()


class AsyncFakeBroker(_Broker):
    """A broker in the running event loop. Its methods belong to that loop's thread; its waits are awaited."""

    async def start(self) -> Self:
        """Listen; the second time on the same ports, with everything that was there. Raises OSError (port taken)."""
        if not self._is_running:
            self._restart_nodes()
            await self._server.serve(self._engine)
            self._is_running = True
        return self

    async def stop(self) -> None:
        """Close everything. Raises again what the broker's own code raised: a bug of ours."""
        self._close_clients()
        if self._is_running:
            self._is_running = False
            await self._server.stop()
        self._raise_errors()

    def call(self, function: Callable[[], T]) -> T:
        """Run `function` now; returns what it returns and raises what it raises."""
        return self._run(function)

    def wait(self, probe: Callable[[], T | None], timeout_s: float, failure: Callable[[], str]) -> Awaitable[T]:
        """An awaitable of what `probe` gives. Raises WaitTimeout with the text of `failure`."""
        return self._wait(probe, timeout_s, failure)

    async def _wait(self, probe: Callable[[], T | None], timeout_s: float, failure: Callable[[], str]) -> T:
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        waiter = _Waiter(probe, future)
        self._waiters.append(waiter)
        self._try(waiter)
        try:
            return await asyncio.wait_for(future, timeout_s)
        except TimeoutError:
            raise WaitTimeout(failure()) from None
        finally:
            if waiter in self._waiters:
                self._waiters.remove(waiter)

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self.stop()
        except Exception as internal:
            if error is None:
                raise
            error.add_note(f"the broker also had an internal error: {internal!r}")

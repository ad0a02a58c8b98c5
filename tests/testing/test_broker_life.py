"""Starting and stopping: from several threads, in several loops, amid waits and calls, in forked children."""

import asyncio
import os
import signal
import socket
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from fakebroker import AsyncFakeBroker, BrokerStopped, FakeBroker
from fakebroker.protocol.wire.framing import with_length
from tests.model.life import descriptors
from tests.support.frames import long_poll, request

ASKED = request("ApiVersions", 0)
SOON_S = 20
LONG_S = 100_000.0


def connect(broker: FakeBroker | AsyncFakeBroker) -> socket.socket:
    listener = broker.listeners[0]
    return socket.create_connection((listener.host, listener.port), timeout=SOON_S)


def at_once(count: int, action: Callable[[], Any]) -> list[Any]:
    """What `action` gave in so many threads that begin together."""
    gate = threading.Barrier(count)

    def act() -> Any:
        gate.wait(SOON_S)
        return action()

    with ThreadPoolExecutor(count) as pool:
        return [future.result(SOON_S) for future in [pool.submit(act) for _ in range(count)]]


def in_thread(action: Callable[[], Any]) -> "Future[Any]":
    done: Future[Any] = Future()

    def act() -> None:
        try:
            done.set_result(action())
        except Exception as error:
            done.set_exception(error)

    threading.Thread(target=act, daemon=True).start()
    return done


def broker_threads() -> int:
    return [thread.name for thread in threading.enumerate()].count("fakebroker")


def test_timers_ring_after_a_stop_with_a_parked_request() -> None:
    """A consumer's fetch is parked when the broker stops; after the start a fetch is answered when its wait is over.

    Its wait is the longer one, so a timer that was left for the first would seem to do for it.
    """
    with FakeBroker(profile="kafka") as broker:  # polls wait as long as they ask
        broker.create_topic("t")
        with connect(broker) as parked:
            parked.sendall(long_poll(300))
            broker.wait(lambda: any(c.is_parked for c in broker._engine.connections.values()) or None, SOON_S, str)
            broker.stop()
            broker.start()
        with connect(broker) as client:
            client.sendall(long_poll(400))
            assert client.recv(1000)


def test_a_wait_ends_when_the_broker_is_stopped() -> None:
    """At once, with an error that says so; a broker that is not running is not waited for either."""
    broker = FakeBroker().start()
    begun = threading.Event()
    waiting = in_thread(lambda: broker.wait(lambda: begun.set(), LONG_S, str))
    assert begun.wait(SOON_S)
    broker.stop()
    with pytest.raises(BrokerStopped, match="was stopped"):
        waiting.result(SOON_S)
    with pytest.raises(BrokerStopped, match="not running"):
        broker.group("g").wait(state="Stable", timeout_s=LONG_S)
    assert broker.group("g").wait(state="Dead", timeout_s=float("inf"))


def test_an_async_wait_ends_when_the_broker_is_stopped() -> None:
    """So in the caller's loop, however many wait."""

    async def live() -> list[Any]:
        async with AsyncFakeBroker() as broker:
            waits = [asyncio.ensure_future(broker.group("g").wait(state="Stable", timeout_s=LONG_S)) for _ in range(3)]
            await asyncio.sleep(0)
        with pytest.raises(BrokerStopped, match="not running"):
            await broker.group("g").wait(state="Stable")
        return await asyncio.wait_for(asyncio.gather(*waits, return_exceptions=True), SOON_S)

    assert [type(outcome) for outcome in asyncio.run(live())] == [BrokerStopped] * 3


def test_starts_and_stops_of_several_threads() -> None:
    """Ten starts start one broker, ten stops stop it; nothing of it is left."""
    broker, before, others = FakeBroker(), descriptors(), broker_threads()  # others: of sweeps whose runs hang
    for _ in range(10):
        assert at_once(10, broker.start) == [broker] * 10
        assert broker_threads() - others == 1
        with connect(broker) as client:
            client.sendall(ASKED)
            assert client.recv(1000)
        assert at_once(10, broker.stop) == [None] * 10
        assert (broker_threads() - others, broker.is_running) == (0, False)
    assert descriptors() == before


def test_calls_amid_starts_and_stops() -> None:
    """A call is done before a stop or after it; never lost, never an error."""
    broker, is_over = FakeBroker().start(), threading.Event()

    def call() -> int:
        count = 0
        while not is_over.is_set():
            assert broker._call(lambda: 7) == 7
            assert broker.group("g").state == "Dead"
            count += 1
        return count

    calls = [in_thread(call) for _ in range(4)]
    for _ in range(50):
        broker.stop()
        broker.start()
    is_over.set()
    assert all(done.result(SOON_S) > 0 for done in calls)
    broker.stop()


def test_what_would_wait_for_itself_is_refused() -> None:
    """A stop or a wait inside a call is on the broker's own thread; the broker goes on. A start there does nothing."""
    with FakeBroker() as broker:
        with pytest.raises(RuntimeError, match="it would wait for itself"):
            broker._call(broker.stop)
        with pytest.raises(RuntimeError, match="nothing else happens before it returns"):
            broker._call(lambda: broker.group("g").wait(state="Stable"))
        assert broker._call(broker.start) is broker
        with connect(broker) as client:
            client.sendall(ASKED)
            assert client.recv(1000)
        assert len(broker._waiters) == 0


def test_a_stop_leaves_nothing_open() -> None:
    """Neither connections that never said anything, nor parked ones, nor ones that were not accepted yet."""
    before = descriptors()
    broker = FakeBroker().start()
    broker.create_topic("t")
    clients = [connect(broker) for _ in range(30)]
    for client in clients[::3]:
        client.sendall(long_poll(60_000))
    for client in clients[1::3]:
        client.sendall(long_poll(60_000)[:5])
    broker.stop()
    for client in clients:
        client.close()
    assert descriptors() == before


def test_an_async_broker_goes_on_in_another_loop() -> None:
    """After a stop, or after a loop that ended without one; not while the other loop is there."""
    broker = AsyncFakeBroker()
    broker.create_topic("t")

    async def live(ends_in_order: bool) -> None:
        await broker.start()
        reader, writer = await asyncio.open_connection(*broker.bootstrap.split(":"))
        writer.write(long_poll(30))
        assert await asyncio.wait_for(reader.read(1000), SOON_S)
        writer.write(long_poll(60_000))
        await broker.wait(lambda: any(c.is_parked for c in broker._engine.connections.values()) or None, SOON_S, str)
        if ends_in_order:
            await asyncio.gather(broker.stop(), broker.stop())
        writer.close()

    async def in_the_wrong_loop() -> None:
        for refused in (broker.start, broker.stop):
            with pytest.raises(RuntimeError, match="another event loop"):
                await refused()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # transports of the loop that was closed without a stop
        for ends_in_order in (True, False, True):
            asyncio.run(live(ends_in_order))
            assert not broker.is_running
        loop = asyncio.new_event_loop()
        loop.run_until_complete(broker.start())
        asyncio.run(in_the_wrong_loop())
        loop.run_until_complete(broker.stop())
        loop.close()


def test_a_stop_that_is_cancelled_goes_to_its_end() -> None:
    """And a start that comes meanwhile waits for it."""

    async def live() -> None:
        async with AsyncFakeBroker() as broker:
            before = broker.bootstrap
            stopping = asyncio.ensure_future(broker.stop())
            while broker.is_running:
                await asyncio.sleep(0)
            stopping.cancel()
            await broker.start()
            assert (broker.is_running, broker.bootstrap) == (True, before)

    asyncio.run(live())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Python warns of forks of processes with threads
def test_a_forked_child_has_a_stopped_copy() -> None:
    """It keeps neither ports nor connections from the parent, and can look at what was there."""
    with FakeBroker() as broker, connect(broker) as client:
        client.sendall(ASKED)
        client.recv(1000)
        reads, writes = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                seen = [broker.is_running, broker.group("g").state, broker.stop()]
                os.write(writes, repr(seen).encode())
                signal.pause()  # until the parent has seen what it wanted
            finally:
                os._exit(1)
        try:
            broker.stop()
            while client.recv(1000):
                pass
            broker.start()
            os.close(writes)  # the child's copy is the only one: a child that dies before it writes is not waited for
            assert os.read(reads, 100) == b"[False, 'Dead', None]"
        finally:
            os.kill(child, 9)
            os.waitpid(child, 0)
        os.close(reads)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_that_was_forked_in_the_middle_of_something_can_start() -> None:
    """Its waits end, and long requests are answered, although the parent's thread was about such things."""
    with FakeBroker() as broker:

        def fork() -> int | None:
            if not broker._waiters._is_notifying:
                return None
            broker._engine.on_work()  # the next step of long work is scheduled
            child = os.fork()
            if child == 0:
                os._exit(broker._waiters._is_notifying or broker._server._has_turn)
            return child

        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(broker.wait, fork, SOON_S, str)
            while not waiting.done():
                broker._call(lambda: None)
        assert os.waitpid(waiting.result(), 0)[1] == 0


@pytest.mark.parametrize("kwargs", [{"days": float("inf")}, {"ms": 2**63}, {"hours": float("nan")}, {"ms": 10**400}])
def test_a_clock_that_was_asked_too_much_goes_on(kwargs: dict[str, Any]) -> None:
    """An error of the caller's, after which the broker serves as before."""
    with FakeBroker() as broker, connect(broker) as client:
        with pytest.raises(ValueError, match=r"year 9999|finite|64 bits"):
            broker.clock.advance(**kwargs)
        with pytest.raises(ValueError, match="rate"):
            broker.clock.rate = float("inf")
        with pytest.raises(ValueError, match="for_s"):
            broker.coordinator("g").load(for_s=float("inf"))
        client.sendall(with_length(ASKED[4:]))
        assert client.recv(1000)


def fail_selecting() -> None:
    """Let the running loop fail by itself at its next look for what is ready."""

    def select(_timeout: float | None = None) -> list[Any]:
        raise OSError("the selector is gone")

    loop: Any = asyncio.get_running_loop()
    loop._selector.select = select


def test_a_loop_that_fails_ends_the_broker_and_says_why() -> None:
    """Calls and waits, those under way too, raise BrokerStopped with the cause at once; clients are disconnected;
    `stop` raises the error, once, and `start` goes on with what was there.
    """
    broker = FakeBroker().start()
    broker.create_topic("t")
    before = descriptors()
    client = connect(broker)
    waiting = Future[Any]()

    def wait() -> None:
        try:
            broker.group("g").wait(state="Stable", timeout_s=LONG_S)
        except BrokerStopped as error:
            waiting.set_result(str(error))

    waiter = threading.Thread(target=wait)
    waiter.start()
    while not broker._call(lambda: len(broker._waiters)):
        pass

    def fail() -> Any:
        """Returns what became of a function that was handed over and had not run when the loop failed."""
        assert broker._thread is not None
        fail_selecting()
        return broker._thread.hand_over(lambda: None)

    with pytest.raises(BrokerStopped, match="the selector is gone"):
        broker._call(fail).result(SOON_S)
    with ThreadPoolExecutor(1) as pool, pytest.raises(BrokerStopped, match="the selector is gone"):
        pool.submit(broker._call, lambda: None).result(SOON_S)
    assert "the selector is gone" in waiting.result(SOON_S)
    waiter.join(SOON_S)
    with pytest.raises(BrokerStopped, match="the selector is gone"):
        broker.group("g").wait(state="Stable", timeout_s=LONG_S)
    assert client.recv(1) == b""
    client.close()
    with pytest.raises(OSError, match="the selector is gone"):
        broker.stop()
    broker.stop()
    assert [topic.name for topic in broker.topics] == ["t"]
    with broker:
        assert broker._call(lambda: broker.is_running)
        assert descriptors() == before


def test_starting_again_after_the_loop_has_failed() -> None:
    """`start` needs no `stop` before: the broker runs again, and the error is raised by the next `stop`."""
    broker = FakeBroker().start()
    listeners = [(each.host, each.port) for each in broker.listeners]
    broker._call(fail_selecting)
    with pytest.raises(BrokerStopped, match="the selector is gone"):
        broker.group("g").wait(state="Stable", timeout_s=LONG_S)

    broker.start()

    assert [(each.host, each.port) for each in broker.listeners] == listeners
    with connect(broker) as client:
        client.sendall(ASKED)
        assert client.recv(4)
    with pytest.raises(OSError, match="the selector is gone"):
        broker.stop()

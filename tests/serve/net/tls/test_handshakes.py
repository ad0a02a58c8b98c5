"""Handshakes beside the event loop."""

import asyncio
import queue
import ssl
import threading
from collections.abc import Callable
from functools import partial

import pytest

from fakebroker.serve.net.tls import handshakes
from fakebroker.serve.net.tls.handshakes import Handshakes

PATIENCE_S = 10


def outcome(handshake: Callable[[], None]) -> tuple[Exception | None, threading.Thread]:
    """What the loop hears of a step, and in which thread."""

    async def test() -> tuple[Exception | None, threading.Thread]:
        heard: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()
        Handshakes().go_on(handshake, heard.set_result)
        return await asyncio.wait_for(heard, PATIENCE_S), threading.current_thread()

    return asyncio.run(test())


def test_a_step_is_taken_in_another_thread() -> None:
    """And the loop hears of it in its own."""
    taken = list[threading.Thread]()
    assert outcome(lambda: taken.append(threading.current_thread())) == (None, threading.main_thread())
    assert taken[0] is not threading.main_thread()


@pytest.mark.parametrize("raised", [ssl.SSLWantReadError(), ValueError()])
def test_an_error_comes_back(raised: Exception) -> None:
    """That more of the client is needed, or whatever else."""

    def handshake() -> None:
        raise raised

    assert outcome(handshake)[0] is raised


def test_there_are_only_so_many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others wait, in the order in which they came."""
    monkeypatch.setattr(handshakes, "MOST_THREADS", 1)
    taken, may_end = list[int](), threading.Event()

    async def test() -> None:
        heard = asyncio.Queue[Exception | None]()
        beside = Handshakes()
        beside.go_on(lambda: taken.append(may_end.wait(PATIENCE_S)), heard.put_nowait)
        for number in range(2, 9):
            beside.go_on(partial(taken.append, number), heard.put_nowait)
        assert not taken
        may_end.set()
        for _ in range(8):
            await asyncio.wait_for(heard.get(), PATIENCE_S)

    asyncio.run(test())
    assert taken == list(range(1, 9))


def test_a_step_that_takes_long_has_the_lowest_priority(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own thread alone, from the moment on when it has taken long."""
    slow, may_end = list[int](), threading.Event()

    def lower(thread_id: int) -> None:
        slow.append(thread_id)
        may_end.set()

    monkeypatch.setattr(handshakes, "give_lowest_priority", lower)
    monkeypatch.setattr(handshakes, "SHORT_S", 0)
    ids, began = list[int](), threading.Event()

    def handshake() -> None:
        ids.append(threading.get_native_id())
        began.set()
        assert may_end.wait(PATIENCE_S)

    async def test() -> None:
        heard: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()
        Handshakes().go_on(handshake, heard.set_result)
        assert began.wait(PATIENCE_S)
        await asyncio.wait_for(heard, PATIENCE_S)

    asyncio.run(test())
    assert slow == ids


def test_a_step_that_has_waited_in_line_may_take_long_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its time counts from when a thread takes it."""
    slow = queue.Queue[int]()
    monkeypatch.setattr(handshakes, "MOST_THREADS", 1)
    monkeypatch.setattr(handshakes, "SHORT_S", 0)
    monkeypatch.setattr(handshakes, "give_lowest_priority", slow.put)

    def handshake() -> None:
        assert slow.get(timeout=PATIENCE_S) == threading.get_native_id()

    async def test() -> None:
        heard, beside = asyncio.Queue[Exception | None](), Handshakes()
        for _ in range(3):
            beside.go_on(handshake, heard.put_nowait)
        for _ in range(3):
            assert await asyncio.wait_for(heard.get(), PATIENCE_S) is None

    asyncio.run(test())


def test_a_step_that_nobody_waits_for_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its client has gone; those behind it should not wait for it."""
    monkeypatch.setattr(handshakes, "MOST_THREADS", 1)
    taken, may_end = list[int](), threading.Event()

    async def test() -> None:
        heard = asyncio.Queue[Exception | None]()
        beside = Handshakes()
        under_way = beside.go_on(lambda: taken.append(may_end.wait(PATIENCE_S)), lambda _: pytest.fail("it was called"))
        beside.go_on(lambda: pytest.fail("it was taken"), heard.put_nowait).forget()
        beside.go_on(lambda: taken.append(3), heard.put_nowait)
        under_way.forget()
        may_end.set()
        await asyncio.wait_for(heard.get(), PATIENCE_S)

    asyncio.run(test())
    assert taken == [True, 3]


def test_without_threads_a_step_is_taken_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where a container has used up its processes."""

    def start(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    assert outcome(lambda: None)[0] is None


def test_where_no_further_thread_can_begin_steps_wait_for_those_that_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop takes none as long as there is one thread."""
    taken, may_end, start = list[threading.Thread](), threading.Event(), threading.Thread.start

    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    async def test() -> None:
        heard, began = asyncio.Queue[Exception | None](), threading.Event()

        def first() -> None:
            began.set()
            assert may_end.wait(PATIENCE_S)

        beside = Handshakes()
        beside.go_on(first, heard.put_nowait)
        assert began.wait(PATIENCE_S)
        monkeypatch.setattr(threading.Thread, "start", refuse)
        for _ in range(3):
            beside.go_on(lambda: taken.append(threading.current_thread()), heard.put_nowait)
        assert not taken
        monkeypatch.setattr(threading.Thread, "start", start)
        may_end.set()
        for _ in range(4):
            await asyncio.wait_for(heard.get(), PATIENCE_S)

    asyncio.run(test())
    assert len(taken) == 3
    assert threading.main_thread() not in taken


def test_a_loop_that_was_closed_hears_nothing() -> None:
    """The thread ends, and nothing is raised in it."""
    may_end, beside = threading.Event(), Handshakes()

    async def test() -> None:
        beside.go_on(lambda: assert_true(may_end.wait(PATIENCE_S)), lambda _: pytest.fail("it was called"))

    asyncio.run(test())
    (thread,) = (each for each in threading.enumerate() if each.name == "fakebroker-handshake")
    may_end.set()
    thread.join(PATIENCE_S)
    assert not thread.is_alive()


def assert_true(value: bool) -> None:
    assert value

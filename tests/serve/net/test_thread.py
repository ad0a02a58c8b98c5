"""The thread that runs a broker's loop."""

import asyncio
import threading
from concurrent.futures import Future

from fakebroker.serve.net.thread import LoopThread


class _Held(Future[None]):
    """Announces its result to its waiter, and has the thread that set it wait until another has gone on."""

    def __init__(self, goes_on: threading.Event) -> None:
        super().__init__()
        self._goes_on = goes_on

    def set_result(self, result: None) -> None:
        super().set_result(result)
        assert self._goes_on.wait(10)


class _Gate:
    """A lock that says when `stop` has given its order and left it."""

    def __init__(self, thread: LoopThread, stopped: threading.Event) -> None:
        self._lock, self._thread, self._stopped = threading.Lock(), thread, stopped

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()
        if self._thread._is_to_stop:
            self._stopped.set()


def test_a_stop_before_the_loop_runs_is_in_order() -> None:
    """What was handed over runs, then `end`, if `stop` comes between the end of `start` and the loop's first turn."""
    happened: list[str] = []
    stopped = threading.Event()

    async def begin() -> None:
        happened.append("begin")

    async def end() -> None:
        await asyncio.sleep(0)  # as that of a broker, which takes some turns of the loop
        happened.append("end")

    thread = LoopThread(begin, end, lambda _, text: happened.append(text))
    thread._started = _Held(stopped)
    thread._gate = _Gate(thread, stopped)  # type: ignore[assignment]
    thread.start()
    done = thread.hand_over(lambda: happened.append("function"))
    thread.stop()

    assert done is not None
    assert done.done()
    assert happened == ["begin", "function", "end"]

"""A broker on a machine whose time the test passes: real sockets, real event loops, no real waiting."""

import asyncio
import os
import selectors
import socket
import struct
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import pytest

from fakebroker import AsyncFakeBroker, FakeBroker
from fakebroker.broker.core.deadlines import NEVER_MS
from fakebroker.serve.net.server import LONGEST_TIMER_S, Server
from tests.support.frames import frames

LOOPBACK_S = 0 if sys.platform == "linux" else 0.002  # until what was sent has arrived
REAL_S = 20  # for what takes no time unless it hangs


SHORTEST_WAIT_S = 1e-6


class Machine:
    """Both clocks of a machine, in seconds."""

    def __init__(self) -> None:
        self.wall_s, self.mono_s = 1_700_000_000.0, 1000.0

    def pass_s(self, seconds: float) -> None:
        """Let time pass: at least what the wall reading can show, or a wait for its next tick would never end."""
        seconds = max(seconds, SHORTEST_WAIT_S)
        self.wall_s += seconds
        self.mono_s += seconds


class DrivenSelector(selectors.DefaultSelector):
    """Instead of waiting it lets the machine's time pass, as far as that was allowed; then it is idle."""

    def __init__(self, machine: Machine, idle: Callable[[], bool]) -> None:
        super().__init__()
        self.machine = machine
        self.until_s = machine.mono_s
        self._idle = idle  # whether to wait for the real world then

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0) or super().select(LOOPBACK_S)
        if ready or (timeout is not None and timeout <= 0):
            return ready
        left_s = self.until_s - self.machine.mono_s
        if timeout is not None and timeout <= left_s:
            self.machine.pass_s(timeout)
            return ready
        self.machine.pass_s(max(left_s, 0.0))
        return super().select(None) if self._idle() else ready


class DrivenLoop(asyncio.SelectorEventLoop):
    """A loop in the machine's time."""

    def __init__(self, machine: Machine, idle: Callable[[], bool] | None = None) -> None:
        self.selector = DrivenSelector(machine, idle or self._idle)
        super().__init__(self.selector)

    def time(self) -> float:
        return self.selector.machine.mono_s

    def run_for(self, ms: int) -> None:
        """Run until nothing is left to do and so much time has passed."""
        self.selector.until_s = self.selector.machine.mono_s + ms / 1000
        self.run_forever()

    def _idle(self) -> bool:
        self.stop()
        return False


class BrokerDriver(ABC):
    """A kind of broker, and how to drive it."""

    broker: FakeBroker | AsyncFakeBroker

    def __init__(self) -> None:
        self.machine = Machine()

    def take(self, broker: Any) -> None:
        """Put the broker on the machine, empty."""
        clock = broker._broker_clock
        clock._os_wall, clock._os_mono = lambda: self.machine.wall_s, lambda: self.machine.mono_s
        broker.reset()
        self.broker = broker

    @abstractmethod
    def start(self) -> None: ...

    @abstractmethod
    def stop(self) -> None: ...

    @abstractmethod
    def run_for(self, ms: int) -> None:
        """Let so much time pass for the broker."""

    @abstractmethod
    def wait(self, probe: Callable[[], Any]) -> Callable[[], BaseException | None]:
        """Begin to wait for something; a function that gives what the wait raised, None while it has not ended."""

    @abstractmethod
    def change_loop(self) -> None:
        """The next start is in another loop."""

    def lose_loop(self) -> None:
        """The loop ends without a stop, if that can happen."""
        self.stop()

    @abstractmethod
    def close(self) -> None: ...


class AsyncBrokerDriver(BrokerDriver):
    """AsyncFakeBroker, in one loop after the other."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = DrivenLoop(self.machine)
        self.take(AsyncFakeBroker())
        self.broker: AsyncFakeBroker

    def start(self) -> None:
        self.loop.run_until_complete(self.broker.start())

    def stop(self) -> None:
        self.loop.run_until_complete(self.broker.stop())

    def run_for(self, ms: int) -> None:
        self.loop.run_for(ms)

    def wait(self, probe: Callable[[], Any]) -> Callable[[], BaseException | None]:
        async def wait() -> None:
            await self.broker.wait(probe, 1e9, lambda: "in vain")

        task = self.loop.create_task(wait())
        self.loop.run_for(0)

        def outcome() -> BaseException | None:
            if not task.done() and not self.loop.is_closed():
                self.loop.run_for(0)
            if not task.done():
                return None
            return asyncio.CancelledError() if task.cancelled() else task.exception()

        return outcome

    def change_loop(self) -> None:
        if not self.broker.is_running:
            self.lose_loop()

    def lose_loop(self) -> None:
        for task in asyncio.all_tasks(self.loop):  # as asyncio.run does
            task.cancel()
        self.loop.run_for(0)
        self.loop.close()
        self.loop = DrivenLoop(self.machine)

    def close(self) -> None:
        self.loop.close()


class ThreadBrokerDriver(BrokerDriver):
    """FakeBroker. Its loop waits for the test when it is idle."""

    def __init__(self) -> None:
        super().__init__()
        self._is_idle = threading.Event()
        self._patch = pytest.MonkeyPatch()
        self._patch.setattr("fakebroker.serve.net.thread.new_event_loop", self._new_loop)
        self.take(FakeBroker())
        self.broker: FakeBroker

    def start(self) -> None:
        self.broker.start()

    def stop(self) -> None:
        self.broker.stop()

    def run_for(self, ms: int) -> None:
        if not self.broker.is_running:
            self.machine.pass_s(ms / 1000)
            return
        self.broker._call(lambda: self._allow(ms))
        assert self._is_idle.wait(REAL_S)

    def wait(self, probe: Callable[[], Any]) -> Callable[[], BaseException | None]:
        begun, ended, thread = threading.Event(), threading.Event(), self.broker._thread
        outcomes: list[BaseException] = []

        def begin() -> Any:
            begun.set()
            return probe()

        def wait() -> None:
            try:
                self.broker.wait(begin, 1e9, lambda: "in vain")
            except Exception as error:
                outcomes.append(error)
            ended.set()

        threading.Thread(target=wait, daemon=True).start()
        assert begun.wait(REAL_S)

        def outcome() -> BaseException | None:
            if self.broker._thread is not thread:
                assert ended.wait(REAL_S), "a wait goes on after the stop"
            return outcomes[0] if ended.is_set() else None

        return outcome

    def change_loop(self) -> None:
        """It always is."""

    def close(self) -> None:
        self._patch.undo()

    def _new_loop(self) -> asyncio.AbstractEventLoop:
        self.loop = DrivenLoop(self.machine, self._idle)
        return self.loop

    def _idle(self) -> bool:
        self._is_idle.set()
        return True

    def _allow(self, ms: int) -> None:
        self._is_idle.clear()
        self.loop.selector.until_s = self.machine.mono_s + ms / 1000


class Client:
    """A client's socket, and until when its request must be answered on the broker's monotonic clock."""

    def __init__(self, broker: FakeBroker | AsyncFakeBroker) -> None:
        listener = broker.listeners[0]
        self.socket = socket.create_connection((listener.host, listener.port), timeout=REAL_S)
        self.socket.setblocking(False)
        self.due_ms: int | None = None

    def send(self, frame: bytes, due_ms: int) -> None:
        self.socket.sendall(frame)
        self.due_ms = due_ms

    def read(self) -> bool:
        """Take an answer if there is one; whether the connection is still open."""
        try:
            data = self.socket.recv(1_000_000)
        except BlockingIOError:
            return True
        except ConnectionResetError:
            return False
        if data:
            assert len(frames(data)) == 1
            self.due_ms = None
        return bool(data)

    def vanish(self, with_reset: bool) -> None:
        if with_reset:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()


def check_timer(server: Server) -> None:
    """The loop has a timer for the next deadline: it rings then or earlier."""
    loop: Any = server._loop
    due_ms = [NEVER_MS if ms is None else ms for ms in server.engine.next_deadline()]
    wait_s = server.clock.wait_s(*due_ms)
    parked = [c.peer for c in server.engine.connections.values() if c.is_parked]
    assert not parked or due_ms[1] != NEVER_MS, f"nothing will ever answer {parked}"
    if wait_s is not None:
        timer = server._timer
        assert timer is not None, "no timer"
        assert not timer.cancelled(), "the timer was cancelled"
        assert timer in loop._scheduled, "the timer is another loop's, or rang"
        assert timer.when() <= loop.time() + min(wait_s, LONGEST_TIMER_S) + 1e-6, "the timer comes too late"


def descriptors() -> int:
    """How many this process has, 0 where nobody can tell."""
    for directory in ("/proc/self/fd", "/dev/fd"):
        if os.path.isdir(directory):
            return len(os.listdir(directory))
    return 0

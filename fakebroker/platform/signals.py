"""The signals that end a process, and how a loop hears of them."""

import signal
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

# Ctrl-Break is Windows' way to end one process of a console: its SIGTERM does not come from outside.
SIGNALS = (signal.SIGINT, signal.SIGTERM, *([signal.SIGBREAK] if hasattr(signal, "SIGBREAK") else []))


def call_at_signals(loop: "asyncio.AbstractEventLoop", action: Callable[[signal.Signals], None]) -> None:
    """Have the running loop call `action` at each signal of SIGNALS, until the process ends."""
    try:
        for number in SIGNALS:
            loop.add_signal_handler(number, action, number)
    except NotImplementedError:  # Windows
        _call_from_handlers(loop, action)


def _call_from_handlers(loop: "asyncio.AbstractEventLoop", action: Callable[[signal.Signals], None]) -> None:
    """Python runs a handler when its main thread is next at work: a byte from the signal itself wakes up the loop."""
    import socket

    def come(number: int, _frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(action, signal.Signals(number))

    waking, woken = socket.socketpair()
    for end in (waking, woken):
        end.setblocking(False)

    def drain() -> None:
        woken.recv(4096)

    loop.add_reader(woken, drain)
    signal.set_wakeup_fd(waking.detach(), warn_on_full_buffer=False)
    for number in SIGNALS:
        signal.signal(number, come)

"""What sockets and event loops can do."""

import asyncio
import os
import select
import socket
from struct import pack
from typing import Final

HAS_EPOLL: Final = hasattr(select, "epoll")  # Linux
CAN_GATHER: Final = hasattr(socket.socket, "sendmsg")  # not Windows
_IS_POSIX: Final = os.name == "posix"
# Linger: on, for no time. Windows has two short numbers.
CLOSE_WITH_RESET: Final = pack("ii" if _IS_POSIX else "hh", 1, 0)
PROACTOR = (
    "a broker cannot run in this event loop ({loop}): it does not watch sockets. That is the default on Windows. "
    "Use asyncio.Runner(loop_factory=asyncio.SelectorEventLoop), or FakeBroker, which has a loop of its own"
)


def make_port_reusable(bound: socket.socket) -> None:
    """Let a socket have a port that had clients a minute ago. Windows does so by itself, and means more by the option:
    two sockets may then listen on one port.
    """
    if _IS_POSIX:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)


def check_watches_sockets(loop: asyncio.AbstractEventLoop) -> None:
    """Raises RuntimeError for a loop without `add_reader`, such as Windows' ProactorEventLoop."""
    if type(loop).add_reader is asyncio.AbstractEventLoop.add_reader:
        raise RuntimeError(PROACTOR.format(loop=type(loop).__name__))

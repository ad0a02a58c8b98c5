"""Listening sockets, taken before anything else is loaded: clients that come early wait, they are not refused."""

import os
import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fakebroker.engine.engine import Listener

BACKLOG = 1024


class Ports:
    """The sockets of some listeners, in their order."""

    def __init__(self, listeners: "Sequence[Listener]") -> None:
        self.listeners = listeners
        self.sockets: list[socket.socket] = []  # empty while the ports are not ours

    def bind(self) -> None:
        """Take the ports, unless we have them; a listener on port 0 learns the one it got. Raises OSError."""
        if self.sockets:
            return
        try:
            for listener in self.listeners:
                bound = _bound_socket(listener.host, listener.port)
                self.sockets.append(bound)
                listener.port = bound.getsockname()[1]
        except OSError:
            self.close()
            raise

    def close(self) -> None:
        """Give the ports up."""
        for bound in self.sockets:
            bound.close()
        self.sockets.clear()


def _bound_socket(host: str, port: int) -> socket.socket:
    """A listening socket; an empty host is every address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        bound = socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        error.strerror = f"cannot listen on {host}:{port}: {os.strerror(error.errno or 0)}"
        raise
    bound.setblocking(False)
    return bound

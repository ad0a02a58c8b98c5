"""Listening sockets, bound before anything else is loaded: clients that connect early wait and are not rejected."""

import os
import socket
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fakebroker.listeners import Listener

BACKLOG = 1024
EVERY_ADDRESS = "::"


class Ports:
    """The sockets of some listeners, in their order."""

    def __init__(self, listeners: "Sequence[Listener]") -> None:
        self.listeners = listeners
        self.sockets: list[socket.socket] = []  # empty while the ports are not ours

    def bind(self) -> None:
        """Bind and listen, unless done already; a listener on port 0 gets the number of the port that was free.

        Raises OSError, whose text names the address, and leaves nothing bound then.
        """
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
        """Close the sockets; the listeners keep their port numbers, so that `bind` takes the same ones again."""
        for bound in self.sockets:
            bound.close()
        self.sockets.clear()


@cache
def is_dual_stack() -> bool:
    """Whether a socket that listens on [::] accepts clients of IPv4, too."""
    return socket.has_dualstack_ipv6()


def _bound_socket(host: str, port: int) -> socket.socket:
    """A listening socket; an empty host is every address of IPv4, "::" every address. Raises OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        bound = socket.create_server(
            (host, port), family=family, backlog=BACKLOG, dualstack_ipv6=host == EVERY_ADDRESS and is_dual_stack()
        )
    except (OSError, UnicodeError) as error:
        number = getattr(error, "errno", None) or 0
        reason = _unresolved(host, family) or os.strerror(number)
        raise OSError(number, f"cannot listen on {_text(host, port)}: {reason}") from None
    bound.setblocking(False)
    return bound


def _text(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _unresolved(host: str, family: socket.AddressFamily) -> str:
    """Why a host's name cannot be resolved to an address; empty if it can."""
    try:
        socket.getaddrinfo(host or None, 0, family, socket.SOCK_STREAM)
    except socket.gaierror as error:
        return f"the host {host!r} cannot be resolved: {error.strerror}"
    except UnicodeError:
        return f"the host {host!r} cannot be resolved: it is not a name that a host can have"
    return ""

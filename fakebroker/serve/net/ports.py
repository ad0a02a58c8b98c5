"""Listening sockets, bound before anything else is loaded: clients that connect early wait and are not rejected."""

import os
import socket
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

from fakebroker.platform.sockets import make_port_reusable

if TYPE_CHECKING:
    from fakebroker.protocol.listeners import Listener

BACKLOG = 1024
EVERY_ADDRESS = "::"


class Ports:
    """The sockets of some listeners, in their order.

    The port of a broker that is stopped is bound, but its socket does not listen (`refuse`): clients are refused, and
    no other process gets the port by chance.
    """

    def __init__(self, listeners: "Sequence[Listener]") -> None:
        self.listeners = list(listeners)
        self.sockets: list[socket.socket] = []  # empty while the ports are not ours
        self._refusing: set[int] = set()  # positions in the list

    def bind(self) -> None:
        """Bind and listen, unless done already; a listener on port 0 gets the number of the port that was free.

        Raises OSError, whose text names the address, and leaves nothing bound then.
        """
        if self.sockets:
            return
        try:
            for index, listener in enumerate(self.listeners):
                bound = _bound_socket(listener.host, listener.port)
                self.sockets.append(bound)
                listener.port = bound.getsockname()[1]
                if index not in self._refusing:
                    _listen(bound, listener)
        except OSError:
            self.close()
            raise

    def more(self, listeners: "Sequence[Listener]") -> "Ports":
        """Listeners for `extend`, bound if these are. Raises OSError, and leaves none of them bound then."""
        more = Ports(listeners)
        if self.sockets:
            more.bind()
        return more

    def extend(self, more: "Ports") -> None:
        """Take over the listeners and the sockets of others, which `more` has made."""
        self.listeners += more.listeners
        self.sockets += more.sockets

    def drop(self, count: int) -> None:
        """Give up all listeners but the first `count`; none of them accepts clients any more."""
        for bound in self.sockets[count:]:
            bound.close()
        del self.sockets[count:], self.listeners[count:]
        self._refusing = {index for index in self._refusing if index < count}

    def is_refusing(self, index: int) -> bool:
        """Whether the listener at `index` refuses clients."""
        return index in self._refusing

    def refuse(self, index: int) -> None:
        """Keep the port of the listener at `index` but refuse clients, from now on or from `bind` on."""
        self._refusing.add(index)
        if self.sockets:
            listener = self.listeners[index]
            self.sockets[index].close()
            with suppress(OSError):  # another process was faster; `accept` will say so if it still has the port
                self.sockets[index] = _bound_socket(listener.host, listener.port)

    def accept(self, index: int) -> None:
        """Take clients there again. Raises OSError if another process has the port; then it goes on refusing."""
        if self.sockets and index in self._refusing:
            listener = self.listeners[index]
            if self.sockets[index].fileno() < 0:
                self.sockets[index] = _bound_socket(listener.host, listener.port)
            _listen(self.sockets[index], listener)
        self._refusing.discard(index)

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
    """A socket that has the port and does not listen yet; an empty host is every address of IPv4, "::" every address.

    Raises OSError. Two such sockets may have one port, until one of them listens (SO_REUSEADDR); without that a port
    that had clients a minute ago could not be had.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        make_port_reusable(bound)
        if family == socket.AF_INET6:
            only_ipv6 = host != EVERY_ADDRESS or not is_dual_stack()
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, only_ipv6)
        bound.bind((host, port))
    except (OSError, UnicodeError) as error:
        bound.close()
        raise _cannot_listen(host, port, error, _unresolved(host, family)) from None
    bound.setblocking(False)
    return bound


def _listen(bound: socket.socket, listener: "Listener") -> None:
    try:
        bound.listen(BACKLOG)
    except OSError as error:
        raise _cannot_listen(listener.host, listener.port, error) from None


def _cannot_listen(host: str, port: int, error: Exception, reason: str = "") -> OSError:
    number = getattr(error, "errno", None) or 0
    if isinstance(error, socket.gaierror):  # its numbers are not the system's
        reason = reason or f"the host {host!r} cannot be resolved: {error.strerror}"
    return OSError(number, f"cannot listen on {_text(host, port)}: {reason or os.strerror(number)}")


def _text(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _unresolved(host: str, family: socket.AddressFamily) -> str:
    """Why a host's name cannot be resolved to an address; empty if it can."""
    try:
        socket.getaddrinfo(host or None, 0, family, socket.SOCK_STREAM)
    except socket.gaierror as error:
        return f"the host {host!r} cannot be resolved: {error.strerror}"
    except UnicodeError:
        return f"the host {host!r} cannot be resolved: it is not a valid host name"
    return ""

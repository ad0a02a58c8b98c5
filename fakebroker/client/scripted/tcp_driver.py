"""A driver over TCP in real time. One thread, no callbacks: it reads sockets only while time passes."""

import selectors
import socket
import time
from collections.abc import Callable
from secrets import token_hex
from typing import TYPE_CHECKING, Self

from fakebroker.client.connection import ClientConnection
from fakebroker.client.login import Credentials, LoginRefused, log_in_anywhere
from fakebroker.protocol.errors import FakebrokerError, Unavailable
from fakebroker.protocol.listeners import Address

if TYPE_CHECKING:
    from ssl import SSLContext

    from fakebroker.client.scripted.tls_stream import TlsStream
    from fakebroker.client.security import Security

CONNECT_TIMEOUT_S = 10
_READ_BYTES = 1 << 20


TLS_REFUSED = "the broker refuses TLS with this client"


class NotSecured(Unavailable, OSError):
    """A connection was accepted, and TLS or the login on it failed. The text says where, why, and what is right."""


class TcpDriver:
    """Connections to one broker at an address. Waits are met within 40 % and 400 ms, times `slack`."""

    keeps_recorded_pace = False

    def __init__(
        self,
        host: str,
        port: int,
        slack: float = 1.0,
        control: Callable[[str, int], None] | None = None,
        tls: "SSLContext | None" = None,
        server_name: str = "",
        credentials: Credentials | None = None,
        connect_timeout_s: float = CONNECT_TIMEOUT_S,
    ) -> None:
        """`control(operation, node_id)` stops, kills, restarts, freezes and thaws brokers, if anything can.

        With `tls` every connection speaks that, and expects the certificate of `server_name`, of the host without it.
        With `credentials` every connection logs in before it is handed out.
        """
        self._address = Address(host, port)
        self._server_name = server_name
        self._credentials = credentials
        self._connect_timeout_s = connect_timeout_s
        self._control = control
        self._slack = slack
        self._tls = tls
        self._selector = selectors.DefaultSelector()
        self._sockets: dict[ClientConnection, socket.socket | TlsStream] = {}

    @classmethod
    def secured(
        cls,
        address: Address,
        security: "Security",
        slack: float = 1.0,
        control: Callable[[str, int], None] | None = None,
        connect_timeout_s: float = CONNECT_TIMEOUT_S,
    ) -> Self:
        """A driver of connections with TLS and logins as `security` says. Raises InvalidArgument for unusable files."""
        context, name = None, ""
        if security.tls is not None:
            from fakebroker.client.scripted.tls_stream import context_of

            context, name = context_of(security.tls), security.tls.server_name
        return cls(*address, slack, control, context, name, security.credentials, connect_timeout_s)

    @property
    def wall_ms(self) -> int:
        """The operating system's time."""
        return time.time_ns() // 1_000_000

    @property
    def mono_ms(self) -> int:
        """The operating system's monotonic time."""
        return time.monotonic_ns() // 1_000_000

    def open(self, client: ClientConnection, address: Address | None = None) -> None:
        """Connect `client`, and log in.

        Raises OSError when the connection is not accepted, TimeoutError if not in time, NotSecured when TLS or the
        login fails.
        """
        where = address or self._address
        connected = socket.create_connection(where, self._connect_timeout_s)
        connected.settimeout(CONNECT_TIMEOUT_S)  # from now on of what is sent
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock = connected if self._tls is None else self._encrypted(connected, where)
        if self._credentials is not None:
            self._log_in(sock, where, client.client_id, self._credentials)
        self._attach(client, sock)

    def _attach(self, client: ClientConnection, sock: "socket.socket | TlsStream") -> None:
        self._sockets[client] = sock
        self._selector.register(sock, selectors.EVENT_READ, client)

    def _encrypted(self, connected: socket.socket, where: Address) -> "TlsStream":
        from fakebroker.client.scripted.tls_stream import TlsStream

        assert self._tls is not None
        try:
            return TlsStream(connected, self._tls, self._server_name or where.host, CONNECT_TIMEOUT_S)
        except OSError as error:
            connected.close()
            raise NotSecured(f"{where}: {_why_no_tls(error)}") from None

    def _log_in(
        self, sock: "socket.socket | TlsStream", where: Address, client_id: str | None, credentials: Credentials
    ) -> None:
        """Log in by a connection of its own on the socket, so that the client's requests are numbered from 1."""
        connection = ClientConnection(client_id)
        self._attach(connection, sock)
        flow = log_in_anywhere(connection, credentials, token_hex(16))
        try:
            pending = next(flow)
            while True:
                self.flush(connection)
                if not self.pass_time(CONNECT_TIMEOUT_S * 1000, lambda: not connection.pending):
                    raise LoginRefused(f"no answer within {CONNECT_TIMEOUT_S} s")
                pending = flow.send(pending.result())
        except StopIteration:
            self._selector.unregister(self._sockets.pop(connection))
        except FakebrokerError as error:
            self.close(connection)
            raise NotSecured(f"{where}: the login failed: {error}") from None

    def control(self, operation: str, node_id: int) -> None:
        """Do something to a broker. Raises OSError if nothing here can."""
        if self._control is None:
            raise OSError(f"cannot {operation} node {node_id}: this client does not control the brokers")
        self._control(operation, node_id)

    def flush(self, client: ClientConnection) -> None:
        """Send what `client` has queued; a broken connection is found when it is read."""
        data = client.data_to_send()
        sock = self._sockets.get(client)
        if sock is None or not data:
            return
        try:
            sock.sendall(data)
        except OSError as error:
            self._lose(client, f"cannot send: {error}")

    def pass_time(self, ms: int, until: Callable[[], bool] | None = None) -> bool:
        """Wait up to `ms`, feeding what arrives to its client; stop early when `until` is true."""
        end_s = time.monotonic() + ms / 1000
        while not (until and until()):
            left_s = end_s - time.monotonic()
            if left_s <= 0:
                return bool(until and until())
            if not self._sockets:  # select() on nothing returns at once on some systems
                time.sleep(left_s)
                continue
            for key, _ in self._selector.select(left_s):
                self._read(key.data)
        return True

    def local_port(self, client: ClientConnection) -> int | None:
        """The port that `client` connects from; None if it is not connected."""
        sock = self._sockets.get(client)
        return None if sock is None else int(sock.getsockname()[1])

    def close(self, client: ClientConnection) -> None:
        """Close the connection of `client`."""
        self._lose(client, "closed by the client")

    def close_all(self) -> None:
        """Close every connection."""
        for client in list(self._sockets):
            self.close(client)
        self._selector.close()

    def tolerance_ms(self, waited_ms: int) -> int:
        """40 % and 400 ms: two machines are never equally fast."""
        return int((0.4 * waited_ms + 400) * self._slack)

    def _read(self, client: ClientConnection) -> None:
        try:
            data = self._sockets[client].recv(_READ_BYTES)
        except BlockingIOError:  # a part of what TLS sends at once
            return
        except OSError as error:
            is_refused = "ALERT" in getattr(error, "reason", "")  # of a certificate, with TLS 1.3 not before this
            self._lose(client, _why_no_tls(error) if is_refused else f"connection broken: {error}")
            return
        if data:
            client.receive(data)
        else:
            self._lose(client, "closed by the broker")

    def _lose(self, client: ClientConnection, reason: str) -> None:
        sock = self._sockets.pop(client, None)
        if sock is not None:
            self._selector.unregister(sock)
            sock.close()
        client.close(reason)


def _why_no_tls(error: OSError) -> str:
    """Why TLS failed, and what would be right, in the words of Kafka's client properties. `ssl` is imported by then."""
    reason = getattr(error, "reason", None) or ""
    words = reason.lower().replace("_", " ")
    if (unverified := getattr(error, "verify_message", None)) is not None:
        trusted = "ssl.ca.location names the authorities that are trusted"
        return f"the broker's certificate is not accepted: {unverified}; {trusted}"
    if "ALERT" in reason:
        certificate = "if it wants a client certificate, set ssl.certificate.location and ssl.key.location"
        return f"{TLS_REFUSED}: {words}; {certificate}"
    plain = "if the listener has no TLS, security.protocol is PLAINTEXT or SASL_PLAINTEXT"
    return f"no TLS handshake: {words or error.strerror or error}; {plain}"

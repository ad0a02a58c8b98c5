"""One client's socket with TLS: as any other once the handshake is done, which comes before the first request."""

import socket
from time import time
from typing import TYPE_CHECKING

from fakebroker.broker.core.security.principal_mapping import NoRuleApplies
from fakebroker.broker.engine.security import tls as engine_tls
from fakebroker.protocol.listeners import Listener
from fakebroker.serve.net.client_connection import ENDED, OPEN, ClientConnection
from fakebroker.serve.net.tls.contexts import CertificateRefused
from fakebroker.serve.net.tls.tls_socket import TlsSocket

if TYPE_CHECKING:
    from fakebroker.serve.net.server import Server

SAME_TIME_MS = 1000  # a clock that is less than this beside the machine's was not moved


class TlsClientConnection(ClientConnection):
    """The driver of one connection of a listener with TLS."""

    __slots__ = ("_is_read_scheduled", "_judges_dates", "_listener_tls", "_tls_socket")
    _socket: TlsSocket

    def __init__(
        self, server: "Server", listener: Listener, accepted: socket.socket, peer_host: str, peer_port: int = 0
    ) -> None:
        """As ClientConnection. Raises SettingError if certificates that were read anew cannot be used."""
        self._listener_tls = server.tls.of(listener)
        self._judges_dates = abs(server.clock.now().wall_ms - time() * 1000) > SAME_TIME_MS
        context, go_on = self._listener_tls.context(self._judges_dates), self._listener_tls.go_on
        self._tls_socket = TlsSocket(accepted, context, go_on)
        self._tls_socket.on_secured = self._secured
        self._tls_socket.on_return = self._returned
        self._is_read_scheduled = False
        super().__init__(server, listener, self._tls_socket, peer_host, peer_port)

    def read(self) -> None:
        """There is something to read, perhaps: of the handshake, data, the end, or an error.

        While others wait, handshakes wait for them: each costs as much as a hundred requests, and cannot be divided.
        """
        if self._tls_socket.is_secured or self._server.engine.turn_s:
            self._read_now()
        else:
            self._read_later()

    def _read_now(self) -> None:
        tls = self._tls_socket
        if tls.is_full:  # `write` goes on with it
            self._server.sockets.remove_reader(tls.fileno())
            return
        had_failed, had_secured = bool(tls.failure), tls.is_secured
        super().read()
        if self._state in ENDED:
            return
        if tls.failure and not had_failed:
            if had_secured:
                self._connection.fail(f"TLS: {tls.failure}")
            else:
                engine_tls.failed(self._connection, tls.failure)
            self._server.flush()
        elif tls.is_away:  # `_returned` goes on with it
            self._server.sockets.remove_reader(tls.fileno())
        elif self._state is OPEN and tls.has_ended:
            self._read_end()
        elif self._state is OPEN and tls.may_have_more:
            self._watch()
        if tls.has_unsent and self._state not in ENDED:
            self._server.sockets.add_writer(tls.fileno(), self.write)

    def _returned(self) -> None:
        """A step of the handshake was taken beside the loop."""
        self._watch()
        self._read_now()

    def _watch(self) -> None:
        """Be called again, also for records that the socket has given already."""
        super()._watch()
        if self._tls_socket.is_behind:
            self._read_later()

    def _read_later(self) -> None:
        """Read when the others have had their turns."""
        if not self._is_read_scheduled:
            self._is_read_scheduled = True
            self._server.take_later(self._read_on)

    def _read_on(self) -> None:
        self._is_read_scheduled = False
        if self._state is OPEN:
            self._read_now()

    def write(self) -> None:
        """There is room for what the socket did not take."""
        try:
            is_sent = self._tls_socket.flush()
        except OSError as error:
            self._end(f"connection lost: {error}")
            return
        if is_sent:
            super().write()
            if self._state is OPEN:
                self._watch()  # it may have been full

    def close_copy(self) -> None:
        """Close this process's copy of the socket, without a word to the client."""
        self._tls_socket.raw.close()

    def _secured(self) -> None:
        """The handshake is done. Whatever goes wrong here, the client is not heard: `failure` is there before."""
        self._tls_socket.failure = "an error of the broker"
        tls = self._tls_socket.tls
        # What a handshake makes anew was judged by OpenSSL, but not what another connection had shown.
        wall_ms = self._server.clock.now().wall_ms if self._judges_dates or tls.session_reused else None
        try:
            subject, principal = self._listener_tls.client_of(tls, wall_ms)
        except (CertificateRefused, NoRuleApplies) as error:
            self._tls_socket.failure = str(error)
            return
        cipher = tls.cipher()
        assert cipher is not None
        self._tls_socket.failure = ""
        engine_tls.established(self._connection, tls.version() or "", cipher[0], subject, principal)

"""A client's socket with TLS, for `TcpDriver`: what OpenSSL has read from it already is not left there unseen."""

import socket
import ssl


class TlsStream:
    """A connected socket with the client's side of TLS."""

    def __init__(self, connected: socket.socket, context: ssl.SSLContext, host: str, timeout_s: float) -> None:
        """Does the handshake, as a client that wants to reach `host`. Raises OSError if that fails.

        `timeout_s` is how long that may take, and later how long sending may take.
        """
        connected.settimeout(timeout_s)
        self._timeout_s = timeout_s
        self._tls = context.wrap_socket(connected, server_hostname=host)
        self.fileno = self._tls.fileno
        self.getsockname = self._tls.getsockname
        self.close = self._tls.close
        self.sendall = self._tls.sendall

    def recv(self, size: int) -> bytes:
        """What has come, empty at the end. Raises BlockingIOError if that is nothing yet, OSError."""
        self._tls.settimeout(0)
        try:
            data = self._tls.recv(size)
            while pending := self._tls.pending():
                data += self._tls.recv(pending)
        except ssl.SSLWantReadError:
            raise BlockingIOError from None
        finally:
            self._tls.settimeout(self._timeout_s)
        return data


def unverified_context() -> ssl.SSLContext:
    """TLS with whoever answers: for a test's own broker, which may have a certificate that no client should accept."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context

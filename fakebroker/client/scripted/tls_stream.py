"""A client's socket with TLS, for `TcpDriver`: what OpenSSL has read from it already is not left there unseen."""

import socket
import ssl
import tempfile

from fakebroker.client.security import Tls
from fakebroker.protocol.errors import InvalidArgument
from fakebroker.protocol.listeners import Address


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


def context_of(tls: Tls) -> ssl.SSLContext:
    """OpenSSL's context for a client. Raises InvalidArgument for certificates or a key that it cannot use."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = tls.verifies and tls.checks_host
    context.verify_mode = ssl.CERT_REQUIRED if tls.verifies else ssl.CERT_NONE
    if tls.authorities:
        try:
            context.load_verify_locations(cadata=tls.authorities)
        except (ssl.SSLError, ValueError):
            text = "ssl.ca.location: there is no certificate in PEM that can be used"
            raise InvalidArgument("ssl.ca.location", "(PEM)", text) from None
    elif tls.verifies:
        context.load_default_certs()
    if tls.certificate:
        _show(context, tls)
    return context


def unverified_context() -> ssl.SSLContext:
    """TLS without a look at the certificate: for a test's own broker, whose certificate may be wrong on purpose."""
    return context_of(Tls(verifies=False))


def speaks_tls(address: Address, timeout_s: float) -> bool:
    """Whether what listens at an address does a TLS handshake."""
    try:
        with socket.create_connection(address, timeout_s) as connected:
            TlsStream(connected, unverified_context(), address.host, timeout_s).close()
    except OSError:
        return False
    return True


def _show(context: ssl.SSLContext, tls: Tls) -> None:
    """Give the context the client's certificate. Python reads it from a file only, which is removed at once."""
    with tempfile.NamedTemporaryFile("w", prefix="fakebroker-", suffix=".pem") as file:  # for the user's eyes only
        file.write(f"{tls.certificate}\n{tls.key}\n")
        file.flush()
        try:
            context.load_cert_chain(file.name, password=tls.key_password)
        except (ssl.SSLError, ValueError):
            text = (
                "ssl.certificate.location, ssl.key.location: the certificate and the key cannot be used together;"
                " both are PEM, the key is the certificate's, and ssl.key.password opens it if it is encrypted"
            )
            raise InvalidArgument("ssl.certificate.location", "(PEM)", text) from None

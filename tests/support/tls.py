"""Clients that speak TLS by themselves, certificates that all tests share, and what the journal has of handshakes."""

import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import cache

from fakebroker import FakeBroker
from fakebroker.broker.engine.journal import TlsEstablished, TlsFailed
from fakebroker.protocol.listeners import Address
from fakebroker.testing.certificates import Certificate, CertificateAuthority
from tests.support.frames import request

PATIENCE_S = 10


@cache
def authority() -> CertificateAuthority:
    """One that all tests share, for what does not change it: keys cost time."""
    return CertificateAuthority()


@cache
def stranger() -> CertificateAuthority:
    """Another authority, which the first one's clients and brokers know nothing of."""
    return CertificateAuthority(name="a stranger")


def client_context(
    certificate: Certificate | None = None,
    trusts: CertificateAuthority | None = None,
    version: ssl.TLSVersion | None = None,
) -> ssl.SSLContext:
    """A client's, that trusts an authority and shows a certificate."""
    context = ssl.create_default_context(cafile=str((trusts or authority()).ca_file))
    if certificate is not None:
        context.load_cert_chain(certificate.keystore_file)
    if version is not None:
        context.minimum_version = context.maximum_version = version
    return context


@contextmanager
def speaking(
    address: Address | tuple[str, int], context: ssl.SSLContext | None, host: str = "localhost"
) -> Iterator[socket.socket]:
    """A connection whose handshake is done; without a context it is a plain one. Raises OSError."""
    with closing(socket.create_connection(address, PATIENCE_S)) as connected, ExitStack() as stack:
        if context is not None:
            connected = stack.enter_context(closing(context.wrap_socket(connected, server_hostname=host)))
        yield connected


def asked(address: Address | tuple[str, int], context: ssl.SSLContext | None, host: str = "localhost") -> bytes:
    """The answer to an ApiVersions, empty if the broker closes in place of it. Raises OSError. None is no TLS."""
    with speaking(address, context, host) as client:
        return answer_of(client)


def answer_of(client: socket.socket) -> bytes:
    """The same on a connection that there is."""
    client.sendall(request("ApiVersions", 0))
    return client.recv(1 << 16)


def address_of(broker: FakeBroker, name: str = "SSL") -> Address:
    """Where a listener of the first node is."""
    found = next(each for each in broker.listeners if each.name == name)
    return Address(found.host, found.port)


def failures(broker: FakeBroker) -> list[str]:
    """Why handshakes failed, oldest first."""
    return [each.event.reason for each in broker.journal.events() if isinstance(each.event, TlsFailed)]


def principals(broker: FakeBroker) -> list[str]:
    """Who the clients were whose handshakes were done, oldest first."""
    return [each.event.principal for each in broker.journal.events() if isinstance(each.event, TlsEstablished)]

"""Clients of listeners with TLS or logins leave nothing to the cycle collector, at whatever point they leave."""

import gc
import socket
import ssl
from collections.abc import Callable

import pytest

from fakebroker import FakeBroker
from fakebroker.broker.engine.journal import Disconnected
from tests.broker.engine.test_memory import collector_off
from tests.support.frames import request
from tests.support.secured import PASSWORD, secured_broker
from tests.support.tls import address_of, client_context

OURS = {
    "ClientConnection",
    "TlsClientConnection",
    "TlsSocket",
    "SSLObject",
    "MemoryBIO",
    "SaslConnection",
    "Authentication",
    "SaslAuthenticateRequest",
    "Exchange",
}
HELLO = b"\x16\x03\x01\x02\x00"
HEARTBEAT = request("Heartbeat", 4, group_id="g", generation_id=1, member_id="m")
HANDSHAKE = request("SaslHandshake", 1, mechanism="SCRAM-SHA-512")
PLAIN = request("SaslHandshake", 1, mechanism="PLAIN")
VISITS = 30


def login(token: bytes) -> bytes:
    """A SaslAuthenticate request."""
    return request("SaslAuthenticate", 2, auth_bytes=token)


ENCRYPTED = {
    "half a hello": (HELLO, None),
    "no TLS": (HEARTBEAT, None),
    "a handshake": (b"", client_context()),
    "a request": (HEARTBEAT, client_context()),
}
LOGINS = {
    "a handshake": [HANDSHAKE],
    "half a login": [HANDSHAKE, login(b"n,,n=alice,r=abc")],
    "a wrong login": [PLAIN, login(b"\0alice\0guessed")],
    "a login": [PLAIN, login(f"\0alice\0{PASSWORD}".encode()), HEARTBEAT],
    "no login": [HEARTBEAT],
}


def visit(broker: FakeBroker, listener: str, sent: list[bytes], context: ssl.SSLContext | None) -> None:
    """Connect, send each after the answer to the one before, close."""
    address = address_of(broker, listener)
    with socket.create_connection((address.host, address.port), timeout=10) as raw:
        client = raw if context is None else context.wrap_socket(raw, server_hostname="localhost")
        with client:
            for each in sent:
                client.sendall(each)
                if each is not HELLO:
                    client.recv(1 << 16)


def count_ours() -> int:
    """How many objects of clients' connections there are in this process."""
    return sum(type(each).__name__ in OURS for each in gc.get_objects())


def check_nothing_is_left(once: Callable[[FakeBroker], None]) -> None:
    """Many visits leave no more than one does."""
    with secured_broker() as broker:
        ends = broker._engine.journal
        once(broker)
        broker.wait(lambda: ends.events(Disconnected) or None, 10, lambda: "the client is still there")
        before = count_ours()
        with collector_off() as found:
            for _ in range(VISITS):
                once(broker)
            all_ended = VISITS + 1
            broker.wait(lambda: len(ends.events(Disconnected)) == all_ended or None, 10, lambda: "a client is there")
            after = count_ours()
    assert not OURS & set(found)
    assert after - before <= len(OURS)  # those of the last one, if the loop has it in hand


@pytest.mark.parametrize("how", ENCRYPTED)
@pytest.mark.parametrize("listener", ["SSL", "SASL_SSL"])
def test_clients_with_tls_that_come_and_go(listener: str, how: str) -> None:
    """A cycle would keep 50 KB of OpenSSL's memory, which the collector does not count."""
    sent, context = ENCRYPTED[how]
    check_nothing_is_left(lambda broker: visit(broker, listener, [sent] if sent else [], context))


@pytest.mark.parametrize("how", LOGINS)
def test_clients_that_log_in_and_go(how: str) -> None:
    """Nothing is left of a login, whether it succeeded, failed or was broken off."""
    check_nothing_is_left(lambda broker: visit(broker, "SASL_PLAINTEXT", LOGINS[how], None))

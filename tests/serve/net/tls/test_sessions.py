"""No handshake counts for another connection: sessions of TLS are not kept, and what one shows is judged again."""

import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from fakebroker import FakeBroker
from fakebroker.serve.net.tls.contexts import ListenerTls
from tests.support.tls import PATIENCE_S, address_of, answer_of, authority, client_context, principals

VERSIONS = pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    """A broker that asks for certificates."""
    listen = ["SSL://127.0.0.1:0", "PLAINTEXT://127.0.0.1:0"]
    with FakeBroker(listen=listen, config=authority().broker_config("required")) as broker:
        yield broker


@pytest.fixture
def contexts(monkeypatch: pytest.MonkeyPatch) -> dict[ssl.SSLContext, None]:
    """The broker's contexts that made connections."""
    used: dict[ssl.SSLContext, None] = {}
    context_of = ListenerTls.context

    def context(self: ListenerTls, clock_is_moved: bool) -> ssl.SSLContext:
        found = context_of(self, clock_is_moved)
        used[found] = None
        return found

    monkeypatch.setattr(ListenerTls, "context", context)
    return used


def connected(broker: FakeBroker, context: ssl.SSLContext, session: ssl.SSLSession | None = None) -> ssl.SSLSocket:
    """A client that was answered; it goes on with a session of before if the broker does."""
    raw = socket.create_connection(address_of(broker), PATIENCE_S)
    client = context.wrap_socket(raw, server_hostname="localhost", session=session)
    assert answer_of(client)
    return client


def leave_in_good_order(_broker: FakeBroker, client: ssl.SSLSocket) -> None:
    """Good-bye, and what the broker says to it."""
    try:
        client.unwrap().close()
    except OSError:
        client.close()


def leave_at_once(_broker: FakeBroker, client: ssl.SSLSocket) -> None:
    client.close()


def be_dropped(broker: FakeBroker, client: ssl.SSLSocket) -> None:
    """The broker ends it, and the client hears of the end."""
    broker.node(1).stop()
    assert client.recv(1) == b""
    broker.node(1).start()
    client.close()


@VERSIONS
@pytest.mark.parametrize("leave", [leave_in_good_order, leave_at_once, be_dropped])
def test_nothing_is_kept_of_a_connection_that_has_ended(
    broker: FakeBroker,
    contexts: dict[ssl.SSLContext, None],
    version: ssl.TLSVersion,
    leave: Callable[[FakeBroker, ssl.SSLSocket], None],
) -> None:
    """Whoever ended it, and how: OpenSSL has no session of it, so that none can go on with it."""
    context = client_context(authority().issue_client("alice"), version=version)
    client = connected(broker, context)
    session = client.session
    leave(broker, client)
    broker.wait(lambda: not broker._engine.connections or None, PATIENCE_S, lambda: "the connection is there")
    (used,) = contexts
    assert used.session_stats()["number"] == 0
    with closing(connected(broker, context, session)) as again:
        assert not again.session_reused


def test_what_another_connection_has_shown_is_judged_again(broker: FakeBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    """In TLS 1.2 a client can go on with the session of a connection that is there. It has not shown its certificate
    again, so its dates are compared with the time that it is now.
    """
    times: list[int | None] = []
    client_of = ListenerTls.client_of

    def spy(self: ListenerTls, tls: ssl.SSLObject, wall_ms: int | None) -> object:
        times.append(wall_ms)
        return client_of(self, tls, wall_ms)

    monkeypatch.setattr(ListenerTls, "client_of", spy)
    context = client_context(authority().issue_client("alice"), version=ssl.TLSVersion.TLSv1_2)
    with closing(connected(broker, context)) as first, closing(connected(broker, context, first.session)) as second:
        assert second.session_reused
    assert principals(broker) == ["User:CN=alice"] * 2
    assert times[0] is None
    assert times[1] is not None

"""Sessions that end: clients log in again on the same connection (KIP-368)."""

import pytest

from fakebroker.protocol.errors import ErrorCode
from tests.support.engine import Client, SimEngine
from tests.support.logins import RIGHT, lab_with_sasl, shaken

SESSION_MS = 10_000


def is_closed(client: Client) -> bool:
    return client.socket.connection.close_reason is not None


def lab_with_sessions() -> SimEngine:
    return lab_with_sasl(**{"connections.max.reauth.ms": SESSION_MS})


def logged_in(lab: SimEngine) -> Client:
    client = shaken(lab)
    assert client.ask("SaslAuthenticate", 2, auth_bytes=RIGHT).session_lifetime_ms == SESSION_MS
    return client


@pytest.mark.rules("SA-9")
def test_after_the_session_a_request_closes() -> None:
    """Until its end requests are served."""
    lab = lab_with_sessions()
    client = logged_in(lab)

    lab.network.advance(SESSION_MS - 1)
    assert client.ask("Metadata", 8, topics=[]).brokers
    lab.network.advance(1)

    assert client.ask("Metadata", 8, topics=[]) is None
    assert is_closed(client)


@pytest.mark.rules("SA-9")
def test_who_logs_in_again_goes_on() -> None:
    """Before the end of the session or after it, with any requests between."""
    lab = lab_with_sessions()
    client = logged_in(lab)

    for wait_ms in (SESSION_MS // 2, SESSION_MS, SESSION_MS + 1):
        lab.network.advance(wait_ms)
        assert client.ask("SaslHandshake", 1, mechanism="PLAIN").error_code == 0
        assert client.ask("SaslAuthenticate", 2, auth_bytes=RIGHT).session_lifetime_ms == SESSION_MS
        assert client.ask("Metadata", 8, topics=[]).brokers


@pytest.mark.rules("SA-9")
def test_nobody_becomes_another() -> None:
    """Another user, another mechanism and a wrong password are refused, and the connection closes."""
    for mechanism, message in (
        ("PLAIN", b"\0bob\0pb"),
        ("SCRAM-SHA-256", b"n,,n=alice,r=x"),
        ("PLAIN", b"\0alice\0px"),
    ):
        lab = lab_with_sessions()
        lab.cluster.credentials.add_user("bob", "pb", 0)
        client = logged_in(lab)
        lab.network.advance(2000)

        assert client.ask("SaslHandshake", 1, mechanism=mechanism).error_code == 0
        assert client.ask("SaslAuthenticate", 2, auth_bytes=message) is None
        lab.network.advance(100)

        assert client.answer("SaslAuthenticate", 2).error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        assert is_closed(client)


@pytest.mark.rules("SA-9")
def test_a_handshake_right_behind_a_login_is_refused() -> None:
    """A session may be renewed when it is a second old; the connection stays."""
    lab = lab_with_sessions()
    client = logged_in(lab)

    assert client.ask("SaslHandshake", 1, mechanism="PLAIN").error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert client.ask("Metadata", 8, topics=[]).brokers

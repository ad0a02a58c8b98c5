"""Sessions that end: clients log in again on the same connection (KIP-368)."""

from base64 import b64encode

import pytest

from fakebroker.broker.core.security.delegation_tokens import Limits
from fakebroker.broker.core.security.principals import Principal
from fakebroker.client.login import TOKEN_EXTENSION
from fakebroker.client.scram import ScramClient
from fakebroker.protocol.errors import ErrorCode
from tests.support.bearer import unsecured
from tests.support.engine import Client, SimEngine
from tests.support.logins import RIGHT, lab_with_sasl, lab_with_tokens, shaken

SESSION_MS = 10_000
ALICE = Principal("alice")


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


@pytest.mark.rules("SA-9", "SA-11")
def test_a_session_ends_with_its_bearer_token() -> None:
    """Also without `connections.max.reauth.ms` a client must log in again when its token has expired."""
    lab = lab_with_sasl()
    client = shaken(lab, "OAUTHBEARER")
    wall_ms = lab.network.now.wall_ms
    assert client.ask("SaslAuthenticate", 2, auth_bytes=_bearer(wall_ms + SESSION_MS)).session_lifetime_ms == SESSION_MS

    lab.network.advance(SESSION_MS - 1)
    assert client.ask("Metadata", 8, topics=[]).brokers
    assert client.ask("SaslHandshake", 1, mechanism="OAUTHBEARER").error_code == 0
    renewed = _bearer(wall_ms + 2 * SESSION_MS)
    assert client.ask("SaslAuthenticate", 2, auth_bytes=renewed).session_lifetime_ms == SESSION_MS + 1
    lab.network.advance(SESSION_MS)
    assert client.ask("Metadata", 8, topics=[]).brokers
    lab.network.advance(1)

    assert client.ask("Metadata", 8, topics=[]) is None
    assert is_closed(client)


@pytest.mark.rules("SA-9")
def test_a_token_ends_a_session_before_its_longest_time() -> None:
    """With `connections.max.reauth.ms` the earlier of both ends counts."""
    lab = lab_with_sessions()
    client = shaken(lab, "OAUTHBEARER")
    message = _bearer(lab.network.now.wall_ms + SESSION_MS // 2)
    assert client.ask("SaslAuthenticate", 2, auth_bytes=message).session_lifetime_ms == SESSION_MS // 2

    lab.network.advance(SESSION_MS // 2)

    assert client.ask("Metadata", 8, topics=[]) is None
    assert is_closed(client)


@pytest.mark.rules("SA-9", "TK-5")
def test_a_session_ends_with_its_delegation_token() -> None:
    """Who logged in by a delegation token is disconnected when it would have expired at that time."""
    lab = lab_with_tokens()
    token = lab.cluster.credentials.tokens.create(
        "id", "key", ALICE, ALICE, (), SESSION_MS, Limits(10**9, 10**9), lab.network.now.wall_ms
    )
    client = shaken(lab, "SCRAM-SHA-256")
    scram = ScramClient("SCRAM-SHA-256", "id", b64encode(token.hmac).decode(), TOKEN_EXTENSION, "nonce")
    challenge = client.ask("SaslAuthenticate", 2, auth_bytes=scram.first)
    final = scram.final(bytes(challenge.auth_bytes))
    assert client.ask("SaslAuthenticate", 2, auth_bytes=final).session_lifetime_ms == SESSION_MS
    assert client.ask("Metadata", 8, topics=[]).brokers

    lab.network.advance(SESSION_MS)

    assert client.ask("Metadata", 8, topics=[]) is None
    assert is_closed(client)


def _bearer(expires_ms: int) -> bytes:
    """The first message of a client with an unsecured token."""
    return f"n,,\x01auth=Bearer {unsecured('carol', expires_ms / 1000)}\x01\x01".encode()

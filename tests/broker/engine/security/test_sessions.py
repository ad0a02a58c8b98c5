"""Sessions that end: clients log in again on the same connection (KIP-368)."""

from base64 import b64encode
from struct import pack
from typing import Any

import pytest

from fakebroker.broker.core.security.delegation_tokens import Limits, Token
from fakebroker.broker.core.security.principals import Principal
from fakebroker.client.login import TOKEN_EXTENSION
from fakebroker.client.scram import ScramClient
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.frame import decode_response
from fakebroker.protocol.wire.framing import PREFIX_BYTES
from tests.support.bearer import unsecured
from tests.support.engine import Client, SimEngine
from tests.support.frames import framed, frames, request
from tests.support.logins import RIGHT, lab_with_sasl, lab_with_tokens, shaken

SESSION_MS = 10_000
LIMIT_BYTES = 1000
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
def test_who_logs_in_again_may_send_bare_messages() -> None:
    """As at the first login; a client with a header the first time, without one the second."""
    lab = lab_with_sessions()
    client = logged_in(lab)
    for version in (0, 1, 0):
        lab.network.advance(SESSION_MS // 2)
        assert client.ask("SaslHandshake", version, mechanism="PLAIN").error_code == 0
        if version:
            assert client.ask("SaslAuthenticate", 2, auth_bytes=RIGHT).session_lifetime_ms == SESSION_MS
        else:
            client.socket.send(framed(RIGHT))
            assert client.socket.take() == pack(">i", 0)
        assert client.ask("Metadata", 8, topics=[]).brokers

    lab.network.advance(SESSION_MS)
    assert client.ask("Metadata", 8, topics=[]) is None
    assert is_closed(client)


@pytest.mark.rules("SA-9")
@pytest.mark.parametrize("piece_bytes", [1, 3, 4, 7, 10_000])
def test_bare_messages_of_another_login_may_come_in_any_pieces(piece_bytes: int) -> None:
    """Behind their handshake, and with requests behind them."""
    lab = lab_with_sessions()
    client = logged_in(lab)
    data = request("SaslHandshake", 0, mechanism="PLAIN") + framed(RIGHT) + request("Metadata", 8, topics=[])
    for start in range(0, len(data), piece_bytes):
        client.socket.send(data[start : start + piece_bytes])

    shake, login, metadata = frames(client.socket.take())
    assert decode_response(ApiKey.SASL_HANDSHAKE, 0, shake)[1].error_code == 0
    assert login == b""
    assert decode_response(ApiKey.METADATA, 8, metadata)[1].brokers


@pytest.mark.rules("SA-9")
@pytest.mark.parametrize("message", [b"\0bob\0pb", b"\0alice\0px", b"", b"\0\x03\0\x01"])
def test_nobody_becomes_another_by_bare_messages(message: bytes) -> None:
    """They are not answered; the connection closes after the delay."""
    lab = lab_with_sessions()
    lab.cluster.credentials.add_user("bob", "pb", 0)
    client = logged_in(lab)
    assert client.ask("SaslHandshake", 0, mechanism="PLAIN").error_code == 0

    client.socket.send(framed(message) + framed(RIGHT) + request("Metadata", 8, topics=[]))
    assert not is_closed(client)
    assert client.socket.connection.principal == ALICE
    lab.network.advance(100)

    assert is_closed(client)
    assert client.socket.take() == b""


@pytest.mark.rules("SA-9")
def test_nobody_becomes_another() -> None:
    """Another user and a wrong password are refused, and the connection closes."""
    for message in (b"\0bob\0pb", b"\0alice\0px"):
        lab = lab_with_sessions()
        lab.cluster.credentials.add_user("bob", "pb", 0)
        client = logged_in(lab)

        assert client.ask("SaslHandshake", 1, mechanism="PLAIN").error_code == 0
        assert client.ask("SaslAuthenticate", 2, auth_bytes=message) is None
        lab.network.advance(100)

        assert client.answer("SaslAuthenticate", 2).error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        assert is_closed(client)


@pytest.mark.rules("SA-9")
@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize(
    "behind",
    [request("SaslAuthenticate", 2, auth_bytes=b"n,,n=alice,r=x"), request("Metadata", 8, topics=[]), framed(b"")],
)
def test_by_another_mechanism_nobody_logs_in_again(version: int, behind: bytes) -> None:
    """Its handshake is answered as any other; what comes behind it closes the connection without an answer."""
    lab = lab_with_sessions()
    client = logged_in(lab)

    assert client.ask("SaslHandshake", version, mechanism="SCRAM-SHA-256").error_code == 0
    client.socket.send(behind)
    lab.network.advance(100)

    assert client.socket.take() == b""
    assert "the mechanism must not change during re-authentication" in client.close_reason


@pytest.mark.rules("SA-9")
@pytest.mark.parametrize("version", [0, 1])
def test_a_handshake_for_another_login_by_a_mechanism_that_is_not_enabled_closes(version: int) -> None:
    """Without an answer: only at the first login does it say which are."""
    lab = lab_with_sessions()
    client = logged_in(lab)

    assert client.ask("SaslHandshake", version, mechanism="GSSAPI") is None
    client.socket.send(request("Metadata", 8, topics=[]))
    lab.network.advance(100)

    assert client.socket.take() == b""
    assert "the mechanism 'GSSAPI' is not enabled" in client.close_reason


@pytest.mark.rules("SA-9")
def test_a_session_is_renewed_at_once_and_then_a_second_after_the_last_time_at_the_earliest() -> None:
    """Counted from handshake to handshake; one that comes too early is refused, and the connection stays."""
    lab = lab_with_sessions()
    client = logged_in(lab)

    for wait_ms, error_code in ((0, 0), (899, 34), (1, 0), (0, 34), (900, 0)):
        lab.network.advance(wait_ms)
        assert client.ask("SaslHandshake", 1, mechanism="PLAIN").error_code == error_code
        if not error_code:
            lab.network.advance(100)  # a login that takes long does not put the next one off
            assert client.ask("SaslAuthenticate", 2, auth_bytes=RIGHT).session_lifetime_ms == SESSION_MS
        assert client.ask("Metadata", 8, topics=[]).brokers


@pytest.mark.rules("SA-9")
def test_a_client_with_a_token_of_a_second_goes_on() -> None:
    """It logs in again with the next one before the first has ended."""
    lab = lab_with_sasl()
    client = shaken(lab, "OAUTHBEARER")
    for lifetime_ms in (1000, 1500):
        message = _bearer(lab.network.now.wall_ms + lifetime_ms)
        assert client.ask("SaslAuthenticate", 2, auth_bytes=message).session_lifetime_ms == lifetime_ms
        lab.network.advance(lifetime_ms - 100)
        assert client.ask("SaslHandshake", 1, mechanism="OAUTHBEARER").error_code == 0


@pytest.mark.rules("SA-9", "SA-13")
@pytest.mark.parametrize("too_many", [0, 1])
@pytest.mark.parametrize("name", ["SaslAuthenticate", "Metadata"])
@pytest.mark.parametrize("piece_bytes", [1, 7, 100, 10_000])
def test_what_comes_while_a_client_logs_in_again_has_the_bound_of_a_login(
    piece_bytes: int, name: str, too_many: int
) -> None:
    """In whatever pieces: a frame that is longer closes, whose own handshake is answered; others are looked at."""
    lab = lab_with_sasl(**{"connections.max.reauth.ms": SESSION_MS, "sasl.server.max.receive.size": LIMIT_BYTES})
    client = logged_in(lab)
    lab.network.advance(2000)
    data = request("SaslHandshake", 1, mechanism="PLAIN") + _request_of(LIMIT_BYTES + too_many, name)
    for start in range(0, len(data), piece_bytes):
        if not is_closed(client):
            client.socket.send(data[start : start + piece_bytes])

    [answer] = frames(client.socket.take())
    assert decode_response(ApiKey.SASL_HANDSHAKE, 1, answer)[1].error_code == 0
    reason = f"a frame of {LIMIT_BYTES + 1} bytes is larger than sasl.server.max.receive.size ({LIMIT_BYTES})"
    assert (client.socket.connection.close_reason == reason) == bool(too_many)
    lab.network.advance(100)
    assert is_closed(client)  # a good length, but no right password


@pytest.mark.rules("SA-9", "SA-13")
def test_after_another_login_requests_may_be_long_again() -> None:
    """The bound is for messages of logins alone, each time; the handshake is an ordinary request."""
    lab = lab_with_sasl(**{"connections.max.reauth.ms": SESSION_MS, "sasl.server.max.receive.size": LIMIT_BYTES})
    client = logged_in(lab)

    for _ in range(3):
        lab.network.advance(2000)
        assert client.ask("FindCoordinator", 2, key="g" * 2 * LIMIT_BYTES, key_type=0).error_code == 0
        client.socket.send(
            request("SaslHandshake", 1, client_id="c" * 2 * LIMIT_BYTES, mechanism="PLAIN")
            + request("SaslAuthenticate", 2, auth_bytes=RIGHT)
            + request("FindCoordinator", 2, key="g" * 2 * LIMIT_BYTES, key_type=0)
        )
        asked = ((ApiKey.SASL_HANDSHAKE, 1), (ApiKey.SASL_AUTHENTICATE, 2), (ApiKey.FIND_COORDINATOR, 2))
        answers = zip(asked, frames(client.socket.take()), strict=True)
        assert [decode_response(*api, frame)[1].error_code for api, frame in answers] == [0, 0, 0]


def _request_of(size_bytes: int, name: str) -> bytes:
    """A request whose frame has this size; of a client with a long name, or with a wrong password."""
    if name == "SaslAuthenticate":
        empty = request(name, 1, auth_bytes=b"")
        return request(name, 1, auth_bytes=b"\0alice\0".ljust(size_bytes + PREFIX_BYTES - len(empty), b"x"))
    empty = request(name, 1, client_id="", topics=[])
    return request(name, 1, client_id="c" * (size_bytes + PREFIX_BYTES - len(empty)), topics=[])


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
        "id", "key", ALICE, ALICE, (), SESSION_MS, Limits(10**9, 10**9, 0), lab.network.now.wall_ms
    )
    client = shaken(lab, "SCRAM-SHA-256")
    assert by_scram(client, *_by(token)).session_lifetime_ms == SESSION_MS
    assert client.ask("Metadata", 8, topics=[]).brokers

    lab.network.advance(SESSION_MS)

    assert client.ask("Metadata", 8, topics=[]) is None
    assert is_closed(client)


@pytest.mark.rules("SA-9", "TK-1")
@pytest.mark.parametrize("begins_with_token", [True, False])
def test_a_client_may_renew_its_session_by_its_token(*, begins_with_token: bool) -> None:
    """And by its password after that: it is the same client, which counts as logged in by what it has shown last."""
    lab = lab_with_sasl(**{"connections.max.reauth.ms": SESSION_MS, "delegation.token.secret.key": "key"})
    token = lab.cluster.credentials.tokens.create(
        "id", "key", ALICE, ALICE, (), 10**9, Limits(10**9, 10**9, 0), lab.network.now.wall_ms
    )
    client = lab.client()
    for is_token in (begins_with_token, not begins_with_token, begins_with_token):
        assert client.ask("SaslHandshake", 1, mechanism="SCRAM-SHA-256").error_code == 0
        user, password, extension = _by(token) if is_token else ("alice", "pa", "")
        assert by_scram(client, user, password, extension).session_lifetime_ms == SESSION_MS
        refusal = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED if is_token else ErrorCode.NONE
        assert client.ask("DescribeDelegationToken", 3, owners=None).error_code == refusal
        lab.network.advance(SESSION_MS // 2)


@pytest.mark.rules("SA-9")
def test_nobody_becomes_another_by_a_token() -> None:
    """Of another client."""
    lab = lab_with_sasl(**{"connections.max.reauth.ms": SESSION_MS, "delegation.token.secret.key": "key"})
    bob = Principal("bob")
    token = lab.cluster.credentials.tokens.create(
        "id", "key", bob, bob, (), 10**9, Limits(10**9, 10**9, 0), lab.network.now.wall_ms
    )
    client = shaken(lab, "SCRAM-SHA-256")
    assert by_scram(client, "alice", "pa", "").error_code == 0
    lab.network.advance(SESSION_MS // 2)
    assert client.ask("SaslHandshake", 1, mechanism="SCRAM-SHA-256").error_code == 0
    assert by_scram(client, *_by(token)) is None
    lab.network.advance(100)
    refusal = client.answer("SaslAuthenticate", 2)
    assert refusal.error_message == "Cannot change principals during re-authentication"
    assert is_closed(client)


def by_scram(client: Client, user: str, password: str, extension: str) -> Any:
    """The answer to the last message of a login by SCRAM."""
    scram = ScramClient("SCRAM-SHA-256", user, password, extension, "nonce")
    challenge = client.ask("SaslAuthenticate", 2, auth_bytes=scram.first)
    return client.ask("SaslAuthenticate", 2, auth_bytes=scram.final(bytes(challenge.auth_bytes)))


def _by(token: Token) -> tuple[str, str, str]:
    """The user, the password and the extension of a login by a token."""
    return token.token_id, b64encode(token.hmac).decode(), TOKEN_EXTENSION


def _bearer(expires_ms: int) -> bytes:
    """The first message of a client with an unsecured token."""
    return f"n,,\x01auth=Bearer {unsecured('carol', expires_ms / 1000)}\x01\x01".encode()

"""Connections that log in: which request may come when, and what each is answered."""

from struct import pack
from typing import Any

import pytest

from fakebroker.broker.core.security.principals import ANONYMOUS
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.instant import Instant
from tests.support.engine import Client, SimEngine
from tests.support.frames import framed, frames, request
from tests.support.logins import RIGHT, WRONG, lab_with_sasl, logged_in, shaken

DELAY_MS = 100


def connection_of(client: Client) -> Any:
    return client.socket.connection


def is_closed(client: Client) -> bool:
    return connection_of(client).close_reason is not None


@pytest.mark.rules("SA-1", "SA-2", "SA-3", "SA-5")
def test_a_client_logs_in_and_is_served() -> None:
    """ApiVersions, handshake, password; then any request, of the principal."""
    lab = lab_with_sasl()
    client = lab.client()

    assert client.ask("ApiVersions", 0).error_code == 0
    shake = client.ask("SaslHandshake", 1, mechanism="PLAIN")
    assert sorted(shake.mechanisms) == ["OAUTHBEARER", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
    assert connection_of(client).principal == ANONYMOUS
    login = client.ask("SaslAuthenticate", 2, auth_bytes=RIGHT)
    assert (login.error_code, login.error_message, login.auth_bytes, login.session_lifetime_ms) == (0, "", b"", 0)
    assert str(connection_of(client).principal) == "User:alice"
    assert client.ask("Metadata", 8, topics=[]).brokers


@pytest.mark.rules("SA-1")
def test_everything_may_come_in_one_write() -> None:
    """A client that does not wait for answers gets all of them, in order."""
    lab = lab_with_sasl()
    client = lab.client()
    requests = [
        request("ApiVersions", 0),
        request("SaslHandshake", 1, mechanism="PLAIN"),
        request("SaslAuthenticate", 2, auth_bytes=RIGHT),
        request("Metadata", 8, topics=[]),
        request("Metadata", 8, topics=[]),
    ]

    client.socket.send(b"".join(requests))

    assert len(frames(client.socket.take())) == len(requests)


@pytest.mark.rules("SA-1")
@pytest.mark.parametrize("size", [1, 3, 7])
def test_a_login_may_come_in_small_pieces(size: int) -> None:
    """Bytes that come in pieces of any size make the same login."""
    lab = lab_with_sasl()
    client = lab.client()
    data = request("SaslHandshake", 1, mechanism="PLAIN") + request("SaslAuthenticate", 2, auth_bytes=RIGHT)
    data += request("Metadata", 8, topics=[])

    for start in range(0, len(data), size):
        client.socket.send(data[start : start + size])

    assert len(frames(client.socket.take())) == 3


@pytest.mark.rules("SA-1")
def test_after_the_first_version_of_the_handshake_messages_come_bare() -> None:
    """The password comes without a header, the answer is four bytes of length 0, then requests go on."""
    lab = lab_with_sasl()
    client = shaken(lab, version=0)

    client.socket.send(framed(RIGHT))

    assert client.socket.take() == pack(">i", 0)
    assert client.ask("Metadata", 8, topics=[]).brokers


@pytest.mark.rules("SA-1", "SA-4")
def test_a_wrong_bare_password_closes_after_the_delay() -> None:
    """There is no answer to it, and none to what comes behind."""
    lab = lab_with_sasl()
    client = shaken(lab, version=0)

    client.socket.send(framed(WRONG) + framed(RIGHT))
    assert not is_closed(client)
    lab.network.advance(DELAY_MS)

    assert is_closed(client)
    assert client.socket.take() == b""


@pytest.mark.rules("SA-1", "SA-13")
@pytest.mark.parametrize("first_bytes", [1, 4, 7])
def test_a_long_bare_message_is_no_request(first_bytes: int) -> None:
    """It comes in pieces, and would be read in steps if it were one; what comes behind a wrong one is not read."""
    lab = lab_with_sasl(**{"sasl.server.max.receive.size": 10_000_000})
    right, wrong = shaken(lab, version=0), shaken(lab, version=0)
    lab.engine.at_once_bytes = 8
    for client, message in ((right, RIGHT), (wrong, WRONG), (wrong, b"\0\x63secrets")):
        data = framed(message)
        client.socket.send(data[:first_bytes])
        client.socket.send(data[first_bytes:])
    assert right.socket.take() == pack(">i", 0)
    assert right.ask("Metadata", 8, topics=[]).brokers
    assert not is_closed(wrong)
    lab.network.advance(DELAY_MS)
    assert "is wrong" in wrong.close_reason
    assert wrong.socket.take() == b""
    assert lab.engine.unserved.lines == []


@pytest.mark.rules("SA-4")
def test_a_wrong_password_is_answered_late_and_closes() -> None:
    """The answer comes after the delay of the settings; what was sent behind it is not served."""
    lab = lab_with_sasl(**{"connection.failed.authentication.delay.ms": 700})
    client = shaken(lab)

    client.socket.send(request("SaslAuthenticate", 2, auth_bytes=WRONG) + request("Metadata", 8, topics=[]))
    lab.network.advance(699)
    assert client.answer("SaslAuthenticate", 2) is None
    lab.network.advance(1)

    refusal = client.answer("SaslAuthenticate", 2)
    assert refusal.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert "px" not in refusal.error_message
    assert is_closed(client)


@pytest.mark.rules("SA-4")
def test_a_long_message_is_refused_as_a_short_one() -> None:
    """The connection closes after the answer; what was sent behind it is not served."""
    lab = lab_with_sasl()
    client = shaken(lab)
    long = request("SaslAuthenticate", 2, auth_bytes=WRONG + b"x" * 140_000)

    client.socket.send(long + request("SaslAuthenticate", 2, auth_bytes=RIGHT))
    lab.network.advance(DELAY_MS)

    assert client.answer("SaslAuthenticate", 2).error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert is_closed(client)
    assert connection_of(client).principal == ANONYMOUS
    assert client.socket.take() == b""


@pytest.mark.rules("SA-4")
def test_a_client_that_leaves_before_its_refusal_leaves_nothing() -> None:
    """The timer of the answer ends with the connection."""
    lab = lab_with_sasl()
    client = shaken(lab)
    client.socket.send(request("SaslAuthenticate", 2, auth_bytes=WRONG))

    client.socket.close()
    lab.network.advance(DELAY_MS)

    assert lab.engine.errors == []


@pytest.mark.rules("SA-6")
@pytest.mark.parametrize("name", ["Metadata", "SaslAuthenticate", "ApiVersions"])
def test_nothing_else_may_come_before_the_handshake(name: str) -> None:
    """It is not answered, and closes the connection; so does ApiVersions the second time."""
    lab = lab_with_sasl()
    client = lab.client()
    client.ask("ApiVersions", 0)

    assert client.ask(name, 0, **({"topics": []} if name == "Metadata" else {})) is None
    assert is_closed(client)


@pytest.mark.rules("SA-6")
def test_api_versions_of_an_unknown_version_does_not_count() -> None:
    """A client may ask again in a version that there is."""
    lab = lab_with_sasl()
    client = lab.client()
    client.socket.send(framed(pack(">hhihx", 18, 99, 1, -1)))
    assert len(frames(client.socket.take())) == 1

    assert client.ask("ApiVersions", 0).error_code == 0
    assert not is_closed(client)


@pytest.mark.rules("SA-7")
def test_a_mechanism_that_is_not_enabled_closes() -> None:
    """The answer names those that are."""
    lab = lab_with_sasl(**{"sasl.enabled.mechanisms": "SCRAM-SHA-256"})
    client = lab.client()

    answer = client.ask("SaslHandshake", 1, mechanism="PLAIN")

    assert (answer.error_code, answer.mechanisms) == (ErrorCode.UNSUPPORTED_SASL_MECHANISM, ["SCRAM-SHA-256"])
    assert is_closed(client)


@pytest.mark.rules("SA-8")
@pytest.mark.parametrize(("name", "version", "fields"), [("Metadata", 8, {"topics": []}), ("ApiVersions", 0, {})])
def test_other_requests_during_a_login_are_refused(name: str, version: int, fields: dict[str, Any]) -> None:
    """The connection closes after the delay of a failed login."""
    lab = lab_with_sasl()
    client = shaken(lab)

    assert client.ask(name, version, **fields) is None
    lab.network.advance(DELAY_MS)

    assert is_closed(client)
    assert len(frames(client.socket.take())) == 1


@pytest.mark.rules("SA-9")
def test_who_has_logged_in_may_not_do_so_again() -> None:
    """Both requests are refused, and the connection stays."""
    client = logged_in(lab_with_sasl())

    assert client.ask("SaslHandshake", 1, mechanism="PLAIN").error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert client.ask("SaslAuthenticate", 2, auth_bytes=RIGHT).error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert client.ask("Metadata", 8, topics=[]).brokers


@pytest.mark.rules("SA-12")
def test_without_sasl_both_requests_are_refused() -> None:
    """The connection stays, of a client that nobody knows."""
    client = SimEngine().client()

    shake = client.ask("SaslHandshake", 1, mechanism="PLAIN")
    assert (shake.error_code, shake.mechanisms) == (ErrorCode.ILLEGAL_SASL_STATE, [])
    assert client.ask("SaslAuthenticate", 2, auth_bytes=RIGHT).error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert client.ask("Metadata", 8, topics=[]).brokers
    assert connection_of(client).principal == ANONYMOUS


@pytest.mark.rules("SA-13")
def test_a_message_that_is_too_long_closes() -> None:
    """A login is no place for megabytes; after it other limits count."""
    lab = lab_with_sasl(**{"sasl.server.max.receive.size": 100})
    client = shaken(lab)

    client.socket.send(pack(">i", 101))

    assert "sasl.server.max.receive.size (100)" in client.close_reason
    assert logged_in(lab).ask("FindCoordinator", 2, key="g" * 200, key_type=0).error_code == 0


@pytest.mark.rules("SC-5")
def test_a_new_password_counts_for_new_connections() -> None:
    """A connection that is logged in lives on."""
    lab = lab_with_sasl()
    client = logged_in(lab)

    lab.cluster.credentials.add_user("alice", "new", 0)

    refused = shaken(lab)
    assert refused.ask("SaslAuthenticate", 2, auth_bytes=RIGHT) is None
    assert shaken(lab).ask("SaslAuthenticate", 2, auth_bytes=b"\0alice\0new").error_code == 0
    assert client.ask("Metadata", 8, topics=[]).brokers


def test_the_broker_keeps_no_password() -> None:
    """Neither the users nor the state of a snapshot have one."""
    lab = lab_with_sasl()
    lab.cluster.credentials.add_user("bob", "a-long-secret", 0)

    assert "a-long-secret" not in repr((vars(lab.cluster.credentials), lab.cluster.credentials.state()))
    assert lab.engine.now > Instant(0, 0)

"""Scripted clients log in: by a step, or because they were made with credentials."""

import base64
from typing import Any

import pytest

from fakebroker import FakeBroker
from fakebroker.client.connection import ConnectionLost
from fakebroker.client.login import Credentials, LoginRefused
from fakebroker.client.scram import ScramClient
from fakebroker.protocol.errors import ErrorCode, FakebrokerError, InvalidArgument, UnknownThing
from fakebroker.testing.virtual_broker import VirtualBroker
from tests.support.bearer import unsecured

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
SECRET = "a-long-secret"


@pytest.fixture
def broker() -> VirtualBroker:
    """A broker where alice has a password."""
    return VirtualBroker(users={"alice": SECRET}, config={"delegation.token.secret.key": "key"})


@pytest.mark.rules("SA-3", "SA-10")
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_client_logs_in_when_it_is_made(broker: VirtualBroker, mechanism: str) -> None:
    """Its requests are served, and after a reconnect it logs in again by itself."""
    client = broker.client("a", user="alice", password=SECRET, mechanism=mechanism)
    assert client.metadata().brokers

    client.reconnect()
    assert client.metadata().brokers
    assert client.another().metadata().brokers


@pytest.mark.rules("SA-4", "SA-10")
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_wrong_password_is_reported_in_the_broker_s_words(broker: VirtualBroker, mechanism: str) -> None:
    """The error has no password."""
    with pytest.raises(LoginRefused, match=r"Authentication failed.*[Ii]nvalid") as refused:
        broker.client("a", user="alice", password="another-secret", mechanism=mechanism)
    assert "secret" not in str(refused.value)


@pytest.mark.rules("SA-11")
def test_a_token_logs_in(broker: VirtualBroker) -> None:
    """By OAUTHBEARER; one that has expired is refused with the broker's words."""
    now_s = broker.clock.now_ms // 1000
    assert broker.client("a", token=unsecured("carol", now_s + 60)).metadata().brokers
    with pytest.raises(LoginRefused, match="invalid_token"):
        broker.client("a", token=unsecured("carol", now_s - 1))


@pytest.mark.rules("TK-5")
def test_a_delegation_token_logs_in(broker: VirtualBroker) -> None:
    """Its id is the user, its HMAC in base64 the password."""
    alice = broker.client("a", user="alice", password=SECRET)
    made: Any = alice.request("CreateDelegationToken", 3, renewers=[], max_lifetime_ms=-1)
    client = broker.client("b")

    answer = client.login(made.token_id, base64.b64encode(made.hmac).decode(), delegation_token=True)

    assert answer.error_code == 0
    assert client.metadata().brokers


def test_a_step_returns_the_last_answer(broker: VirtualBroker) -> None:
    """Also that of a mechanism which is not enabled, and of a listener where nobody logs in."""
    assert broker.client("a").login("alice", "px").error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert (
        broker.client("a").login("nobody", "px", mechanism="SCRAM-SHA-256").error_code
        == ErrorCode.SASL_AUTHENTICATION_FAILED
    )
    assert VirtualBroker().client("a").login("alice", SECRET).error_code == ErrorCode.ILLEGAL_SASL_STATE
    limited = VirtualBroker(users={"alice": SECRET}, config={"sasl.enabled.mechanisms": "SCRAM-SHA-512"})
    assert limited.client("a").login("alice", SECRET).error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM
    with pytest.raises(ConnectionLost):
        broker.client("a").metadata()


def test_a_client_over_tcp_logs_in() -> None:
    """As in virtual time."""
    with FakeBroker(users={"alice": SECRET}) as broker:
        assert broker.client("a", user="alice", password=SECRET).metadata().brokers
        with pytest.raises(LoginRefused):
            broker.client("a", user="alice", password="x")


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"password": "secret"}, InvalidArgument, "needs a user"),
        ({"user": "a", "password": b"secret"}, InvalidArgument, "^password: should be a text"),
        (
            {"user": "a", "password": "secret", "mechanism": "GSSAPI"},
            UnknownThing,
            "the mechanism 'GSSAPI' is not supported; there are PLAIN",
        ),
        ({"user": "a", "token": "secret", "mechanism": "PLAIN"}, InvalidArgument, "OAUTHBEARER"),
        ({"user": "a", "password": "secret", "mechanism": "OAUTHBEARER"}, InvalidArgument, "OAUTHBEARER"),
    ],
)
def test_what_is_no_login_is_reported_without_secrets(
    arguments: dict[str, Any], error: type[InvalidArgument], words: str
) -> None:
    """Neither in the text nor in the value."""
    with pytest.raises(error, match=words) as wrong:
        VirtualBroker(users={"a": "b"}).client("a", **arguments)
    assert "secret" not in f"{wrong.value} {wrong.value.value}"
    assert "secret" not in repr(Credentials("a", "secret", token="secret"))


@pytest.mark.parametrize(
    "challenge",
    ["", "e=other-error", "r=another,s=c2FsdA==,i=4096", "r=mine+,s=c2FsdA,i=4096", "r=mine+,s=c2FsdA==,i=0", "\xff"],
)
def test_a_challenge_that_answers_no_login_is_refused(challenge: str) -> None:
    """Malformed, of another client, or with parameters that no broker has; with the right one there is a proof."""
    client = ScramClient("SCRAM-SHA-256", "alice", SECRET, nonce="mine")
    with pytest.raises(FakebrokerError, match="SCRAM message is malformed, or is not for this login"):
        client.final(challenge.encode("latin-1"))
    assert client.final(b"r=mine+theirs,s=c2FsdA==,i=4096").startswith(b"c=biws,r=mine+theirs,p=")

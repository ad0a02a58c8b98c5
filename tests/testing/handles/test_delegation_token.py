"""Delegation tokens as a test sees them, from their making to their end."""

import pytest

from fakebroker.client.login import LoginRefused
from fakebroker.protocol.errors import ErrorCode, InvalidArgument, KafkaError, UnknownThing
from fakebroker.testing.handles.delegation_token import DelegationTokenHandle
from fakebroker.testing.virtual_broker import VirtualBroker

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


@pytest.fixture
def broker() -> VirtualBroker:
    return VirtualBroker(users={"alice": "pa"}, config={"delegation.token.secret.key": "key"})


def logs_in(broker: VirtualBroker, token: DelegationTokenHandle, secret: str) -> bool:
    return bool(broker.client("t").login(token.token_id, secret, delegation_token=True).error_code == 0)


@pytest.mark.rules("TK-2", "TK-5")
def test_a_token_that_the_test_made_logs_in_as_its_owner(broker: VirtualBroker) -> None:
    """Until it ends by the broker's clock."""
    token = broker.users.create_token("alice", renewers=["bob"])
    secret = token.secret()
    assert (token.owner, token.requester, token.renewers) == ("User:alice", "User:alice", ["User:bob"])
    assert (token.expires_ms - token.issued_ms, token.max_ms - token.issued_ms) == (DAY_MS, 7 * DAY_MS)
    assert [each.token_id for each in broker.users.tokens] == [token.token_id]

    assert logs_in(broker, token, secret)
    (message,) = [row for row in broker.journal.rows() if row["kind"] == "client_login"]
    assert message["principal"] == "User:alice"

    broker.clock.advance(days=1)
    assert (token.exists, broker.users.tokens) == (False, [])
    assert not logs_in(broker, token, secret)


@pytest.mark.rules("TK-3")
def test_a_token_that_a_client_made_is_seen_and_ended(broker: VirtualBroker) -> None:
    """Who is logged in with it stays; nobody else gets in."""
    alice = broker.client("a", user="alice", password="pa")
    made = alice.request("CreateDelegationToken", 3, renewers=[], max_lifetime_ms=HOUR_MS)
    (token,) = broker.users.tokens
    secret = token.secret()
    assert (token.token_id, token.expires_ms) == (made.token_id, made.expiry_timestamp_ms)
    client = broker.client("t")
    assert client.login(token.token_id, secret, delegation_token=True).error_code == 0

    renewed = alice.request("RenewDelegationToken", 2, hmac=made.hmac, renew_period_ms=HOUR_MS // 2)
    assert token.expires_ms == renewed.expiry_timestamp_ms
    token.expire()

    assert client.metadata().brokers
    assert not logs_in(broker, token, secret)
    refused = alice.request("RenewDelegationToken", 2, hmac=made.hmac, renew_period_ms=1)
    assert refused.error_code == ErrorCode.DELEGATION_TOKEN_NOT_FOUND


@pytest.mark.rules("TK-1")
def test_who_logged_in_with_a_token_makes_none(broker: VirtualBroker) -> None:
    """All four APIs are refused."""
    token = broker.users.create_token("alice")
    client = broker.client("t")
    client.login(token.token_id, token.secret(), delegation_token=True)

    assert (
        client.request("CreateDelegationToken", 3, renewers=[], max_lifetime_ms=-1).error_code
        == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    )
    assert (
        client.request("DescribeDelegationToken", 3, owners=None).error_code
        == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    )
    assert (
        client.request("RenewDelegationToken", 2, hmac=b"x", renew_period_ms=1).error_code
        == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    )
    assert (
        client.request("ExpireDelegationToken", 2, hmac=b"x", expiry_time_period_ms=1).error_code
        == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    )


def test_a_snapshot_has_the_tokens() -> None:
    """They outlive a restore, and end at the same time of day."""
    broker = VirtualBroker(users={"alice": "pa"}, config={"delegation.token.secret.key": "key"})
    token = broker.users.create_token("alice", max_lifetime_ms=HOUR_MS)
    fork = broker.snapshot().virtual_fork()

    (copied,) = fork.users.tokens
    assert (copied.token_id, copied.expires_ms, copied.secret()) == (token.token_id, token.expires_ms, token.secret())


def test_what_cannot_be_is_reported(broker: VirtualBroker) -> None:
    """Tokens that there are not, arguments that are none, a broker without the secret key, a password that is wrong."""
    token = broker.users.token("none")
    assert not token.exists
    for ask in (token.expire, token.secret, lambda: token.owner):
        with pytest.raises(UnknownThing, match="no delegation token 'none'"):
            ask()
    with pytest.raises(InvalidArgument, match="max_lifetime_ms"):
        broker.users.create_token("alice", max_lifetime_ms="1h")  # type: ignore[arg-type]
    with pytest.raises(KafkaError, match=r"delegation\.token\.secret\.key"):
        VirtualBroker(users={"alice": "pa"}).users.create_token("alice")
    with pytest.raises(LoginRefused, match="invalid credentials with SASL mechanism SCRAM-SHA-256"):
        broker.client("t", user="alice", password="x", mechanism="SCRAM-SHA-256")

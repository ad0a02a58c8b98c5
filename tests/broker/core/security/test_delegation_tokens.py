"""Delegation tokens: how long they live, and who may do what to them."""

from base64 import b64encode

import pytest

from fakebroker.broker.core.security import delegation_tokens
from fakebroker.broker.core.security.credentials import Credentials
from fakebroker.broker.core.security.delegation_tokens import DelegationTokens, Limits, Token
from fakebroker.broker.core.security.principals import Principal
from fakebroker.broker.core.security.scram import ScramCredential, ScramMechanism, credential_of
from fakebroker.client.scram import ScramClient
from fakebroker.protocol.errors import ErrorCode, KafkaError
from tests.support.work_counter import calls_of

ALICE, BOB, CAROL = Principal("alice"), Principal("bob"), Principal("carol")
DAY_MS, HOUR_MS = 86_400_000, 3_600_000
LIMITS = Limits(7 * DAY_MS, DAY_MS, HOUR_MS)
NOW_MS = 10**12


def made(tokens: DelegationTokens, max_lifetime_ms: int = -1) -> Token:
    """A token of alice that bob may renew."""
    renewers = [("User", "bob")]
    return tokens.create("id", "key", ALICE, ALICE, renewers, max_lifetime_ms, LIMITS, NOW_MS)


@pytest.mark.rules("TK-2")
@pytest.mark.parametrize(
    ("asked_ms", "max_ms", "expiry_ms"),
    [(-1, 7 * DAY_MS, DAY_MS), (8 * DAY_MS, 7 * DAY_MS, DAY_MS), (2 * DAY_MS, 2 * DAY_MS, DAY_MS), (1000, 1000, 1000)],
)
def test_how_long_a_token_lives(asked_ms: int, max_ms: int, expiry_ms: int) -> None:
    """No longer than the settings allow, and without renewal a day."""
    token = made(DelegationTokens(), asked_ms)

    assert (token.max_ms - NOW_MS, token.expires_ms - NOW_MS) == (max_ms, expiry_ms)


@pytest.mark.rules("TK-3")
def test_owner_and_renewers_renew_up_to_the_maximum() -> None:
    """By a day at most. Nobody else may; a token that there is not is not found, nor one that expired long ago."""
    tokens = DelegationTokens()
    token = made(tokens)

    assert tokens.renew(token.hmac, BOB, 2 * HOUR_MS, LIMITS, NOW_MS) == NOW_MS + 2 * HOUR_MS
    for period_ms in (0, -1, 2 * DAY_MS, 2**62):
        assert tokens.renew(token.hmac, BOB, period_ms, LIMITS, NOW_MS) == NOW_MS + DAY_MS
    for now_ms in range(NOW_MS, token.max_ms, DAY_MS // 2):
        assert tokens.renew(token.hmac, ALICE, -1, LIMITS, now_ms) == min(now_ms + DAY_MS, token.max_ms)
    for digest, who, now_ms, code in (
        (token.hmac, CAROL, NOW_MS, ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH),
        (b"x", ALICE, NOW_MS, ErrorCode.DELEGATION_TOKEN_NOT_FOUND),
        (token.hmac, ALICE, token.max_ms, ErrorCode.DELEGATION_TOKEN_EXPIRED),
        (token.hmac, ALICE, token.max_ms + HOUR_MS - 1, ErrorCode.DELEGATION_TOKEN_EXPIRED),
        (token.hmac, ALICE, token.max_ms + HOUR_MS, ErrorCode.DELEGATION_TOKEN_NOT_FOUND),
    ):
        with pytest.raises(KafkaError) as refused:
            tokens.renew(digest, who, 1, LIMITS, now_ms)
        assert refused.value.code == code


@pytest.mark.rules("TK-3")
def test_who_requested_a_token_for_another_only_sees_it() -> None:
    """It is the owner's, and its renewers'."""
    tokens = DelegationTokens()
    token = tokens.create("id", "key", ALICE, CAROL, [("User", "bob")], -1, LIMITS, NOW_MS)

    assert [each for each in (ALICE, BOB, CAROL) if token.is_read_by(each)] == [ALICE, BOB, CAROL]
    with pytest.raises(KafkaError, match="DELEGATION_TOKEN_OWNER_MISMATCH"):
        tokens.renew(token.hmac, CAROL, DAY_MS, LIMITS, NOW_MS)
    for period_ms in (-1, 1):
        with pytest.raises(KafkaError, match="DELEGATION_TOKEN_OWNER_MISMATCH"):
            tokens.expire(token.hmac, CAROL, period_ms, LIMITS, NOW_MS)
    assert list(tokens) == [token]


@pytest.mark.rules("TK-3")
def test_a_token_ends_at_once_or_later() -> None:
    """A negative time removes it."""
    tokens = DelegationTokens()
    token = made(tokens)

    assert tokens.expire(token.hmac, BOB, 5, LIMITS, NOW_MS) == NOW_MS + 5
    assert tokens.user_of("SCRAM-SHA-256", "id", NOW_MS + 4) is not None
    assert tokens.user_of("SCRAM-SHA-256", "id", NOW_MS + 5) is None
    assert tokens.expire(token.hmac, ALICE, -1, LIMITS, NOW_MS) == NOW_MS
    assert list(tokens) == []


@pytest.mark.rules("TK-5")
@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_token_logs_in_as_its_owner(mechanism: str) -> None:
    """By its id and its HMAC in base64; the principal says that it came by a token."""
    tokens = DelegationTokens()
    token = made(tokens)
    client = ScramClient(mechanism, "id", b64encode(token.hmac).decode(), ",tokenauth=true")
    login = ScramMechanism(
        mechanism, lambda name, is_token: tokens.user_of(mechanism, name, NOW_MS) if is_token else None, "nonce"
    )

    client.check(login.answer_to(client.final(login.answer_to(client.first))))

    assert login.login is not None
    assert login.login.principal == Principal("alice", is_token=True)
    assert login.login.ends_ms == token.expires_ms


@pytest.mark.rules("TK-3")
def test_a_token_is_found_by_its_hmac_among_many() -> None:
    """However many there are, none of the others is looked at; a wrong HMAC finds none."""
    tokens = DelegationTokens()

    def make(number: int) -> Token:
        return tokens.create(f"id{number}", "key", ALICE, ALICE, [], -1, LIMITS, NOW_MS)

    def renew(token: Token) -> None:
        tokens.renew(token.hmac, ALICE, -1, LIMITS, NOW_MS)

    first = make(0)
    few = calls_of(lambda: renew(first))
    others = [make(number) for number in range(1, 300)]
    assert calls_of(lambda: renew(first)) == few
    tokens.remove("id7")
    for token, code in ((others[6], ErrorCode.DELEGATION_TOKEN_NOT_FOUND), (others[7], ErrorCode.NONE)):
        if code:
            with pytest.raises(KafkaError) as error:
                renew(token)
            assert error.value.code == code
        else:
            renew(token)


def test_the_credential_of_a_token_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes 4,096 hashes, and whoever begins a login with the token's id asks for it."""
    made_for: list[str] = []

    def counted(mechanism: str, password: str, salt: bytes) -> ScramCredential:
        made_for.append(mechanism)
        return credential_of(mechanism, password, salt)

    monkeypatch.setattr(delegation_tokens, "credential_of", counted)
    tokens = DelegationTokens()
    made(tokens)
    for _ in range(3):
        for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
            assert tokens.user_of(mechanism, "id", NOW_MS) is not None
    tokens.remove("id")
    made(tokens)
    assert tokens.user_of("SCRAM-SHA-256", "id", NOW_MS) is not None
    assert made_for == ["SCRAM-SHA-256", "SCRAM-SHA-512", "SCRAM-SHA-256"]


def test_tokens_and_credentials_are_in_the_state() -> None:
    """What is read of one cluster makes the same in another."""
    credentials, other = Credentials(), Credentials()
    credentials.add_user("alice", "pa", 0)
    made(credentials.tokens)

    other.restore(credentials.state())

    assert other.state() == credentials.state()
    assert list(other.tokens) == list(credentials.tokens)
    assert other.is_password("alice", "pa")
    assert not other.is_password("alice", "px")
    assert not other.is_password("bob", "pa")

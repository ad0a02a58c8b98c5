"""OAUTHBEARER with unsecured tokens."""

import json
from base64 import urlsafe_b64encode
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.core.security.bearer_tokens import MAX_TOKEN_LENGTH, InvalidToken, unsecured_login
from fakebroker.broker.core.security.mechanisms import AuthenticationFailed, Login
from fakebroker.broker.core.security.oauthbearer import INVALID_TOKEN, OAuthBearerMechanism

NOW_S = 1_000_000


def login_of() -> OAuthBearerMechanism:
    """A login where unsecured tokens are accepted."""
    return OAuthBearerMechanism(lambda token: unsecured_login(token, NOW_S * 1000))


def part(value: Any) -> str:
    return urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def message(algorithm: str = "none", authorization_id: str = "", **claims: Any) -> bytes:
    """The first message of a client with a token of these claims."""
    who = f"a={authorization_id}" if authorization_id else ""
    return f"n,{who},\x01auth=Bearer {part({'alg': algorithm})}.{part(claims)}.\x01\x01".encode()


@pytest.mark.rules("SA-11")
def test_a_good_token_names_the_principal_and_ends_the_login() -> None:
    """`sub` is the user, the login is valid until `exp`."""
    login = login_of()

    assert login.answer_to(message(sub="alice", exp=NOW_S + 60, iat=NOW_S, authorization_id="alice")) == b""
    assert login.login is not None
    assert (str(login.login.principal), login.login.ends_ms) == ("User:alice", (NOW_S + 60) * 1000)


@pytest.mark.rules("SA-11")
def test_a_blank_is_what_java_calls_one() -> None:
    """A name of other blanks of Unicode is a name."""
    for name in ("\u2003", "\u00a0admin", " admin "):
        login = login_of()
        assert login.answer_to(message(sub=name, exp=NOW_S + 60)) == b""
        assert login.login is not None
        assert login.login.principal.name == name


@pytest.mark.rules("SA-11")
@pytest.mark.parametrize(
    "token",
    [
        message(sub="alice", exp=NOW_S),
        message(sub="alice"),
        message(exp=NOW_S + 60),
        message(sub="\x1f \x01", exp=NOW_S + 60),
        message(sub="alice", exp="soon"),
        message(sub="alice", exp=NOW_S + 60, iat=NOW_S + 1),
        message(sub="a" * 1_001, exp=NOW_S + 60),
        message(sub="alice", exp=NOW_S + 60, scope=5),
        message(sub="alice", exp=NOW_S + 60, weight=float("nan")),
        message("RS256", sub="alice", exp=NOW_S + 60),
        b"n,,\x01auth=Bearer nonsense\x01\x01",
    ],
)
def test_a_bad_token_is_refused_after_the_client_has_heard_of_it(token: bytes) -> None:
    """The client learns what is wrong, says so, and is refused with the same words."""
    login = login_of()

    assert login.answer_to(token) == INVALID_TOKEN
    with pytest.raises(AuthenticationFailed, match="invalid_token"):
        login.answer_to(b"\x01")
    assert login.login is None


def test_a_very_long_token_is_refused_before_it_is_decoded() -> None:
    """Whoever checks it, and whatever it is: no part is looked at, and the refusal says how long it may be."""
    checked: list[str] = []

    def check(token: str) -> Login:
        checked.append(token)
        raise InvalidToken("checked")

    for length in (MAX_TOKEN_LENGTH, MAX_TOKEN_LENGTH + 1):
        start = f"{part({'alg': 'none'})}.{part({'sub': 'alice'})}."
        login = OAuthBearerMechanism(check)
        token = start + "x" * (length - len(start))
        assert login.answer_to(f"n,a=bob,\x01auth=Bearer {token}\x01\x01".encode()) == INVALID_TOKEN
        is_taken = length == MAX_TOKEN_LENGTH
        assert login.claimed == ("alice" if is_taken else "bob")
        assert login.refusal.endswith("checked" if is_taken else "it has 65,537 characters; at most 65,536 are taken")
    assert [len(each) for each in checked] == [MAX_TOKEN_LENGTH]


@pytest.mark.rules("SA-11")
def test_after_a_bad_token_the_client_may_show_another_one() -> None:
    """Instead of the byte that ends the login; anything else is refused in Kafka's words for invalid credentials."""
    login, bad = login_of(), message(sub="alice", exp=NOW_S)

    assert login.answer_to(bad) == login.answer_to(bad) == INVALID_TOKEN
    assert login.answer_to(message(sub="alice", exp=NOW_S + 60)) == b""
    assert login.login is not None
    for broken in (b"", b"x", b"\x01\x01"):
        login = login_of()
        assert login.answer_to(bad) == INVALID_TOKEN
        with pytest.raises(AuthenticationFailed, match="invalid credentials with SASL mechanism OAUTHBEARER"):
            login.answer_to(broken)
        assert login.login is None


@pytest.mark.rules("SA-11")
@pytest.mark.parametrize(
    "broken",
    [b"", b"n,,", b"n,,\x01\x01", b"n,,\x01auth=Basic x\x01\x01", message(authorization_id="bob", sub="a", exp=2e6)],
)
def test_a_broken_message_is_refused_at_once(broken: bytes) -> None:
    """As is an authorization id that the token does not name."""
    with pytest.raises(AuthenticationFailed):
        login_of().answer_to(broken)


@given(data=st.binary(max_size=60), token=st.text("abcAB09-_.", max_size=40))
def test_messages_at_random_log_nobody_in(data: bytes, token: str) -> None:
    """Nothing but a refusal comes of them."""
    for first in (data, f"n,,\x01auth=Bearer {token}\x01\x01".encode()):
        login = login_of()
        with suppress(AuthenticationFailed):
            assert login.answer_to(first) == INVALID_TOKEN
        assert login.login is None

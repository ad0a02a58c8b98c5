"""PLAIN: user and password in one message."""

import pytest

from fakebroker.broker.core.security.mechanisms import AuthenticationFailed
from fakebroker.broker.core.security.plain import PlainMechanism


def login() -> PlainMechanism:
    """A login where alice has the password "pa"."""
    return PlainMechanism(lambda name, password: "" if (name, password) == ("alice", "pa") else "no")


@pytest.mark.rules("SA-3", "SA-5")
@pytest.mark.parametrize("message", [b"\0alice\0pa", b"alice\0alice\0pa"])
def test_the_right_password_makes_the_principal(message: bytes) -> None:
    """Without an authorization id or with one's own, the answer is empty and the user is the principal."""
    plain = login()

    assert plain.answer_to(message) == b""
    assert plain.login is not None
    assert str(plain.login.principal) == "User:alice"


@pytest.mark.rules("SA-3", "SA-4")
@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\0alice",
        b"\0alice\0",
        b"\0\0pa",
        b"\0alice\0px",
        b"\0bob\0pa",
        b"bob\0alice\0pa",
        b"\0a\0b\0c",
        b"\0\xff\0x",
    ],
)
def test_anything_else_is_refused(message: bytes) -> None:
    """Missing parts, wrong ones, and somebody else's authorization id; no password is in the text."""
    plain = login()

    with pytest.raises(AuthenticationFailed) as failed:
        plain.answer_to(message)

    assert plain.login is None
    assert "px" not in str(failed.value)


@pytest.mark.rules("SA-3")
def test_an_unknown_user_is_refused_in_the_words_for_a_wrong_password() -> None:
    """The answer does not tell which users there are."""
    texts = []
    for message in (b"\0alice\0px", b"\0bob\0pa"):
        with pytest.raises(AuthenticationFailed) as failed:
            login().answer_to(message)
        texts.append(str(failed.value))

    assert texts[0] == texts[1]

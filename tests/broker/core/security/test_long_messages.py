"""Messages of strangers, as long as `sasl.server.max.receive.size` lets them be, cost little."""

import tracemalloc
from contextlib import suppress

import pytest

from fakebroker.broker.core.security.bearer_tokens import unsecured_login
from fakebroker.broker.core.security.mechanisms import AuthenticationFailed, Mechanism
from fakebroker.broker.core.security.oauthbearer import OAuthBearerMechanism
from fakebroker.broker.core.security.principals import Principal
from fakebroker.broker.core.security.scram import ScramMechanism, ScramUser, credential_of

LENGTH = 520_000
MOST_BYTES = 8 * LENGTH  # some copies of the message, and no place in it to come back to for each of its characters


def mechanism_of(name: str) -> Mechanism:
    if name == "OAUTHBEARER":
        return OAuthBearerMechanism(lambda token: unsecured_login(token, 0))
    return ScramMechanism(name, lambda _user, _is_token: None, "nonce")


@pytest.mark.parametrize(
    ("mechanism", "begin", "piece", "end"),
    [
        ("OAUTHBEARER", b"n,a=", b"a", b""),
        ("OAUTHBEARER", b"n,a=", b"a", b",\x01auth=Bearer a.b.c\x01\x01"),
        ("OAUTHBEARER", b"n,a=", b"=2C", b""),
        ("OAUTHBEARER", b"n,,\x01", b"a=b\x01", b"!"),
        ("OAUTHBEARER", b"n,,\x01", b"a=b\x01", b"\x01"),
        ("OAUTHBEARER", b"n,,\x01auth=Bearer", b" ", b"!\x01\x01"),
        ("OAUTHBEARER", b"n,,\x01auth=", b"a", b"\x01\x01"),
        ("SCRAM-SHA-256", b"n,,n=", b"a", b""),
        ("SCRAM-SHA-256", b"n,,n=", b"=2C", b"!"),
        ("SCRAM-SHA-256", b"n,,m=", b"a", b""),
        ("SCRAM-SHA-256", b"n,,n=a,r=b", b",a=b", b"\0"),
        ("SCRAM-SHA-256", b"n,,n=a,r=b", b",a=b", b""),
        ("SCRAM-SHA-256", b"n,,n=a,r=", b"b", b""),
    ],
)
def test_a_long_message_takes_the_memory_of_some_copies(mechanism: str, begin: bytes, piece: bytes, end: bytes) -> None:
    """Whatever it repeats, and whether it has the right form in the end or not."""
    message = begin + piece * (LENGTH // len(piece)) + end
    login = mechanism_of(mechanism)
    tracemalloc.start()
    try:
        with suppress(AuthenticationFailed):
            login.answer_to(message)
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert login.login is None
    assert most_bytes < MOST_BYTES


@pytest.mark.parametrize("begin", ["n,,n=alice,r=", "n,,n=alice,r=b,a=", "n,m=a,n=alice,r=", "n,a=alice,n=alice,r="])
def test_a_login_that_has_begun_keeps_little_of_a_long_message(begin: str) -> None:
    """The client need not send the final one; until it does, there is a login for each of its connections."""
    known = ScramUser(Principal("alice"), credential_of("SCRAM-SHA-256", "secret", b"salt"))
    login = ScramMechanism("SCRAM-SHA-256", lambda _name, _is_token: known, "nonce")
    tracemalloc.start()
    try:
        with suppress(AuthenticationFailed):
            login.answer_to(f"{begin}{'b' * LENGTH}".encode())
        kept_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept_bytes < LENGTH / 10


def test_the_last_extension_of_a_name_counts() -> None:
    """Of SCRAM `tokenauth`, of OAUTHBEARER `auth`; a name that only ends so is another."""
    asked = []
    for extensions in (
        ",tokenauth=true,tokenauth=no",
        ",xtokenauth=true",
        ",a=tokenauth=true",
        ",a=b,tokenauth=TRUE,c=d",
    ):
        login = ScramMechanism("SCRAM-SHA-256", lambda _user, is_token: asked.append(is_token), "nonce")
        with suppress(AuthenticationFailed):
            login.answer_to(b"n,,n=a,r=b" + extensions.encode())
    assert asked == [False, False, False, True]
    shown: list[str] = []
    for pairs in ("auth=Bearer a\x01auth=Bearer b\x01", "auth=Bearer a\x01xauth=Bearer b\x01"):
        bearer = OAuthBearerMechanism(shown.append)  # type: ignore[arg-type]
        with suppress(AttributeError):
            bearer.answer_to(f"n,,\x01{pairs}\x01".encode())
    assert shown == ["b", "a"]

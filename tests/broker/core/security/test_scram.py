"""SCRAM as RFC 5802 and RFC 7677 have it: who knows the password is let in, nobody else."""

import hashlib
import hmac
from base64 import b64decode, b64encode
from contextlib import nullcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.core.security.mechanisms import SCRAM_HASHES, AuthenticationFailed
from fakebroker.broker.core.security.principals import Principal
from fakebroker.broker.core.security.scram import ScramMechanism, ScramUser, credential_of, credential_of_salted
from fakebroker.client.scram import ScramClient

SALT = b"0123456789abcdef"
every_mechanism = pytest.mark.parametrize("mechanism", SCRAM_HASHES)


def login_of(mechanism: str, password: str = "secret", user: str = "alice") -> ScramMechanism:
    """The broker's side of a login where one user is known."""
    known = ScramUser(Principal(user), credential_of(mechanism, password, SALT))
    return ScramMechanism(mechanism, lambda name, _is_token: known if name == user else None, "broker")


@pytest.mark.rules("SA-10")
@every_mechanism
def test_the_right_password_logs_in_and_both_sides_prove_it(mechanism: str) -> None:
    """After two messages the user is the principal, and the broker's signature is right."""
    login, client = login_of(mechanism, user="a,b=c"), ScramClient(mechanism, "a,b=c", "secret")

    client.check(login.answer_to(client.final(login.answer_to(client.first))))

    assert login.login is not None
    assert str(login.login.principal) == "User:a,b=c"


@pytest.mark.rules("SA-10")
@every_mechanism
def test_extensions_of_the_proof_are_not_signed(mechanism: str) -> None:
    """Nor is what the first message reserves: Kafka (4.3.1) signs name, nonce and the first message's extensions."""
    login, client = login_of(mechanism), ScramClient(mechanism, "alice", "secret", ",a=b")
    final = client.final(login.answer_to(client.first.replace(b"n,,", b"n,,m=x,")))

    client.check(login.answer_to(final.replace(b",p=", b",c=d,p=")))

    assert login.login is not None


@pytest.mark.rules("SA-10")
@every_mechanism
def test_a_wrong_password_is_refused_at_the_end_and_an_unknown_user_at_once(mechanism: str) -> None:
    """Nobody is logged in by either."""
    login, client = login_of(mechanism), ScramClient(mechanism, "alice", "guess")
    proof = client.final(login.answer_to(client.first))
    with pytest.raises(AuthenticationFailed, match="invalid credentials with SASL mechanism SCRAM"):
        login.answer_to(proof)
    stranger = login_of(mechanism)
    with pytest.raises(AuthenticationFailed, match="invalid credentials with SASL mechanism SCRAM"):
        stranger.answer_to(ScramClient(mechanism, "bob", "secret").first)

    assert login.login is stranger.login is None


@pytest.mark.rules("SA-10")
@pytest.mark.parametrize(
    "message", [b"", b"garbage", b"n,,n=alice", b"y,,n=alice,r=x", b"n,a=bob,n=alice,r=x", b"\xff"]
)
def test_a_first_message_that_cannot_be_is_refused(message: bytes) -> None:
    """Broken messages and somebody else's authorization id end the login."""
    with pytest.raises(AuthenticationFailed):
        login_of("SCRAM-SHA-256").answer_to(message)


@given(message=st.binary(max_size=80))
def test_a_second_message_at_random_logs_nobody_in(message: bytes) -> None:
    """Whatever comes in place of a proof is refused, and nothing else is raised."""
    login = login_of("SCRAM-SHA-256")
    login.answer_to(b"n,,n=alice,r=x")

    with pytest.raises(AuthenticationFailed):
        login.answer_to(message)


@pytest.mark.rules("SA-10")
def test_a_proof_for_another_nonce_is_refused() -> None:
    """A login that was overheard cannot be repeated."""
    first, client = login_of("SCRAM-SHA-256"), ScramClient("SCRAM-SHA-256", "alice", "secret")
    overheard = client.final(first.answer_to(client.first))
    known = ScramUser(Principal("alice"), credential_of("SCRAM-SHA-256", "secret", SALT))
    again = ScramMechanism("SCRAM-SHA-256", lambda _name, _is_token: known, "another")
    again.answer_to(client.first)

    with pytest.raises(AuthenticationFailed):
        again.answer_to(overheard)


@pytest.mark.rules("SA-10")
@pytest.mark.parametrize(
    ("nonce", "is_right"), [("xbroker", True), ("xbroker1", False), ("x", False), ("other", False)]
)
def test_the_nonce_must_be_that_of_the_login_also_with_a_right_proof(nonce: str, is_right: bool) -> None:
    """The client proves that it knows the password for whatever it says; the nonce is compared by itself."""
    login = login_of("SCRAM-SHA-256")
    server_first = login.answer_to(b"n,,n=alice,r=x").decode()
    client_key = hmac.digest(hashlib.pbkdf2_hmac("sha256", b"secret", SALT, 4096), b"Client Key", "sha256")
    bare = f"c=biws,r={nonce}"
    signature = hmac.digest(
        hashlib.sha256(client_key).digest(), f"n=alice,r=x,{server_first},{bare}".encode(), "sha256"
    )
    proof = b64encode(bytes(a ^ b for a, b in zip(client_key, signature, strict=True))).decode()

    with nullcontext() if is_right else pytest.raises(AuthenticationFailed):
        login.answer_to(f"{bare},p={proof}".encode())
    assert (login.login is not None) == is_right


@pytest.mark.rules("SC-1")
def test_the_keys_are_those_of_the_rfc() -> None:
    """The dialogue in RFC 7677 (user "user", password "pencil") has this signature of the server."""
    salt = b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    credential = credential_of("SCRAM-SHA-256", "pencil", salt)
    nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    signed = f"n=user,r=rOprNGfwEbeRWgbNEkqO,r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,c=biws,r={nonce}"
    signature = hmac.digest(credential.server_key, signed.encode(), "sha256")

    assert signature == b64decode("6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")


@every_mechanism
def test_a_password_that_a_client_salted_gives_the_same_credential(mechanism: str) -> None:
    """What AlterUserScramCredentials sends and what a test declares meet in one credential."""
    salted = hashlib.pbkdf2_hmac(SCRAM_HASHES[mechanism], b"secret", SALT, 4096)

    assert credential_of_salted(mechanism, salted, SALT, 4096) == credential_of(mechanism, "secret", SALT)

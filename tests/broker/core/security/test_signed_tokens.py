"""Signed tokens: what a running Kafka 4.3.1 accepted and refused, token by token, with the same settings.

Its keys came from a file and by HTTP, with the same outcomes.
"""

import json
from base64 import urlsafe_b64encode
from contextlib import suppress
from functools import cache, partial
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.core.security.bearer_tokens import InvalidToken
from fakebroker.broker.core.security.signed_tokens import KeySet, TokenRules, UnknownKey, signed_login
from fakebroker.testing.tokens import TokenAuthority
from tests.support.work_counter import calls_of

NOW_S = 1_800_000_000
RULES = TokenRules(("kafka",), "https://issuer", "sub", "scope", 30_000)
CLAIMS = {"sub": "alice", "iss": "https://issuer", "aud": "kafka", "iat": NOW_S, "exp": NOW_S + 3600, "scope": "s"}


@cache
def authority() -> TokenAuthority:
    """One for all tests: to make an RSA key takes a while."""
    return TokenAuthority(algorithm="RS256")


@cache
def keys() -> KeySet:
    return KeySet.parse(json.dumps(authority().jwks()).encode())


def signed(algorithm: str = "RS256", headers: dict[str, Any] | None = None, **claims: Any) -> str:
    """A token with the claims of a good one but for these; None leaves one out. `headers` go before the usual."""
    private = authority()._keys[authority().key_id]
    given = {name: value for name, value in {**CLAIMS, **claims}.items() if value is not None}
    return jwt.encode(given, private, algorithm, {"kid": authority().key_id, **(headers or {})})


def login(token: str, rules: TokenRules = RULES) -> Any:
    return signed_login(token, keys(), rules, NOW_S * 1000)


@pytest.mark.parametrize(
    "claims",
    [
        {},
        {"scope": None},
        {"scope": ["a", "b"]},
        {"scope": []},
        {"scope": 5},
        {"exp": NOW_S - 20, "iat": NOW_S - 100},
        {"iat": NOW_S + 1000},
        {"nbf": NOW_S + 20},
        {"aud": ["x", "kafka"]},
        {"exp": NOW_S + 3600.5},
        {"sub": " alice "},
        {"algorithm": "RS512"},
        {"algorithm": "PS256"},
        {"headers": {"typ": "at+jwt"}},
    ],
)
def test_what_kafka_accepts_is_accepted(claims: dict[str, Any]) -> None:
    """The subject is the user, without the blanks around it; times may differ by the skew of 30 s."""
    assert str(login(signed(**claims)).principal) == "User:alice"


@pytest.mark.parametrize(
    ("subject", "name"),
    [
        ("\x01admin\x1f", "admin"),
        ("\u00a0admin", "\u00a0admin"),
        ("admin\u2003", "admin\u2003"),
        ("\u3000admin\x85", "\u3000admin\x85"),
        ("\u2003", "\u2003"),
    ],
)
def test_the_blanks_around_a_subject_are_those_of_java(subject: str, name: str) -> None:
    """Others of Unicode are part of the name: who is called so is not the user without them."""
    assert login(signed(sub=subject)).principal.name == name


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ({"scope": ""}, "empty or repeated scope"),
        ({"scope": ["a", "a"]}, "empty or repeated scope"),
        ({"scope": ["a", " "]}, "empty or repeated scope"),
        ({"sub": None}, "has no principal"),
        ({"sub": " "}, "has no principal"),
        ({"sub": "x" * 1_001}, "its principal has 1,001 characters; at most 1,000 are taken"),
        ({"exp": None}, "has no issue time"),
        ({"iat": None}, "has no issue time"),
        ({"exp": NOW_S - 60, "iat": NOW_S - 100}, "expired 60 s ago by the broker's clock"),
        ({"exp": NOW_S - 30, "iat": NOW_S - 100}, "expired 30 s ago"),
        ({"nbf": NOW_S + 1000}, "becomes valid"),
        ({"iat": NOW_S + 4000}, "before it is issued"),
        ({"aud": "x"}, "audience is 'x'; expected kafka"),
        ({"aud": None}, "audience"),
        ({"iss": "x"}, "its issuer is 'x'; expected 'https://issuer'"),
        ({"iss": None}, "issuer"),
    ],
)
def test_what_kafka_refuses_is_refused_with_a_reason(claims: dict[str, Any], why: str) -> None:
    """The reason names the claim and what was expected."""
    with pytest.raises(InvalidToken, match=why):
        login(signed(**claims))


def test_the_signature_must_be_by_a_key_of_the_set() -> None:
    """Not by another under its name, not by the public key as a secret, not by nobody; and not by a key unknown."""
    with pytest.raises(InvalidToken, match="signature"):
        login(_of_authority(authority().forged("alice")))
    secret = jwt.encode(CLAIMS, "x" * 64, "HS256", {"kid": authority().key_id})
    for bad in (secret, authority().unsecured("alice"), "a.b.c", "a.b", ""):
        with pytest.raises(InvalidToken):
            login(bad)
    with pytest.raises(UnknownKey, match="'other', but the key set has key-1"):
        login(signed(headers={"kid": "other"}))


def _of_authority(token: str) -> str:
    assert token.count(".") == 2
    return token


def test_a_token_without_a_key_id_is_tried_with_every_key() -> None:
    """As Kafka does."""
    token = jwt.encode(CLAIMS, authority()._keys[authority().key_id], "RS256")

    assert str(login(token).principal) == "User:alice"


MANY_KEYS = 50
MAX_CALLS_PER_KEY = 100  # a verification is some 10; the parts below have 30,000 characters


def test_a_token_is_decoded_once_however_many_keys_there_are() -> None:
    """A key costs a verification, whichever part of the token is long: no part is decoded for each."""
    [key] = authority().jwks()["keys"]
    one, many = (KeySet.parse(json.dumps({"keys": [key] * count}).encode()) for count in (1, MANY_KEYS))
    for name, parts in {
        "none": ("x", "x", "x"),
        "header": ("x" * 30_000, "x", "x"),
        "payload": ("x", "x" * 30_000, "x"),
        "signature": ("x", "x", "x" * 30_000),
    }.items():
        header, payload, signature = parts
        signed_part = _of({"alg": "RS256", "x": header}) + "." + _of({"x": payload})
        token = signed_part + "." + urlsafe_b64encode(signature.encode()).decode().rstrip("=")
        _check_refused(token, one)  # what the first one imports does not count
        calls = calls_of(partial(_check_refused, token, many)) - calls_of(partial(_check_refused, token, one))
        assert calls / (MANY_KEYS - 1) < MAX_CALLS_PER_KEY, name


def _of(value: Any) -> str:
    return urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def _check_refused(token: str, keys: KeySet) -> None:
    with pytest.raises(InvalidToken, match="its signature is wrong"):
        keys.claims_of(token)


def test_without_key_ids_a_token_finds_its_key_among_those_of_other_kinds() -> None:
    """RSA, an elliptic curve and Edwards' in one set: each token is by its own key, and by no other kind of key."""
    private = {
        "RS256": authority()._keys[authority().key_id],
        "ES256": generate_private_key(SECP256R1()),
        "EdDSA": Ed25519PrivateKey.generate(),
    }
    published = {name: _published(name, key.public_key()) for name, key in private.items()}
    every = KeySet.parse(json.dumps({"keys": list(published.values())}).encode())
    for name, key in private.items():
        token = jwt.encode(CLAIMS, key, name)
        assert every.claims_of(token)["sub"] == "alice", name
        others = [each for other, each in published.items() if other != name]
        _check_refused(token, KeySet.parse(json.dumps({"keys": others}).encode()))


def _published(algorithm: str, key: Any) -> dict[str, Any]:
    published: dict[str, Any] = jwt.get_algorithm_by_name(algorithm).to_jwk(key, as_dict=True)
    return published


def test_without_expectations_any_audience_and_issuer_is_accepted() -> None:
    """Names of claims are those of the settings."""
    rules = TokenRules((), "", "preferred_username", "scp", 0)

    assert str(login(signed(aud=None, iss="x", preferred_username="bob"), rules).principal) == "User:bob"


def test_what_is_no_key_set_is_reported() -> None:
    """Keys that cannot be used are left out, unless there are no others."""
    for text, why in ((b"x", "Expecting value"), (b"[]", "list of"), (b'{"keys": []}', "no usable key")):
        with pytest.raises(ValueError, match=why):
            KeySet.parse(text)
    with pytest.raises(ValueError, match="nested too deeply"):
        KeySet.parse(b'{"keys":' + b"[" * 100_000)
    with pytest.raises(ValueError, match="the key set has 201 keys; at most 200 are served"):
        KeySet.parse(json.dumps({"keys": [{}] * 201}).encode())
    odd = {"keys": [{"kty": "new"}, {"kty": "oct"}, None, 5, *authority().jwks()["keys"]]}
    assert KeySet.parse(json.dumps(odd).encode()).claims_of(signed())["sub"] == "alice"


def test_a_key_that_would_cost_minutes_is_left_out() -> None:
    """PyJWT factors a private RSA key that names no factors, in numbers of any size."""
    [good] = authority().jwks()["keys"]
    large = urlsafe_b64encode(b"\xff" * 50_000).decode().rstrip("=")
    costly = [good | {"kid": "x", "n": large}, {"kty": "RSA", "kid": "y", "n": good["n"], "e": "AQAB", "d": large}]
    found = KeySet.parse(json.dumps({"keys": [*costly, good]}).encode())
    assert found.claims_of(signed())["sub"] == "alice"


@given(position=st.integers(0, 600), letter=st.sampled_from("abcXYZ019-_."), token=st.text("abcAB09-_.", max_size=40))
def test_no_token_that_was_changed_logs_in(position: int, letter: str, token: str) -> None:
    """One letter of a good token is another, or the token is made up: nothing but a refusal comes of it."""
    good = _good()
    position %= len(good) - 2  # the last letter of a signature has bits that mean nothing
    for each in (good[:position] + letter + good[position + 1 :], token):
        if each != good:
            with suppress(InvalidToken), pytest.raises(InvalidToken):
                login(each)


@cache
def _good() -> str:
    return signed()

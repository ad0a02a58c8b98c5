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
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, SECP384R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key as generate_rsa_key
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
    headers = {"alg": algorithm, "kid": authority().key_id, **(headers or {})}
    return jwt.PyJWS().encode(json.dumps(given).encode(), private, algorithm, headers)  # PyJWT looks at the claims


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
        {"iat": -0.5},
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
        ({"scope": ["a", 5]}, "empty or repeated scope"),
        ({"scope": [[]]}, "empty or repeated scope"),
        ({"sub": None}, "has no principal"),
        ({"sub": 5}, "'sub' is not a text"),
        ({"iss": 5}, "'iss' is not a text"),
        ({"jti": 5}, "'jti' is not a text"),
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
        ({"aud": ["kafka", 5]}, "audience"),
        ({"aud": ["kafka", None]}, "audience"),
        ({"iat": -1}, "issued .iat. before 1970"),
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


def test_one_key_is_tried_the_first_that_a_token_may_be_of() -> None:
    """As jose4j does: of the token's key id, or any if it names none; for signatures, and of the algorithm's kind.

    Where several are left, those for another algorithm or of another curve do not count.
    """
    one, other, third = (generate_private_key(SECP256R1()) for _ in range(3))
    wide, rsa = generate_private_key(SECP384R1()), authority()._keys[authority().key_id]
    a, b, c = (_published("ES256", key.public_key()) for key in (one, other, third))
    w, r = _published("ES384", wide.public_key()), _published("RS256", rsa.public_key())
    for name, entries, key_id, signs in [
        ("first of the set", [a, b], None, one),
        ("first of the id", [a | {"kid": "x"}, b | {"kid": "y"}, c | {"kid": "y"}], "y", other),
        ("no key id in the set", [a, b | {"kid": "y"}], "y", other),
        ("of its kind", [r, a, b], None, one),
        ("for signatures", [a | {"use": "enc"}, b | {"use": "sig"}, c], None, other),
        ("to verify", [a | {"key_ops": ["encrypt"]}, b | {"key_ops": ["x", "verify"]}, c], None, other),
        ("for its algorithm", [a | {"alg": "ES384"}, b | {"alg": "ES256"}, c], None, other),
        ("only one, for another algorithm", [a | {"alg": "ES384"}], None, one),
        ("of its curve", [w, a, b], None, one),
        ("only one, of another curve", [w], None, None),
        ("only one, not for signatures", [a | {"use": "enc"}], None, None),
        ("only one, not to verify", [a | {"kid": "x", "key_ops": ["sign"]}], "x", None),
    ]:
        keys = KeySet.parse(json.dumps({"keys": entries}).encode())
        for key in (one, other, third):
            token = jwt.encode(CLAIMS, key, "ES256", {} if key_id is None else {"kid": key_id})
            if key is signs:
                assert keys.claims_of(token)["sub"] == "alice", name
            else:
                with pytest.raises(InvalidToken):
                    keys.claims_of(token)


def test_a_key_of_the_wrong_use_is_named() -> None:
    """The set may have a better one when it is fetched again."""
    key = authority().jwks()["keys"][0] | {"use": "enc"}
    with pytest.raises(UnknownKey, match="the key 'key-1', but that of the key set is not for its signatures"):
        KeySet.parse(json.dumps({"keys": [key]}).encode()).claims_of(signed())


@pytest.mark.parametrize("critical", [["foo"], ["exp"], [], "exp"])
def test_a_header_that_must_be_understood_is_not(critical: object) -> None:
    """`crit` names what a reader has to know (RFC 7515); PyJWT looks at it from 2.12 on."""
    _check_refused(signed(headers={"crit": critical, "foo": 1, "exp": 1}), keys())


@pytest.mark.filterwarnings("ignore")  # PyJWT's, for a short key
def test_a_short_rsa_key_signs_nothing() -> None:
    """jose4j takes those of 2,048 bits and more. It keeps its place: no key behind it is tried."""
    for bits, is_taken in ((1024, False), (2040, False), (2048, True)):
        private = generate_rsa_key(65537, bits)
        entries = [_published("RS256", private.public_key()), *authority().jwks()["keys"]]
        keys = KeySet.parse(json.dumps({"keys": entries}).encode())
        token = jwt.encode(CLAIMS, private, "RS256")
        if is_taken:
            assert keys.claims_of(token)["sub"] == "alice"
        else:
            _check_refused(token, keys)


def test_what_two_readers_may_read_in_two_ways_is_refused() -> None:
    """A name that is there twice, in the header, the claims or an object of them; other encodings than UTF-8."""
    [key] = authority()._keys.values()
    header, claims = '{"alg":"RS256","kid":"key-1"}', json.dumps(CLAIMS)
    again = claims.replace('"sub"', '"sub": "admin", "sub"', 1)
    deep = claims[:-1] + ', "x": [{"y": {"a": 1, "a": 1}}]}'
    for name, head, body, is_taken in [
        ("good", header, claims.encode(), True),
        ("algorithm twice", header.replace('"alg"', '"alg":"none","alg"'), claims.encode(), False),
        ("subject twice", header, again.encode(), False),
        ("twice inside", header, deep.encode(), False),
        ("a mark before it", header, ("\ufeff" + claims).encode(), False),
        ("UTF-16", header, claims.encode("utf-16-le"), False),
        ("another token inside", header[:-1] + ',"cty":"JWT"}', claims.encode(), False),
        ("another token inside", header[:-1] + ',"cty":"application/jwt"}', claims.encode(), False),
        ("another type of content", header[:-1] + ',"cty":"x"}', claims.encode(), True),
        ("a type that is no text", header[:-1] + ',"cty":5}', claims.encode(), False),
    ]:
        parts = (urlsafe_b64encode(part).decode().rstrip("=") for part in (head.encode(), body))
        text = ".".join(parts)
        method = jwt.get_algorithm_by_name("RS256")
        token = f"{text}.{urlsafe_b64encode(method.sign(text.encode(), key)).decode().rstrip('=')}"
        if is_taken:
            assert login(token).principal.name == "alice", name
        else:
            with pytest.raises(InvalidToken):
                login(token)


MANY_KEYS = 50
MAX_CALLS_PER_KEY = 20


def test_a_token_costs_one_verification_however_many_keys_there_are() -> None:
    """No part of it is decoded for each key, whichever is long."""
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
        with pytest.raises(InvalidToken, match=f"it names no key, and the key set has none for {name}"):
            KeySet.parse(json.dumps({"keys": others}).encode()).claims_of(token)


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
    odd = {
        "keys": [{"kty": "new"}, {"kty": "oct"}, {"kty": "oct", "alg": "none"}, None, 5, *authority().jwks()["keys"]]
    }
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

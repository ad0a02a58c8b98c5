"""Signed tokens of OAUTHBEARER (KIP-768): who has signed one, and whether its claims are as the settings want them.

Signatures are PyJWT's work (the extra `oauth`), keys come as a JSON Web Key Set (RFC 7517). What is accepted is what a
running Kafka 4.3.1 accepted; its validator is jose4j.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fakebroker.broker.core.security.bearer_tokens import (
    InvalidToken,
    check_not_expired,
    json_object,
    principal_of,
    time_ms,
)
from fakebroker.broker.core.security.mechanisms import Login
from fakebroker.protocol.java_text import trimmed
from fakebroker.protocol.json_text import parse_json

# Algorithms with two keys: with a secret that both sides know (HS256), a public key would do as the secret.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")

MAX_KEYS = 200  # of a set
MIN_RSA_BITS = 2048
_LONGEST_NUMBER = 4096  # characters in base64; RSA with 16,384 bits has 2,731
_KEY_TYPES = {"RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "OKP"}  # by the first letters of an algorithm
_CURVES = {"ES256": ("P-256",), "ES384": ("P-384",), "ES512": ("P-521",), "EdDSA": ("Ed25519", "Ed448")}
_NESTED = ("jwt", "application/jwt")
_TEXTS = ("iss", "sub", "jti")  # claims that are texts if they are there, whether anything is expected of them or not
_PRIVATE = frozenset(("d", "p", "q", "dp", "dq", "qi", "oth", "k"))


class UnknownKey(InvalidToken):
    """A token is signed with a key that is not in the set; a newer set may have it."""

    def __init__(self, key_id: str, known: Sequence[str]) -> None:
        has = f"the key set has {', '.join(known) or 'none'}"
        if key_id in known:
            has = "that of the key set is not for its signatures"
        super().__init__(f"it is signed with the key {key_id!r}, but {has}")
        self.key_id = key_id


class TokenRules(NamedTuple):
    """What claims a token must have: the values of `sasl.oauthbearer.*`. An empty audience or issuer: any."""

    audience: Sequence[str]
    issuer: str
    subject_claim: str
    scope_claim: str
    skew_ms: int


class Key(NamedTuple):
    """A public key, and what its set says of it: what is not said may be any."""

    public: Any
    key_id: str | None
    type: str
    use: str | None
    operations: list[str] | None
    algorithm: str | None
    curve: str | None

    @classmethod
    def parse(cls, entry: Mapping[str, Any]) -> "Key":
        """The key in an entry of a set. Raises PyJWTError, ValueError and TypeError for one that cannot be used."""
        from jwt import PyJWK

        public = PyJWK(_public_part(entry)).key
        texts = [entry.get(name) for name in ("kid", "kty", "use", "alg", "crv")]
        operations = entry.get("key_ops")
        if not all(isinstance(text, str | None) for text in texts) or not isinstance(operations, list | None):
            raise TypeError("what a key says of itself are texts, and a list")
        key_id, key_type, use, algorithm, curve = texts
        return cls(public, key_id, key_type or "", use, operations, algorithm, curve)

    def is_for(self, algorithm: str) -> bool:
        """Whether it verifies signatures of that kind."""
        return (
            self.type == _KEY_TYPES[algorithm[:2]]
            and self.use in (None, "sig")
            and (self.operations is None or "verify" in self.operations)
        )


class KeySet:
    """The public keys of those who sign tokens, in their order."""

    def __init__(self, keys: Sequence[Key]) -> None:
        self._keys = keys

    @classmethod
    def parse(cls, text: bytes) -> "KeySet":
        """The keys of a JSON Web Key Set; those of a kind that PyJWT does not know are left out.

        Raises ValueError for what is no key set, or one without a key that can be used.
        """
        from jwt import PyJWTError

        document = parse_json(text)
        entries = document.get("keys") if isinstance(document, dict) else None
        if not isinstance(entries, list):
            raise ValueError('a key set is a JSON object with a list of "keys"')
        if len(entries) > MAX_KEYS:
            raise ValueError(f"the key set has {len(entries):,} keys; at most {MAX_KEYS} are served")
        keys = []
        for entry in entries:
            try:
                keys.append(Key.parse(entry))
            except (PyJWTError, AttributeError, ValueError, TypeError, LookupError, NotImplementedError):
                continue
        if not keys:
            raise ValueError("the key set has no usable key")
        return cls(keys)

    def claims_of(self, token: str) -> Mapping[str, Any]:
        """The claims of a token that its key has signed. Raises InvalidToken."""
        parts = token.split(".")
        if len(parts) != 3:
            raise InvalidToken("it does not have the three parts of a signed token")
        header = json_object(parts[0], names_once=True)
        algorithm = header.get("alg")
        if algorithm not in ALGORITHMS:
            raise InvalidToken(f"its algorithm is {algorithm!r}; accepted are {', '.join(ALGORITHMS)}")
        content_type = header.get("cty")
        if not isinstance(content_type, str | None) or (content_type or "").lower() in _NESTED:
            raise InvalidToken("what it has signed is another token")
        if not _is_signed(token, algorithm, self._key_for(header.get("kid"), algorithm)):
            raise InvalidToken("its signature is wrong")
        return json_object(parts[1], names_once=True)

    def _key_for(self, key_id: Any, algorithm: str) -> Key:
        """The key that has signed a token: the first of its id, of any if it names none, that is for its algorithm.

        No other is tried, as jose4j tries none. Raises InvalidToken.
        """
        found = [key for key in self._keys if key_id in (None, key.key_id) and key.is_for(algorithm)]
        if len(found) > 1:
            found = [key for key in found if key.algorithm in (None, algorithm)]
        if len(found) > 1 and algorithm in _CURVES:
            found = [key for key in found if key.curve in _CURVES[algorithm]]
        if not found and key_id is None:
            raise InvalidToken(f"it names no key, and the key set has none for {algorithm}")
        if not found:
            raise UnknownKey(str(key_id)[:100], [str(key.key_id) for key in self._keys])
        return found[0]


def _is_signed(token: str, algorithm: str, key: Key) -> bool:
    """Whether a key has signed a token."""
    from jwt import PyJWS, PyJWTError

    if key.type == "RSA" and key.public.key_size < MIN_RSA_BITS:
        return False
    if algorithm in _CURVES and key.curve not in _CURVES[algorithm]:
        return False
    signing = PyJWS()
    try:
        signature = signing.decode_complete(token, options={"verify_signature": False})["signature"]
        method, signed = signing.get_algorithm_by_name(algorithm), token.rpartition(".")[0].encode()
        is_signed: bool = method.verify(signed, method.prepare_key(key.public), signature)
    except (PyJWTError, TypeError, ValueError):  # also for a key of another kind than the algorithm's
        return False
    return is_signed


def _public_part(entry: Mapping[str, Any]) -> dict[str, Any]:
    """What a key has of a public one. Of a private RSA key PyJWT looks for the prime factors, at any cost.

    Raises ValueError for a key that is too large.
    """
    public = {name: value for name, value in entry.items() if name not in _PRIVATE}
    if any(isinstance(public.get(name), str) and len(public[name]) > _LONGEST_NUMBER for name in ("n", "e", "x", "y")):
        raise ValueError("the key is too large")
    return public


def signed_login(token: str, keys: KeySet, rules: TokenRules, now_ms: int) -> Login:
    """Whom a signed token is for, and when it ends. Raises InvalidToken, UnknownKey.

    `exp`, `iat` and the subject must be there; `iat` may be in the future, as for Kafka.
    """
    claims = keys.claims_of(token)
    for name in _TEXTS:
        if not isinstance(claims.get(name), str | None):
            raise InvalidToken(f"its claim {name!r} is not a text")
    ends_ms = _check_times(claims, rules.skew_ms, now_ms)
    _check_origin(claims, rules)
    _check_scope(claims, rules.scope_claim)
    subject = claims.get(rules.subject_claim)
    if not isinstance(subject, str) or not trimmed(subject):
        raise InvalidToken(f"its claim {rules.subject_claim!r} has no principal")
    return Login(principal_of(trimmed(subject)), ends_ms)


def _check_times(claims: Mapping[str, Any], skew_ms: int, now_ms: int) -> int:
    """When the token ends, in milliseconds since the epoch."""
    times = {name: time_ms(dict(claims), name) for name in ("exp", "iat", "nbf")}
    ends_ms, issued_ms, begins_ms = times["exp"], times["iat"], times["nbf"]
    if ends_ms is None or issued_ms is None:
        raise InvalidToken("it has no issue time (iat) or no expiry time (exp)")
    check_not_expired(ends_ms, now_ms, skew_ms)
    if issued_ms <= -1000:  # jose4j cuts fractions off
        raise InvalidToken("it was issued (iat) before 1970")
    if ends_ms < issued_ms or (begins_ms is not None and ends_ms < begins_ms):
        raise InvalidToken("it expires before it is issued or becomes valid")
    if begins_ms is not None and begins_ms > now_ms + skew_ms:
        raise InvalidToken(f"it becomes valid (nbf) in {(begins_ms - now_ms) / 1000:g} s by the broker's clock")
    return ends_ms


def _check_origin(claims: Mapping[str, Any], rules: TokenRules) -> None:
    """Who made the token, and for whom."""
    audience = claims.get("aud")
    audiences = audience if isinstance(audience, list) else [] if audience is None else [audience]
    are_texts = all(isinstance(each, str) for each in audiences)
    if rules.audience and not (are_texts and set(rules.audience) & set(audiences)):
        raise InvalidToken(f"its audience is {audience!r}; expected {' or '.join(rules.audience)}")
    if rules.issuer and claims.get("iss") != rules.issuer:
        raise InvalidToken(f"its issuer is {claims.get('iss')!r}; expected {rules.issuer!r}")


def _check_scope(claims: Mapping[str, Any], name: str) -> None:
    """A scope need not be there; those of a list are texts and differ, and none is blank."""
    scope = claims.get(name)
    scopes = scope if isinstance(scope, list) else [scope] if isinstance(scope, str) else []
    texts = [trimmed(each) if isinstance(each, str) else "" for each in scopes]
    if not all(texts) or len(set(texts)) < len(texts):
        raise InvalidToken(f"its claim {name!r} has an empty or repeated scope")

"""Who signs tokens in tests: its keys, its tokens, and the settings of a broker that trusts it."""

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

from fakebroker.protocol.arguments.checks import check_text, check_whole
from fakebroker.protocol.errors import FakebrokerError, UnknownThing, nearest
from fakebroker.protocol.extras import missing_extra

if TYPE_CHECKING:
    from fakebroker.testing.tokens.server import AuthorityServer

ISSUER = "https://authority.test"
AUDIENCE = "kafka"
LIFETIME_S = 3600
_HANDLER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"


class HasClock(Protocol):
    """A broker."""

    @property
    def clock(self) -> Any:
        """Its clock, with a time of day in `now_ms`."""


class TokenAuthority:
    """Signs tokens, and publishes the keys that verify them.

    Brokers get the keys from a file (`write_jwks`), or by HTTP from the authority itself, which listens on 127.0.0.1
    from `start` to `stop`, or in a `with` block. Clients can also get tokens there, with the OAuth grant "client
    credentials": the client id is the name of the user.
    """

    def __init__(
        self,
        *,
        issuer: str = ISSUER,
        audience: str = AUDIENCE,
        algorithm: str = "ES256",
        clients: Mapping[str, str] | None = None,
    ) -> None:
        """`algorithm` is "ES256" or "RS256".

        `clients` are the secrets, by client id, that get tokens over HTTP; None allows any client.

        Raises FakebrokerError without the extra `oauth`, UnknownThing for another algorithm.
        """
        self.issuer = issuer
        self.audience = audience
        self.clients = None if clients is None else dict(clients)
        self._algorithm = algorithm
        self._keys: dict[str, Any] = {}  # by key id; the last one signs
        self._count = 0
        self._now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000
        self._server: AuthorityServer | None = None
        self.rotate()

    # Tokens

    def token(
        self,
        subject: str,
        *,
        lifetime_s: int = LIFETIME_S,
        audience: str | None = None,
        issuer: str | None = None,
        scope: str = "kafka",
        claims: Mapping[str, Any] | None = None,
        key_id: str | None = None,
    ) -> str:
        """A signed token for a user. With a negative lifetime it is already expired.

        `audience` and `issuer` may differ from the authority's own. `claims` are added last; a claim of None is left
        out. `key_id` may be an older or a dropped key. Raises UnknownThing for an unknown key.
        """
        check_text("subject", subject)
        check_whole("lifetime_s", lifetime_s)
        key_id = key_id or self.key_id
        self._check_key(key_id)
        return self._signed(self._claims(subject, lifetime_s, audience, issuer, scope, claims), self._keys[key_id])

    def forged(self, subject: str) -> str:
        """A token with the authority's key id, but signed with another key."""
        return self._signed(self._claims(subject, LIFETIME_S, None, None, "kafka", None), _new_key(self._algorithm))

    def unsecured(self, subject: str, lifetime_s: int = LIFETIME_S) -> str:
        """A token without a signature."""
        import jwt

        claims = self._claims(subject, lifetime_s, None, None, "kafka", None)
        return jwt.encode(claims, "", algorithm="none")

    def use_clock_of(self, broker: HasClock) -> None:
        """Issue and expire tokens by a broker's time of day from now on."""
        self._now_ms = lambda: int(broker.clock.now_ms)

    # Keys

    @property
    def key_id(self) -> str:
        """The id of the key that signs."""
        return list(self._keys)[-1]

    def rotate(self) -> str:
        """Sign with a new key from now on; older keys stay published. Returns its id."""
        self._count += 1
        key_id = f"key-{self._count}"
        self._keys[key_id] = _new_key(self._algorithm)
        return key_id

    def jwks(self) -> dict[str, Any]:
        """The public keys, as a JSON Web Key Set."""
        return {"keys": [self._public(key_id) for key_id in self._keys]}

    def drop(self, key_id: str) -> None:
        """Stop publishing and using a key. Raises UnknownThing, or FakebrokerError for the only key."""
        self._check_key(key_id)
        if len(self._keys) == 1:
            raise FakebrokerError("an authority needs at least one key; rotate first")
        del self._keys[key_id]

    def _check_key(self, key_id: str) -> None:
        if key_id not in self._keys:
            raise UnknownThing("key_id", key_id, f"there is no key {key_id!r}; {nearest(key_id, self._keys)}")

    def write_jwks(self, path: str | Path) -> str:
        """Write the public keys to a file. Returns its URL, for `sasl.oauthbearer.jwks.endpoint.url`."""
        path = Path(path).absolute()
        path.write_text(json.dumps(self.jwks()), encoding="utf-8")
        return path.as_uri()

    # Where brokers and clients find it

    def settings(self, jwks_url: str | None = None) -> dict[str, str]:
        """The settings of a broker that trusts only this authority, with its keys at `jwks_url`, or over HTTP.

        Raises FakebrokerError without a URL while it does not listen.
        """
        prefix = "listener.name.sasl_plaintext.oauthbearer"
        return {
            "listeners": "SASL_PLAINTEXT://:9092",
            "sasl.enabled.mechanisms": "OAUTHBEARER",
            f"{prefix}.sasl.server.callback.handler.class": _HANDLER,
            "sasl.oauthbearer.jwks.endpoint.url": jwks_url or self.jwks_url,
            "sasl.oauthbearer.expected.audience": self.audience,
            "sasl.oauthbearer.expected.issuer": self.issuer,
        }

    @property
    def jwks_url(self) -> str:
        """The URL of its keys. Raises FakebrokerError while it is not running."""
        return f"{self._address}/jwks"

    @property
    def token_url(self) -> str:
        """The URL of its tokens. Raises FakebrokerError while it is not running."""
        return f"{self._address}/token"

    def start(self) -> Self:
        """Listen on a free port of 127.0.0.1."""
        from fakebroker.testing.tokens.server import AuthorityServer

        if self._server is None:
            self._server = AuthorityServer(self)
        return self

    def stop(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.stop()
            self._server = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_error: object) -> None:
        self.stop()

    @property
    def _address(self) -> str:
        if self._server is None:
            raise FakebrokerError("the authority is not running; start it first, or use write_jwks")
        return self._server.address

    def _claims(
        self,
        subject: str,
        lifetime_s: int,
        audience: str | None,
        issuer: str | None,
        scope: str,
        more: Mapping[str, Any] | None,
    ) -> dict[str, Any]:
        now_s = self._now_ms() // 1000
        claims = {
            "iss": self.issuer if issuer is None else issuer,
            "aud": self.audience if audience is None else audience,
            "sub": subject,
            "iat": min(now_s, now_s + lifetime_s),
            "exp": now_s + lifetime_s,
            "scope": scope,
            **(more or {}),
        }
        return {name: value for name, value in claims.items() if value is not None}

    def _signed(self, claims: Mapping[str, Any], key: Any) -> str:
        import jwt

        key_id = next((own_id for own_id, own in self._keys.items() if own is key), self.key_id)
        return jwt.encode(dict(claims), key, algorithm=self._algorithm, headers={"kid": key_id})

    def _public(self, key_id: str) -> dict[str, Any]:
        from jwt.algorithms import ECAlgorithm, RSAAlgorithm

        kind: Any = RSAAlgorithm if self._algorithm == "RS256" else ECAlgorithm
        described: dict[str, Any] = kind.to_jwk(self._keys[key_id].public_key(), as_dict=True)
        return {**described, "kid": key_id, "use": "sig", "alg": self._algorithm}


def _new_key(algorithm: str) -> Any:
    """A private key. Raises FakebrokerError without the libraries, UnknownThing for another algorithm."""
    try:
        import jwt  # noqa: F401
        from cryptography.hazmat.primitives.asymmetric import ec, rsa
    except ImportError:
        raise missing_extra("oauth", "an authority needs PyJWT and cryptography") from None
    if algorithm == "ES256":
        return ec.generate_private_key(ec.SECP256R1())
    if algorithm == "RS256":
        return rsa.generate_private_key(public_exponent=65537, key_size=2048)
    raise UnknownThing("algorithm", algorithm, f"algorithm {algorithm!r} is not supported; use ES256 or RS256")

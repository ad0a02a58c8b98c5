"""The mechanisms that a listener offers, and the broker's side of a login by each."""

from functools import partial
from typing import TYPE_CHECKING

from fakebroker.broker.core.security.mechanisms import OAUTHBEARER, PLAIN, SCRAM_HASHES, Login, Mechanism

if TYPE_CHECKING:
    from fakebroker.broker.core.security.scram import ScramUser
    from fakebroker.broker.core.security.signed_tokens import TokenRules
    from fakebroker.broker.engine.engine import Engine
    from fakebroker.broker.settings import Settings
    from fakebroker.broker.settings.declare import Value
    from fakebroker.protocol.listeners import Listener

SERVED = (PLAIN, *SCRAM_HASHES, OAUTHBEARER)
_ENABLED = "sasl.enabled.mechanisms"
_JWKS = "sasl.oauthbearer.jwks.endpoint.url"
_REFRESH = "sasl.oauthbearer.jwks.endpoint.refresh.ms"
_NONCE_BYTES = 16


def enabled_mechanisms(settings: "Settings", listener: "Listener") -> list[str]:
    """The mechanisms of a listener that there are here: those of its settings, all if nothing is set.

    MOCK: Kafka's default is GSSAPI alone, which is not served.
    """
    name = f"listener.name.{listener.name.lower()}.{_ENABLED}"
    if not (settings.is_given_at_start(name) or settings.is_given_at_start(_ENABLED)):
        return list(SERVED)
    value = settings.of_listener(listener.name, _ENABLED)
    assert isinstance(value, tuple)
    return [mechanism for mechanism in value if mechanism in SERVED]


class Logins:
    """The broker's side of logins on one listener of one node. It belongs to a connection."""

    def __init__(self, engine: "Engine", listener: "Listener") -> None:
        self._engine = engine
        self._listener = listener

    @property
    def settings(self) -> "Settings":
        """Those of the node."""
        return self._engine.cluster.nodes[self._listener.node_id].settings

    def setting(self, name: str, mechanism: str) -> "Value":
        """The value of a setting for this listener and a mechanism."""
        return self.settings.of_listener(self._listener.name, name, mechanism)

    def jwks_url(self, mechanism: str) -> str:
        """Where the keys of signed tokens are; "" if the mechanism has none, or tokens need not be signed."""
        return self._text(_JWKS) if mechanism == OAUTHBEARER else ""

    def refresh_ms(self) -> int:
        """How old the keys may be."""
        value = self.setting(_REFRESH, OAUTHBEARER)
        assert isinstance(value, int)
        return value

    def begin(self, mechanism: str) -> Mechanism:
        """One login by a mechanism that is enabled."""
        cluster = self._engine.cluster
        if mechanism == PLAIN:
            from fakebroker.broker.core.security.plain import PlainMechanism

            return PlainMechanism(self._why_not)
        if mechanism == OAUTHBEARER:
            from fakebroker.broker.core.security.oauthbearer import OAuthBearerMechanism

            return OAuthBearerMechanism(self._token_login)
        from fakebroker.broker.core.security.scram import ScramMechanism

        nonce = cluster.random.randbytes(_NONCE_BYTES).hex()
        return ScramMechanism(mechanism, partial(self._scram_user, mechanism), nonce)

    def _why_not(self, name: str, password: str) -> str:
        """Why a user may not log in by PLAIN, "" if it may. Users are declared in settings, or by the test.

        The same work is done for every password and every name, known or not.
        """
        from fakebroker.broker.core.security.jaas import is_password, users_of

        credentials = self._engine.cluster.credentials
        config = self.setting("sasl.jaas.config", PLAIN)
        in_settings = users_of(config if isinstance(config, str) else "")
        is_right = credentials.is_password(name, password)
        is_right_there = is_password(in_settings, name, password)
        if is_right or is_right_there:
            return ""
        is_known = name in in_settings or name in credentials.passwords
        return f"the password of {name!r} is wrong" if is_known else f"user {name!r} does not exist or has no password"

    def _scram_user(self, mechanism: str, name: str, is_token: bool) -> "ScramUser | None":
        from fakebroker.broker.core.security.principals import Principal
        from fakebroker.broker.core.security.scram import ScramUser

        credentials = self._engine.cluster.credentials
        if is_token:
            return credentials.tokens.user_of(mechanism, name, self._engine.now.wall_ms)
        credential = credentials.scram_of(name).get(mechanism)
        return None if credential is None else ScramUser(Principal(name), credential)

    def _token_login(self, token: str) -> Login:
        """Whom a token of OAUTHBEARER is for. Raises InvalidToken."""
        wall_ms = self._engine.now.wall_ms
        if url := self._text(_JWKS):
            return self._engine.key_sets.login(url, self.refresh_ms(), token, self._token_rules(), wall_ms)
        from fakebroker.broker.core.security.bearer_tokens import unsecured_login

        return unsecured_login(token, wall_ms)

    def _token_rules(self) -> "TokenRules":
        from fakebroker.broker.core.security.signed_tokens import TokenRules

        audience = self.setting("sasl.oauthbearer.expected.audience", OAUTHBEARER)
        skew_s = self.setting("sasl.oauthbearer.clock.skew.seconds", OAUTHBEARER)
        assert isinstance(skew_s, int)
        return TokenRules(
            audience if isinstance(audience, tuple) else (),
            self._text("sasl.oauthbearer.expected.issuer"),
            self._text("sasl.oauthbearer.sub.claim.name"),
            self._text("sasl.oauthbearer.scope.claim.name"),
            skew_s * 1000,
        )

    def _text(self, name: str) -> str:
        value = self.setting(name, OAUTHBEARER)
        return value if isinstance(value, str) else ""

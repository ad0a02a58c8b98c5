"""The mechanisms that a listener offers, and the broker's side of a login by each."""

from functools import partial
from typing import TYPE_CHECKING

from fakebroker.core.security.mechanisms import OAUTHBEARER, PLAIN, SCRAM_HASHES, Mechanism
from fakebroker.settings import Settings

if TYPE_CHECKING:
    from fakebroker.core.cluster import Cluster
    from fakebroker.core.security.scram import ScramUser
    from fakebroker.instant import Instant
    from fakebroker.listeners import Listener

SERVED = (PLAIN, *SCRAM_HASHES, OAUTHBEARER)
_ENABLED = "sasl.enabled.mechanisms"
_NONCE_BYTES = 16


def enabled_mechanisms(settings: Settings, listener: "Listener") -> list[str]:
    """The mechanisms of a listener that there are here: those of its settings, all if nothing is set.

    MOCK: Kafka's default is GSSAPI alone, which is not served.
    """
    name = f"listener.name.{listener.name.lower()}.{_ENABLED}"
    if not (settings.is_given(name) or settings.is_given(_ENABLED)):
        return list(SERVED)
    value = settings.of_listener(listener.name, _ENABLED)
    assert isinstance(value, tuple)
    return [mechanism for mechanism in value if mechanism in SERVED]


def new_login(
    mechanism: str, cluster: "Cluster", settings: Settings, listener: "Listener", now: "Instant"
) -> Mechanism:
    """The broker's side of a login that begins `now`, by a mechanism that is enabled."""
    if mechanism == PLAIN:
        from fakebroker.core.security.plain import PlainMechanism

        return PlainMechanism(partial(_is_password, cluster, settings, listener))
    if mechanism == OAUTHBEARER:
        from fakebroker.core.security.oauthbearer import OAuthBearerMechanism

        return OAuthBearerMechanism(now)
    from fakebroker.core.security.scram import ScramMechanism

    nonce = cluster.random.randbytes(_NONCE_BYTES).hex()
    return ScramMechanism(mechanism, partial(_scram_user, cluster, mechanism, now), nonce)


def _is_password(cluster: "Cluster", settings: Settings, listener: "Listener", name: str, password: str) -> bool:
    """Whether a user may log in by PLAIN: declared in settings, or by the test."""
    from fakebroker.core.security.jaas import is_password

    config = settings.of_listener(listener.name, "sasl.jaas.config", PLAIN)
    in_settings = is_password(config if isinstance(config, str) else "", name, password)
    return cluster.credentials.is_password(name, password) or in_settings


def _scram_user(cluster: "Cluster", mechanism: str, now: "Instant", name: str, is_token: bool) -> "ScramUser | None":
    from fakebroker.core.security.principals import Principal
    from fakebroker.core.security.scram import ScramUser

    if is_token:
        return cluster.credentials.tokens.user_of(mechanism, name, now.wall_ms)
    credential = cluster.credentials.scram_of(name).get(mechanism)
    return None if credential is None else ScramUser(Principal(name), credential)

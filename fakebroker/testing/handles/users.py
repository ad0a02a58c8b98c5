"""The users of a broker as a test sees them: who can log in, changed while it runs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fakebroker.broker.core.cluster import Cluster
from fakebroker.protocol.arguments.types import Name, Secret
from fakebroker.protocol.errors import ErrorCode, KafkaError, UnknownThing, nearest
from fakebroker.protocol.instant import Instant
from fakebroker.testing.handles.handle import Handle

if TYPE_CHECKING:
    from fakebroker.testing.handles.delegation_token import DelegationTokenHandle

_SECRET_KEY = "delegation.token.secret.key"


class UsersHandle(Handle):
    """The users that were declared, or got credentials from clients; not those in `sasl.jaas.config`."""

    def __repr__(self) -> str:
        return f"<users {', '.join(self.names) or '(none)'}>"

    @property
    def names(self) -> list[str]:
        """The users that have a password or a credential of SCRAM, sorted."""
        return self._with_cluster(lambda cluster, _now: cluster.credentials.users())

    def add(self, name: Name, password: Secret) -> None:
        """Let a user log in with PLAIN and SCRAM from now on; an existing user gets a new password.

        Open connections stay (SC-5). No password is kept or shown. Raises InvalidArgument for an empty name or
        password.
        """
        self._with_cluster(lambda cluster, _now: cluster.credentials.add_user(name, password, cluster.seed))

    def remove(self, name: str) -> None:
        """Remove a user, which can then no longer log in. Open connections stay. Raises UnknownThing."""

        def remove(cluster: Cluster, _now: Instant) -> None:
            if not cluster.credentials.remove_user(name):
                known = nearest(name, cluster.credentials.users())
                raise UnknownThing("name", name, f"there is no user {name!r}; {known}")

        self._with_cluster(remove)

    # Delegation tokens

    @property
    def tokens(self) -> "list[DelegationTokenHandle]":
        """The valid delegation tokens of all owners, oldest first."""

        def token_ids(cluster: Cluster, now: Instant) -> list[str]:
            return [token.token_id for token in cluster.credentials.tokens if token.expires_ms > now.wall_ms]

        return [self.token(token_id) for token_id in self._with_cluster(token_ids)]

    def token(self, token_id: str) -> "DelegationTokenHandle":
        """A delegation token by id; it may have expired."""
        from fakebroker.testing.handles.delegation_token import DelegationTokenHandle

        return DelegationTokenHandle(self._access, token_id)

    def create_token(
        self, owner: str, *, renewers: Sequence[str] = (), max_lifetime_ms: int = -1
    ) -> "DelegationTokenHandle":
        """Create a delegation token for a user, as if the user had requested it.

        `owner` and `renewers` are names of users, which need not exist. `max_lifetime_ms` -1 uses the setting. Raises
        KafkaError DELEGATION_TOKEN_AUTH_DISABLED without the setting delegation.token.secret.key.
        """
        return self.token(
            self._with_cluster(lambda cluster, now: _create(cluster, now, owner, renewers, max_lifetime_ms))
        )


def _create(cluster: Cluster, now: Instant, owner: str, renewers: Sequence[str], max_lifetime_ms: int) -> str:
    from fakebroker.broker.core.security.delegation_tokens import LIMITS, Limits
    from fakebroker.broker.core.security.principals import USER, Principal

    settings = cluster.settings
    if settings.is_null(_SECRET_KEY):
        raise KafkaError(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED, f"delegation tokens need the setting {_SECRET_KEY}")
    limits = Limits(*[settings.get_int(name) for name in LIMITS])
    token = cluster.credentials.tokens.create(
        cluster.new_base64_id(),
        settings.get_str(_SECRET_KEY),
        Principal(owner),
        Principal(owner),
        [(USER, name) for name in renewers],
        max_lifetime_ms,
        limits,
        now.wall_ms,
    )
    return token.token_id

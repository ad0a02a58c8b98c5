"""A delegation token as a test sees it: whose it is, until when, and its end."""

from base64 import b64encode
from typing import TYPE_CHECKING

from fakebroker.broker.core.cluster import Cluster
from fakebroker.broker.core.security.delegation_tokens import Token
from fakebroker.protocol.errors import UnknownThing
from fakebroker.protocol.instant import Instant
from fakebroker.testing.handles.handle import Handle

if TYPE_CHECKING:
    from fakebroker.testing.handles.access import EngineAccess


class DelegationTokenHandle(Handle):
    """A delegation token (KIP-48).

    Clients log in with it by SCRAM: its id is the user, `secret()` the password. Times are in milliseconds of the
    broker's time of day. Methods of an expired token raise UnknownThing.
    """

    def __init__(self, access: "EngineAccess", token_id: str) -> None:
        super().__init__(access)
        self.token_id = token_id

    def __repr__(self) -> str:
        return f"<delegation token {self.token_id}>"

    @property
    def exists(self) -> bool:
        """Whether the token exists and is valid."""
        return self._with_cluster(lambda cluster, now: find_token(cluster, self.token_id, now) is not None)

    @property
    def owner(self) -> str:
        """The principal of clients that log in with it: "User:alice"."""
        return _name(self._token().owner)

    @property
    def requester(self) -> str:
        """The principal that requested it."""
        return _name(self._token().requester)

    @property
    def renewers(self) -> list[str]:
        """The principals that may renew and expire it, besides its owner and its requester."""
        return [_name(renewer) for renewer in self._token().renewers]

    @property
    def issued_ms(self) -> int:
        """The time of issue."""
        return self._token().issued_ms

    @property
    def expires_ms(self) -> int:
        """The expiry time, unless it is renewed."""
        return self._token().expires_ms

    @property
    def max_ms(self) -> int:
        """The latest expiry time that a renewal can reach."""
        return self._token().max_ms

    def secret(self) -> str:
        """The password of its logins: its HMAC in base64."""
        return b64encode(self._token().hmac).decode()

    def expire(self) -> None:
        """Expire it now: later logins with it fail. Open connections stay."""

        def expire(cluster: Cluster, now: Instant) -> None:
            cluster.credentials.tokens.remove(self._found(cluster, now).token_id)

        self._with_cluster(expire)

    def _token(self) -> Token:
        return self._with_cluster(self._found)

    def _found(self, cluster: Cluster, now: Instant) -> Token:
        token = find_token(cluster, self.token_id, now)
        if token is None:
            raise UnknownThing("token_id", self.token_id, f"there is no delegation token {self.token_id!r}")
        return token


def find_token(cluster: Cluster, token_id: str, now: Instant) -> Token | None:
    """The token of an id, if its time is not over."""
    token = cluster.credentials.tokens.get(token_id)
    return token if token is not None and token.expires_ms > now.wall_ms else None


def _name(principal: tuple[str, str]) -> str:
    return ":".join(principal)

"""Rights as a test sees them: who may do what, changed while the broker runs, and why something is refused."""

from collections.abc import Callable
from typing import Literal, NamedTuple, TypeVar

from fakebroker.broker.core.cluster import Cluster
from fakebroker.broker.core.events import AclChanged
from fakebroker.broker.core.security.acls import (
    ANY_NAME,
    Acl,
    AclFilter,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
)
from fakebroker.broker.core.security.authorizer import Authorizer, Client
from fakebroker.protocol.errors import InvalidArgument, UnknownThing
from fakebroker.protocol.instant import Instant
from fakebroker.testing.acl_option import (
    AUTHORIZER,
    STANDARD_AUTHORIZER,
    OperationName,
    principal_of,
    resource_of,
)
from fakebroker.testing.handles.handle import Handle

T = TypeVar("T")

PermissionName = Literal["ALLOW", "DENY"]


class AclEntry(NamedTuple):
    """One ACL in Kafka's words: `pattern_type` is "LITERAL" or "PREFIXED", `host` "*" or an address."""

    permission: str
    principal: str
    operation: str
    resource_type: str
    resource_name: str
    pattern_type: str
    host: str


class AclExplanation(NamedTuple):
    """Whether a principal is allowed an operation, and why: `entry` is the deciding ACL, or None."""

    is_allowed: bool
    reason: str
    entry: AclEntry | None


_Resource = tuple[ResourceType, str]


class AclsHandle(Handle):
    """The ACLs of a broker with an authorizer (`authorizer.class.name`). Changes apply from the next request on.

    The resource is one of `topic`, `group`, `transactional_id`, `user`, `delegation_token` by its name, or
    `cluster=True`; "*" is every resource of the type, `prefix=True` matches all names with that prefix.
    """

    def __repr__(self) -> str:
        return f"<{len(self.entries)} ACLs>"

    @property
    def entries(self) -> list[AclEntry]:
        """All ACLs, grouped by resource."""
        return self._with_authorizer(lambda authorizer: [_shown(acl) for acl in authorizer.acls])

    @property
    def super_users(self) -> list[str]:
        """The principals with all rights (`super.users`)."""
        return self._with_authorizer(lambda authorizer: sorted(authorizer.super_users))

    def allow(
        self, principal: str, operation: OperationName, *, topic: str | None = None, group: str | None = None,
        transactional_id: str | None = None, cluster: bool = False, user: str | None = None,
        delegation_token: str | None = None, prefix: bool = False, host: str = ANY_NAME,
    ) -> None:  # fmt: skip
        """Allow a principal an operation on a resource: `allow("User:alice", "READ", topic="orders")`.

        READ, WRITE, DELETE and ALTER imply DESCRIBE, ALTER_CONFIGS implies DESCRIBE_CONFIGS. `principal` is
        "User:alice", or "User:*" for all users. Raises InvalidArgument.
        """
        resource = resource_of(topic, group, transactional_id, cluster, user, delegation_token)
        self._add(Permission.ALLOW, principal, operation, resource, prefix, host)

    def deny(
        self, principal: str, operation: OperationName, *, topic: str | None = None, group: str | None = None,
        transactional_id: str | None = None, cluster: bool = False, user: str | None = None,
        delegation_token: str | None = None, prefix: bool = False, host: str = ANY_NAME,
    ) -> None:  # fmt: skip
        """Deny a principal an operation on a resource, even if another ACL allows it.

        Arguments are those of `allow`.
        """
        resource = resource_of(topic, group, transactional_id, cluster, user, delegation_token)
        self._add(Permission.DENY, principal, operation, resource, prefix, host)

    def remove(
        self, principal: str | None = None, operation: OperationName | None = None, *, topic: str | None = None,
        group: str | None = None, transactional_id: str | None = None, cluster: bool = False, user: str | None = None,
        delegation_token: str | None = None, prefix: bool | None = None, host: str | None = None,
        permission: PermissionName | None = None,
    ) -> int:  # fmt: skip
        """Remove the ACLs that match all given arguments. Returns their number.

        Raises UnknownThing if none match, InvalidArgument without arguments: `clear` removes all.
        """
        resource = resource_of(topic, group, transactional_id, cluster, user, delegation_token, is_needed=False)
        pattern_type = PatternType.ANY if prefix is None else PatternType.PREFIXED if prefix else PatternType.LITERAL
        wanted = AclFilter(
            *resource,
            pattern_type,
            principal,
            host,
            Operation.ANY if operation is None else Operation[operation],
            Permission.ANY if permission is None else Permission[permission],
        )
        if wanted == AclFilter():
            raise InvalidArgument("principal", principal, "name the ACLs to remove; `clear` removes all")
        removed = self._remove(wanted)
        if not removed:
            raise UnknownThing("acl", str(wanted), "no ACL matches")
        return removed

    def clear(self) -> None:
        """Remove all ACLs. Super users may still do everything."""
        self._remove(AclFilter())

    def explain(
        self, principal: str, operation: OperationName, *, topic: str | None = None, group: str | None = None,
        transactional_id: str | None = None, cluster: bool = False, user: str | None = None,
        delegation_token: str | None = None, host: str = "127.0.0.1",
    ) -> AclExplanation:  # fmt: skip
        """Whether a principal is allowed an operation on a resource now, and why. Raises InvalidArgument."""
        resource = resource_of(topic, group, transactional_id, cluster, user, delegation_token)
        client, wanted = Client(principal_of(principal), host), Operation[operation]

        def explain(authorizer: Authorizer) -> AclExplanation:
            decision = authorizer.decide(client, wanted, *resource)
            entry = None if decision.acl is None else _shown(decision.acl)
            return AclExplanation(decision.is_allowed, decision.reason, entry)

        return self._with_authorizer(explain)

    def _add(
        self, permission: Permission, principal: str, operation: str, resource: _Resource, prefix: bool, host: str
    ) -> None:
        pattern_type = PatternType.PREFIXED if prefix else PatternType.LITERAL
        acl = Acl(
            ResourcePattern(*resource, pattern_type),
            principal_of(principal),
            host,
            Operation[operation],
            permission,
        )

        def add(cluster: Cluster, _now: Instant) -> None:
            if _authorizer(cluster).acls.add(acl):
                cluster.outbox.append(AclChanged("added", str(acl)))

        self._with_cluster(add)

    def _remove(self, wanted: AclFilter) -> int:
        def remove(cluster: Cluster, _now: Instant) -> int:
            acls = _authorizer(cluster).acls
            found = acls.find(wanted)
            for acl in found:
                acls.remove(acl)
                cluster.outbox.append(AclChanged("removed", str(acl)))
            return len(found)

        return self._with_cluster(remove)

    def _with_authorizer(self, function: Callable[[Authorizer], T]) -> T:
        return self._with_cluster(lambda cluster, _now: function(_authorizer(cluster)))


def _authorizer(cluster: Cluster) -> Authorizer:
    """Raises InvalidArgument if the broker has none."""
    if cluster.authorizer is None:
        hint = f'config={{"{AUTHORIZER}": "{STANDARD_AUTHORIZER}"}}, or acls=[]'
        raise InvalidArgument(AUTHORIZER, "", f"the broker has no authorizer and refuses nothing: {hint}")
    return cluster.authorizer


def _shown(acl: Acl) -> AclEntry:
    pattern = acl.pattern
    return AclEntry(
        acl.permission.name,
        acl.principal,
        acl.operation.name,
        pattern.resource_type.name,
        pattern.name,
        pattern.pattern_type.name,
        acl.host,
    )

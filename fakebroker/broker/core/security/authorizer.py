"""Who may do what: the decisions of Kafka's StandardAuthorizer (AU-2..AU-5, AU-7..AU-9)."""

from collections.abc import Iterable
from functools import reduce
from typing import TYPE_CHECKING, Final, NamedTuple

from fakebroker.broker.core.security.acls import (
    ANY_NAME,
    EVERYBODY,
    Acl,
    AclFilter,
    Acls,
    Operation,
    PatternType,
    Permission,
    ResourceType,
)

if TYPE_CHECKING:
    from fakebroker.broker.settings import Settings


_O = Operation
_IMPLY: Final = {  # what an ALLOW of these others allows, too (AU-5)
    _O.DESCRIBE: frozenset((_O.ALL, _O.DESCRIBE, _O.READ, _O.WRITE, _O.DELETE, _O.ALTER)),
    _O.DESCRIBE_CONFIGS: frozenset((_O.ALL, _O.DESCRIBE_CONFIGS, _O.ALTER_CONFIGS)),
}
OPERATIONS: Final = {  # that there are on resources of a type, which authorized operations are asked for (AU-14)
    ResourceType.TOPIC: (
        _O.READ, _O.WRITE, _O.CREATE, _O.DELETE, _O.ALTER, _O.DESCRIBE, _O.DESCRIBE_CONFIGS, _O.ALTER_CONFIGS,
    ),
    ResourceType.GROUP: (_O.READ, _O.DELETE, _O.DESCRIBE, _O.DESCRIBE_CONFIGS, _O.ALTER_CONFIGS),
    ResourceType.CLUSTER: (
        _O.CREATE, _O.ALTER, _O.DESCRIBE, _O.CLUSTER_ACTION, _O.DESCRIBE_CONFIGS, _O.ALTER_CONFIGS,
        _O.IDEMPOTENT_WRITE,
    ),
}  # fmt: skip


class Client(NamedTuple):
    """Who asks: `principal` as "User:alice", `host` as the text of the address, "127.0.0.1" (AU-8)."""

    principal: str
    host: str


class Decision(NamedTuple):
    """Whether something is allowed. `acl` decided it; if there is none, `reason` is why not, or why nevertheless."""

    is_allowed: bool
    acl: Acl | None
    reason: str

    def __str__(self) -> str:
        return f"{'allowed' if self.is_allowed else 'denied'}: {self.reason}"


class Authorizer:
    """The decisions over the entries of a cluster. `super_users` may do everything."""

    def __init__(self, acls: Acls, super_users: Iterable[str], allows_without_acl: bool) -> None:
        """`allows_without_acl`: a resource that no entry matches is open to all (AU-3)."""
        self.acls = acls
        self.super_users = frozenset(super_users)
        self._allows_without_acl = allows_without_acl

    def decide(self, client: Client, operation: Operation, resource_type: ResourceType, name: str) -> Decision:
        """Whether a client may do something with a resource, and what decides it (AU-2)."""
        if client.principal in self.super_users:
            return Decision(True, None, f"{client.principal} is a super user")
        allowing: Acl | None = None
        has_entries = False
        for acl in self.acls.of_resource(resource_type, name):
            has_entries = True
            if not _is_about(acl, client, operation):
                continue
            if acl.permission is Permission.DENY:
                return Decision(False, acl, str(acl))
            allowing = allowing or acl
        if allowing is not None:
            return Decision(True, allowing, str(allowing))
        if has_entries:
            return Decision(False, None, "no ACL that matches the resource allows it")
        if self._allows_without_acl:
            reason = "no ACL matches the resource, and allow.everyone.if.no.acl.found is true"
        else:
            reason = "no ACL matches the resource"
        return Decision(self._allows_without_acl, None, reason)

    def is_allowed_somewhere(self, client: Client, operation: Operation, resource_type: ResourceType) -> bool:
        """Whether the client may do it with any resource of the type that there could be (AU-6, InitProducerId)."""
        if self.decide(client, operation, resource_type, "hardcode").is_allowed:  # Kafka asks for that name first
            return True
        entries = [
            acl
            for acl in self.acls.find(AclFilter(resource_type))
            if acl.operation in (operation, Operation.ALL) and _is_of(acl, client)
        ]
        against = [acl.pattern for acl in entries if acl.permission is Permission.DENY]
        literal, prefixed = PatternType.LITERAL, PatternType.PREFIXED
        if any(pattern.name == ANY_NAME and pattern.pattern_type is literal for pattern in against):
            return False
        denied_names = {pattern.name for pattern in against if pattern.pattern_type is literal}
        denied_prefixes = tuple([pattern.name for pattern in against if pattern.pattern_type is prefixed])
        for acl in entries:
            name, pattern_type = acl.pattern.name, acl.pattern.pattern_type
            if acl.permission is Permission.DENY:
                continue
            if pattern_type is literal and name == ANY_NAME:
                return True
            if not (pattern_type is literal and name in denied_names) and not name.startswith(denied_prefixes):
                return True
        return False

    def operations(self, client: Client, among: Iterable[Operation], resource_type: ResourceType, name: str) -> int:
        """Which of these operations the client may do, as a bit field: bit n stands for operation n (AU-14)."""
        entries = list(self.acls.of_resource(resource_type, name))
        if client.principal in self.super_users or not entries:
            is_all = client.principal in self.super_users or self._allows_without_acl
            return reduce(_with_bit, among, 0) if is_all else 0
        own = [acl for acl in entries if _is_of(acl, client)]
        bits = 0
        for operation in among if own else ():
            about = [acl.permission for acl in own if _is_about(acl, client, operation)]
            if about and Permission.DENY not in about:
                bits = _with_bit(bits, operation)
        return bits


def _with_bit(bits: int, operation: Operation) -> int:
    return bits | 1 << operation


def authorizer_of(settings: "Settings") -> Authorizer:
    """An authorizer without entries, as the settings of a broker have it."""
    users = str(settings.value("super.users")).split(";")
    super_users = [user.strip() for user in users if user.strip()]
    return Authorizer(Acls(), super_users, settings.get_bool("allow.everyone.if.no.acl.found"))


def _is_about(acl: Acl, client: Client, operation: Operation) -> bool:
    """Whether an entry of the resource says anything of the client and the operation."""
    if not _is_of(acl, client):
        return False
    if acl.permission is Permission.ALLOW and operation in _IMPLY:
        return acl.operation in _IMPLY[operation]
    return acl.operation in (operation, Operation.ALL)


def _is_of(acl: Acl, client: Client) -> bool:
    return acl.principal in (client.principal, EVERYBODY) and acl.host in (client.host, ANY_NAME)

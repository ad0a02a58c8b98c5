"""Who may do what: the decisions of Kafka's StandardAuthorizer (AU-2..AU-5, AU-7..AU-9)."""

from collections.abc import Callable, Generator, Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from fakebroker.broker.core.security.acls import (
    ANY_NAME,
    EVERYBODY,
    Acl,
    Acls,
    Operation,
    PatternType,
    Permission,
    PrefixLengths,
    ResourcePattern,
    ResourceType,
    Who,
)
from fakebroker.protocol.java_text import trimmed
from fakebroker.protocol.pace import Pace

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


Count = Callable[[int], object]
"""Gets how much was looked at."""


def _bits(operations: Iterable[Operation]) -> int:
    return sum([1 << operation for operation in operations])


_ALLOWED_BITS: Final = {  # what an ALLOW of the operation allows
    given: _bits(each for each in _O if given in _IMPLY.get(each, (each, _O.ALL))) for given in _O
}
_DENIED_BITS: Final = {given: _bits(_O if given is _O.ALL else (given,)) for given in _O}  # the same of a DENY


def _uncounted(_looks: int) -> None:
    """Nobody wants to know."""


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

    def decide(
        self, client: Client, operation: Operation, resource_type: ResourceType, name: str, *, count: Count = _uncounted
    ) -> Decision:
        """Whether a client may do something with a resource, and what decides it (AU-2).

        `count` gets how many patterns and entries were looked at.
        """
        if client.principal in self.super_users:
            return Decision(True, None, f"{client.principal} is a super user")
        found = self.acls.about(resource_type, name, _entries_about(client))
        count(found.looks)
        allowing: Acl | None = None
        for acl in found.entries:
            if not _is_about(acl, operation):
                continue
            if acl.permission is Permission.DENY:
                return Decision(False, acl, str(acl))
            allowing = allowing or acl
        if allowing is not None:
            return Decision(True, allowing, str(allowing))
        if found.is_matched:
            return Decision(False, None, "no ACL that matches the resource allows it")
        if self._allows_without_acl:
            reason = "no ACL matches the resource, and allow.everyone.if.no.acl.found is true"
        else:
            reason = "no ACL matches the resource"
        return Decision(self._allows_without_acl, None, reason)

    def is_allowed_somewhere(
        self, client: Client, operation: Operation, resource_type: ResourceType, pace: Pace
    ) -> Generator[None, None, bool]:
        """Whether the client may do it with any resource of the type that there could be (AU-6, InitProducerId).

        In steps: every entry that there is at the beginning is looked at.
        """
        if self.decide(client, operation, resource_type, "hardcode").is_allowed:  # Kafka asks for that name first
            return True
        whom = set(_entries_about(client))
        allowed, denied = list[ResourcePattern](), _Denied()
        for acl in list(self.acls):
            is_meant = acl.pattern.resource_type is resource_type and acl.operation in (operation, Operation.ALL)
            if is_meant and (acl.principal, acl.host) in whom:
                note = denied.add if acl.permission is Permission.DENY else allowed.append
                note(acl.pattern)
            if pace.is_over():
                yield
        for pattern in allowed:
            if not denied.covers(pattern):
                return True
            if pace.is_over(denied.looks):
                yield
        return False

    def operations(
        self,
        client: Client,
        among: Iterable[Operation],
        resource_type: ResourceType,
        name: str,
        *,
        count: Count = _uncounted,
    ) -> int:
        """Which of these operations the client may do, as a bit field: bit n stands for operation n (AU-14).

        `count` is as in `decide`.
        """
        asked = _bits(among)
        if client.principal in self.super_users:
            return asked
        found = self.acls.about(resource_type, name, _entries_about(client))
        count(found.looks)
        if not found.is_matched:
            return asked if self._allows_without_acl else 0
        allowed = denied = 0
        for acl in found.entries:
            if acl.permission is Permission.DENY:
                denied |= _DENIED_BITS[acl.operation]
            else:
                allowed |= _ALLOWED_BITS[acl.operation]
        return asked & allowed & ~denied


class _Denied:
    """Names with which a client may do nothing, and what they begin with; in Kafka these are sets, too."""

    def __init__(self) -> None:
        self._names = set[str]()
        self._prefixes = set[str]()
        self._lengths = PrefixLengths()

    @property
    def looks(self) -> int:
        """How many looks `covers` takes at most."""
        return 1 + len(self._lengths)

    def add(self, pattern: ResourcePattern) -> None:
        """One pattern more is denied."""
        if pattern.pattern_type is PatternType.LITERAL:
            self._names.add(pattern.name)
        else:
            self._prefixes.add(pattern.name)
            self._lengths.add(len(pattern.name))

    def covers(self, pattern: ResourcePattern) -> bool:
        """Whether nothing is left of what a pattern allows."""
        name, is_literal = pattern.name, pattern.pattern_type is PatternType.LITERAL
        if ANY_NAME in self._names:
            return True
        if is_literal and (name == ANY_NAME or name in self._names):
            return name != ANY_NAME
        return any(name[:length] in self._prefixes for length in self._lengths.up_to(len(name)))


def authorizer_of(settings: "Settings") -> Authorizer:
    """An authorizer without entries, as the settings of a broker have it."""
    users = str(settings.value("super.users")).split(";")
    super_users = [name for user in users if (name := trimmed(user))]
    return Authorizer(Acls(), super_users, settings.get_bool("allow.everyone.if.no.acl.found"))


def _entries_about(client: Client) -> tuple[Who, ...]:
    """Whom entries name that are about a client, each once."""
    principal, host = client
    whom = (principal, host), (principal, ANY_NAME), (EVERYBODY, host), (EVERYBODY, ANY_NAME)
    return whom if principal != EVERYBODY and host != ANY_NAME else tuple(dict.fromkeys(whom))


def _is_about(acl: Acl, operation: Operation) -> bool:
    """Whether an entry says anything of the operation."""
    if acl.permission is Permission.ALLOW and operation in _IMPLY:
        return acl.operation in _IMPLY[operation]
    return acl.operation in (operation, Operation.ALL)

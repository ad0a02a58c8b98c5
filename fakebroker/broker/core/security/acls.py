"""Access control lists: entries, the patterns of resources that they are for, and filters (AU, KIP-11, KIP-290).

The entries are part of the cluster's durable state. What follows from them is decided in `authorizer.py`.
"""

from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from itertools import chain
from typing import NamedTuple

from fakebroker.broker.core.metadata_parts import MetadataEntry, MetadataPart, OnChange, not_kept
from fakebroker.broker.core.security.acl_state import AclState

ANY_NAME = "*"  # of a literal pattern: every resource of the type (AU-9); as host: every address
EVERYBODY = "User:*"
CLUSTER_NAME = "kafka-cluster"  # the only resource of type CLUSTER


class ResourceType(IntEnum):
    """What an entry is about. ANY is for filters alone."""

    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(IntEnum):
    """How the name of a pattern is meant. ANY and MATCH are for filters alone (AU-10)."""

    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class Operation(IntEnum):
    """What somebody may do with a resource. ANY is for filters alone, ALL means every operation (AU-5)."""

    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class Permission(IntEnum):
    """Whether an entry allows or denies. ANY is for filters alone."""

    ANY = 1
    DENY = 2
    ALLOW = 3


class ResourcePattern(NamedTuple):
    """The resources that an entry is for."""

    resource_type: ResourceType
    name: str
    pattern_type: PatternType

    def matches(self, name: str) -> bool:
        """Whether a resource of the type with that name is meant (AU-2)."""
        if self.pattern_type is PatternType.PREFIXED:
            return name.startswith(self.name)
        return self.name in (ANY_NAME, name)

    def __str__(self) -> str:
        resource = self.resource_type.name
        if self.pattern_type is PatternType.PREFIXED:
            return f"{resource} names that begin with {self.name!r}"
        return f"every {resource}" if self.name == ANY_NAME else f"{resource} {self.name!r}"


class Acl(NamedTuple):
    """One entry: `principal` ("User:alice") may, or may not, do `operation` from `host` ("*": from anywhere)."""

    pattern: ResourcePattern
    principal: str
    host: str
    operation: Operation
    permission: Permission

    def __str__(self) -> str:
        host = "" if self.host == ANY_NAME else f" from {self.host}"
        return f"{self.permission.name} {self.principal} {self.operation.name} on {self.pattern}{host}"


class AclFilter(NamedTuple):
    """Which entries are meant: a field that is None or ANY leaves it open (AU-10)."""

    resource_type: ResourceType = ResourceType.ANY
    name: str | None = None
    pattern_type: PatternType = PatternType.ANY
    principal: str | None = None
    host: str | None = None
    operation: Operation = Operation.ANY
    permission: Permission = Permission.ANY

    def matches(self, acl: Acl) -> bool:
        """Whether an entry is meant."""
        return (
            self.resource_type in (ResourceType.ANY, acl.pattern.resource_type)
            and self._matches_name(acl.pattern)
            and self.principal in (None, acl.principal)
            and self.host in (None, acl.host)
            and self.operation in (Operation.ANY, acl.operation)
            and self.permission in (Permission.ANY, acl.permission)
        )

    def _matches_name(self, pattern: ResourcePattern) -> bool:
        if self.pattern_type is PatternType.MATCH:
            return self.name is None or pattern.matches(self.name)
        return self.pattern_type in (PatternType.ANY, pattern.pattern_type) and self.name in (None, pattern.name)


Who = tuple[str, str]
"""Principal and host, as entries have them."""


class Found(NamedTuple):
    """What there is about a resource and a client: entries in their order, and how many looks it took to find them.

    `is_matched`: there is an entry for the resource, whoever it is about.
    """

    entries: list[Acl]
    is_matched: bool
    looks: int


class PatternEntries:
    """The entries of one pattern in the order in which they were added, and by whom they are about.

    There may be one for each user: nobody who asks for one client goes over all of them.
    """

    __slots__ = ("_added", "_all", "_by_who")

    def __init__(self) -> None:
        self._all: dict[Acl, None] = {}  # Python has no ordered set
        self._by_who: dict[Who, list[tuple[int, Acl]]] = {}  # with numbers, by which they are in order
        self._added = 0

    def __iter__(self) -> Iterator[Acl]:
        return iter(self._all)

    def __contains__(self, acl: Acl) -> bool:
        return acl in self._all

    def __len__(self) -> int:
        return len(self._all)

    def add(self, acl: Acl) -> None:
        """Add an entry that is not there."""
        self._all[acl] = None
        self._added += 1
        self._by_who.setdefault((acl.principal, acl.host), []).append((self._added, acl))

    def remove(self, acl: Acl) -> None:
        """Remove an entry that is there."""
        del self._all[acl]
        who = acl.principal, acl.host
        left = [each for each in self._by_who[who] if each[1] != acl]
        if left:
            self._by_who[who] = left
        else:
            del self._by_who[who]

    def about(self, whom: Iterable[Who]) -> list[Acl]:
        """The entries about any of these, which are different, in the order in which they were added."""
        found = [entries for who in whom if (entries := self._by_who.get(who)) is not None]
        return [acl for _, acl in sorted(chain.from_iterable(found))]


class PrefixLengths:
    """The lengths of prefixed patterns, ascending, and how many patterns have each."""

    def __init__(self) -> None:
        self._patterns = Counter[int]()
        self._ascending: list[int] = []

    def __len__(self) -> int:
        return len(self._ascending)

    def up_to(self, length: int) -> Sequence[int]:
        """Those that are not longer than this."""
        return self._ascending[: bisect_right(self._ascending, length)]

    def add(self, length: int) -> None:
        """Count a pattern more."""
        self._patterns[length] += 1
        if self._patterns[length] == 1:
            insort(self._ascending, length)

    def remove(self, length: int) -> None:
        """Count a pattern less."""
        self._patterns[length] -= 1
        if not self._patterns[length]:
            self._ascending.remove(length)


class Patterns:
    """The patterns of one type of resource that have entries, by their names."""

    def __init__(self) -> None:
        self._literal: dict[str, PatternEntries] = {}
        self._prefixed: dict[str, PatternEntries] = {}
        self._prefix_lengths = PrefixLengths()

    def add(self, pattern: ResourcePattern, entries: PatternEntries) -> None:
        """There are entries of a pattern that had none."""
        self._named(pattern)[pattern.name] = entries
        if pattern.pattern_type is PatternType.PREFIXED:
            self._prefix_lengths.add(len(pattern.name))

    def remove(self, pattern: ResourcePattern) -> None:
        """There are none any more."""
        del self._named(pattern)[pattern.name]
        if pattern.pattern_type is PatternType.PREFIXED:
            self._prefix_lengths.remove(len(pattern.name))

    def of_resource(self, name: str) -> list[PatternEntries | None]:
        """The entries of each pattern that matches a name: itself, its prefixes, the wildcard; None if it has none."""
        found = [self._literal.get(name)]
        found += [self._prefixed.get(name[:length]) for length in self._prefix_lengths.up_to(len(name))]
        if name != ANY_NAME:
            found.append(self._literal.get(ANY_NAME))
        return found

    def _named(self, pattern: ResourcePattern) -> dict[str, PatternEntries]:
        return self._prefixed if pattern.pattern_type is PatternType.PREFIXED else self._literal


class Acls:
    """All entries of a cluster, found by the resources that they are for. `on_change` is called after each change."""

    def __init__(self) -> None:
        self.on_change: OnChange = not_kept
        self._by_pattern: dict[ResourcePattern, PatternEntries] = {}
        self._by_type: dict[ResourceType, Patterns] = {}
        self._count = 0

    def __iter__(self) -> Iterator[Acl]:
        """All entries, those of one pattern together, in the order in which patterns and entries were added."""
        for entries in self._by_pattern.values():
            yield from entries

    def __contains__(self, acl: Acl) -> bool:
        return acl in self._by_pattern.get(acl.pattern, ())

    def __len__(self) -> int:
        return self._count

    def add(self, acl: Acl) -> bool:
        """Add an entry; whether it was not there before (AU-11)."""
        entries = self._by_pattern.get(acl.pattern)
        if entries is None:
            entries = self._by_pattern[acl.pattern] = PatternEntries()
            self._by_type.setdefault(acl.pattern.resource_type, Patterns()).add(acl.pattern, entries)
        is_new = acl not in entries
        if is_new:
            entries.add(acl)
            self._count += 1
            self._changed(acl)
        return is_new

    def remove(self, acl: Acl) -> bool:
        """Remove an entry; whether it was there."""
        entries = self._by_pattern.get(acl.pattern)
        if entries is None or acl not in entries:
            return False
        entries.remove(acl)
        self._count -= 1
        self._changed(acl)
        if not entries:
            del self._by_pattern[acl.pattern]
            self._by_type[acl.pattern.resource_type].remove(acl.pattern)
        return True

    def find(self, wanted: AclFilter) -> list[Acl]:
        """The entries that a filter means."""
        return [acl for acl in self if wanted.matches(acl)]

    def about(self, resource_type: ResourceType, name: str, whom: Iterable[Who]) -> Found:
        """The entries about any of `whom` that are for a resource: for its own name, prefixes of it, the wildcard.

        Each of `whom` is another.
        """
        patterns = self._by_type.get(resource_type)
        of_resource = [] if patterns is None else patterns.of_resource(name)
        matching = [entries for entries in of_resource if entries is not None]
        found = [acl for entries in matching for acl in entries.about(whom)]
        return Found(found, bool(matching), len(of_resource) + len(found))

    # State

    def state(self) -> tuple[AclState, ...]:
        """All of it as plain values."""
        return tuple(map(state_of, self))

    def restore(self, states: Iterable[AclState]) -> None:
        """Have the entries of a state, and no others. Raises ValueError for codes that there are not."""
        self._by_pattern, self._by_type, self._count = {}, {}, 0
        for each in states:
            self.add(acl_of(*each))
        self.on_change(MetadataPart.ACLS)

    def _changed(self, acl: Acl) -> None:
        self.on_change(MetadataEntry(MetadataPart.ACLS, state_of(acl)))


def state_of(acl: Acl) -> AclState:
    """An entry as plain values."""
    return AclState(*map(_plain, acl.pattern), *map(_plain, acl[1:]))  # type: ignore[arg-type]


def acl_of(
    resource_type: int, name: str, pattern_type: int, principal: str, host: str, operation: int, permission: int
) -> Acl:
    """An entry of the codes that stand for it on the wire. Raises ValueError for one that does not exist."""
    pattern = ResourcePattern(ResourceType(resource_type), name, PatternType(pattern_type))
    return Acl(pattern, principal, host, Operation(operation), Permission(permission))


def _plain(value: str | int) -> str | int:
    return value if isinstance(value, str) else int(value)

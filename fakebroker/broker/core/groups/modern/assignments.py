"""Assignments of partitions to members, and what an assignor gets to know of a group.

Kafka: `Assignment`, `GroupSpec`, `MemberSubscription`, `TargetAssignmentBuilder`.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from fakebroker.broker.core.java_hash_map import JavaHashMap, JavaHashSet
from fakebroker.protocol.pace import AT_ONCE, ENTRIES_PER_PART, finished

if TYPE_CHECKING:
    from fakebroker.protocol.pace import Pace

# Topic id -> partitions, both in the order of the record of type 7 (13 for share groups). That order is part of the
# value: the next assignment goes on from it (CGA-18). Two assignments are the same when `same_partitions` says so.
Assignment = Mapping[bytes, Sequence[int]]

NOTHING: Assignment = {}


class AssignorMember(NamedTuple):
    """One member for an assignor: its previous target is what it keeps as much as possible of.

    `topic_ids` are those of the existing topics it subscribes to, in the order of `topic_ids_of`; so many others do not
    exist (`missing_topics`), and count where Kafka makes room for all.
    """

    topic_ids: Sequence[bytes]
    previous: Assignment = NOTHING
    instance_id: str | None = None
    missing_topics: int = 0


class AssignorGroup(NamedTuple):
    """A group for an assignor.

    `members` are in the order of `members_in_order`. `partition_counts` has every topic that a member subscribes to.
    `assignable` are the partitions of each topic that may be assigned (share groups: initialized ones); None: all.
    """

    members: Mapping[str, AssignorMember]
    partition_counts: Mapping[bytes, int]
    is_homogeneous: bool
    assignable: Mapping[bytes, Collection[int]] | None = None


class ComputedTarget(NamedTuple):
    """What each member of a group shall have (`targets`), by which assignor, and what that went by."""

    assignor: str
    members: Mapping[str, AssignorMember]
    targets: Mapping[str, Assignment]


Assignor = Callable[[AssignorGroup, "Pace"], Generator[None, None, dict[str, Assignment]]]
"""Gives every member its target, in the order of `members`, which is that of the records of type 7 (CGB-1).

It does so in steps. A unit of the pace is a partition, or a topic of a member: some microseconds. A member that keeps
exactly what it had may be given its `previous` itself.
"""

OpenAssignment = JavaHashMap[bytes, JavaHashSet[int]]  # an assignment while an assignor changes it


def members_in_order(present: Sequence[str], joined: str, replaced: str | None = None) -> list[str]:
    """Member ids in the order in which assignors walk them: that of a Java HashMap (CGA-10).

    `present` are the members in the order of the member table (CGA-17); `joined` is the member of the heartbeat, which
    may be among them or new. `replaced` is a static member whose place it takes (CGS-3).
    """
    table: JavaHashMap[str, None] = JavaHashMap()
    for member_id in (*present, joined):
        table[member_id] = None
    if replaced is not None and replaced in table:
        del table[replaced]
    return table.keys_in_order()


def topic_ids_of(
    names: Iterable[str], topic_id: Callable[[str], bytes | None], resolved: Iterable[str] = ()
) -> tuple[bytes, ...]:
    """The ids of the topics that a member subscribes to, in the order in which Java lists its sets of names.

    `names` were given by name, `resolved` by its pattern (the larger set comes first); `topic_id` gives None for a
    topic that does not exist, which is left out (CGA-24).
    """
    by_name, by_pattern = JavaHashSet.copy_of(names), JavaHashSet.copy_of(resolved)
    large, small = (by_name, by_pattern) if len(by_name) > len(by_pattern) else (by_pattern, by_name)
    ids = {name: found for name in (*large, *small) if (found := topic_id(name)) is not None}
    in_order = dict.fromkeys((*large.keys_in_order(ids.__contains__), *small.keys_in_order(ids.__contains__)))
    return tuple(ids[name] for name in in_order)


def is_homogeneous(subscriptions: Iterable[tuple[Sequence[str], str | None]]) -> bool:
    """Whether all members of a group want the same topics; `subscriptions` are a member's topic names and its pattern.

    With patterns that is so only if all members have the same one and nobody names topics. An empty pattern is none.
    """
    counts: dict[str, int] = {}
    patterns: dict[str, int] = {}
    members = 0
    for (names, pattern), alike in Counter(subscriptions).items():  # few: most members have the same
        members += alike
        for name in names:
            counts[name] = counts.get(name, 0) + alike
        if pattern:
            patterns[pattern] = patterns.get(pattern, 0) + alike
    if patterns:
        return not counts and list(patterns.values()) == [members]
    return all(count == members for count in counts.values())


def same_partitions(one: Assignment, other: Assignment) -> bool:
    """Whether two assignments have the same partitions, in whatever order: then no record is written."""
    if one is other:
        return True
    return one.keys() == other.keys() and all(set(one[topic_id]) == set(other[topic_id]) for topic_id in one)


def opened(assignment: Assignment) -> OpenAssignment:
    """An assignment as Kafka reads it from its record: new tables, filled in the order of the record."""
    table: OpenAssignment = JavaHashMap()
    for topic_id, partitions in assignment.items():
        table[topic_id] = JavaHashSet.copy_of(partitions)
    return table


def add_partitions(
    assignment: OpenAssignment,
    topic_id: bytes,
    partitions: Sequence[int],
    make: Callable[[], JavaHashSet[int]] = JavaHashSet,
) -> None:
    """Give partitions one after the other, each with `computeIfAbsent`, whose second call may make the table grow.

    `make` is what makes the table of a topic that is new.
    """
    table = assignment.compute_if_absent(topic_id, make)
    if len(partitions) > 1:
        assignment.compute_if_absent(topic_id, make)
    table.add_all(partitions)


def closed(assignment: OpenAssignment) -> Assignment:
    """An assignment as it is written: topics and partitions in the order of their tables."""
    return finished(closed_in_steps(assignment, AT_ONCE))


def to_change(assignment: Assignment, pace: "Pace") -> Generator[None, None, OpenAssignment]:
    """The copy of an assignment that an assignor changes, in steps: Kafka's copies what was read from the record.

    The order inside the buckets of topics may become another by that; to copy partitions once more changes nothing.
    """
    read: JavaHashMap[bytes, Sequence[int]] = JavaHashMap()
    read.put_all(assignment)
    copy: OpenAssignment = JavaHashMap(expected=len(assignment))
    units = 0
    for topic_id in read.keys_in_order():
        partitions = read[topic_id]
        copy[topic_id] = JavaHashSet.copy_of(partitions)
        units += 1 + len(partitions)
        if units >= ENTRIES_PER_PART:
            if pace.is_over(units):
                yield
            units = 0
    pace.count(units)
    return copy


def closed_in_steps(assignment: OpenAssignment, pace: "Pace") -> Generator[None, None, Assignment]:
    """The same as `closed`, in steps."""
    written: dict[bytes, tuple[int, ...]] = {}
    units = 0
    for topic_id in assignment.keys_in_order():
        partitions = written[topic_id] = tuple(assignment[topic_id].keys_in_order())
        units += 1 + len(partitions)
        if units >= ENTRIES_PER_PART:
            if pace.is_over(units):
                yield
            units = 0
    pace.count(units)
    return written


def assigned_partitions(group: AssignorGroup, pace: "Pace") -> Generator[None, None, dict[bytes, set[int]]]:
    """The partitions that are in some member's previous target, by topic."""
    assigned: defaultdict[bytes, set[int]] = defaultdict(set)
    for member in group.members.values():
        units = 1
        for topic_id, partitions in member.previous.items():
            assigned[topic_id].update(partitions)
            units += 1
            if units > ENTRIES_PER_PART:
                if pace.is_over(units):
                    yield
                units = 1
        if pace.is_over(units):
            yield
    return assigned

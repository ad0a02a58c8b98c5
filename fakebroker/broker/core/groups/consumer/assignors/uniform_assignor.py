"""The assignor "uniform": as many partitions for everybody as for everybody else, and as few moves as possible.

Kafka: `UniformAssignor`, `UniformHomogeneousAssignmentBuilder`. Groups whose members want different topics are assigned
in `uniform_heterogeneous.py`.
"""

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING

from fakebroker.broker.core.groups.consumer.assignors import uniform_heterogeneous
from fakebroker.broker.core.groups.modern.assignments import (
    NOTHING,
    Assignment,
    AssignorGroup,
    OpenAssignment,
    add_partitions,
    assigned_partitions,
    closed_in_steps,
    to_change,
)
from fakebroker.broker.core.java_hash_map import JavaHashMap, JavaHashSet
from fakebroker.protocol.pace import in_parts

if TYPE_CHECKING:
    from fakebroker.protocol.pace import Pace

NAME = "uniform"

Run = tuple[bytes, Sequence[int]]  # partitions of a topic

_NO_RUN: Run = (b"", ())


def assign(group: AssignorGroup, pace: "Pace") -> Generator[None, None, dict[str, Assignment]]:
    """Give every member its target."""
    return (_assign_homogeneous if group.is_homogeneous else uniform_heterogeneous.assign)(group, pace)


def _assign_homogeneous(group: AssignorGroup, pace: "Pace") -> Generator[None, None, dict[str, Assignment]]:
    """Everybody keeps up to its quota, and those with less take what is left in walking order (CGA-10 to CGA-16)."""
    first = next(iter(group.members.values()), None)
    if first is None or not first.topic_ids:
        return dict.fromkeys(group.members, NOTHING)
    topics = JavaHashSet.copy_of(first.topic_ids, len(first.topic_ids) + first.missing_topics)
    unassigned = yield from _unassigned(group, topics, pace)
    total = sum([group.partition_counts[topic_id] for topic_id in topics])
    quotas = _Quotas(total, len(group.members))
    target: dict[str, Assignment] = {}
    unfilled: list[tuple[str, OpenAssignment, int]] = []
    for member_id, member in group.members.items():
        previous = target[member_id] = member.previous
        kept, had = yield from _keep(previous, quotas.next(), topics, unassigned, pace)
        open_quota = quotas.settle(had)
        if open_quota > 0:
            to_fill = (yield from to_change(previous, pace)) if kept is None else kept
            unfilled.append((member_id, to_fill, open_quota))
        elif kept is not None:
            target[member_id] = yield from closed_in_steps(kept, pace)
        if pace.is_over(1 + len(previous)):
            yield
    yield from _fill(unfilled, unassigned, target, pace)
    return target


class _Quotas:
    """How many partitions the members may have, one member after the other."""

    def __init__(self, total: int, members: int) -> None:
        self.minimum, self.extra = divmod(total, members)
        self.members_to_come = members
        self.quota = 0

    def next(self) -> int:
        """The quota of the next member; one more than the minimum while members with an extra one are left."""
        self.quota = self.minimum + (self.extra > 0)
        return self.quota

    def settle(self, kept: int) -> int:
        """How many partitions the member is still to get, when it has kept so many of its own.

        A member that has room left gives its extra one on if enough members are to come to take it (CGA-13).
        """
        open_quota = self.quota - kept
        if self.extra > 0:
            if open_quota > 0 and self.members_to_come > self.extra:
                open_quota -= 1
            else:
                self.extra -= 1
        self.members_to_come -= 1
        return open_quota


def _unassigned(group: AssignorGroup, topics: JavaHashSet[bytes], pace: "Pace") -> Generator[None, None, list[Run]]:
    assigned = yield from assigned_partitions(group, pace)
    unassigned: list[Run] = []
    for topic_id in topics.keys_in_order():
        partitions: Sequence[int] = range(group.partition_counts[topic_id])
        if topic_id in assigned:
            taken = assigned[topic_id]
            partitions = [partition for partition in partitions if partition not in taken]
        if partitions:
            unassigned.append((topic_id, partitions))
        if pace.is_over(1 + group.partition_counts[topic_id]):
            yield
    return unassigned


def _keep(
    previous: Assignment, quota: int, topics: JavaHashSet[bytes], unassigned: list[Run], pace: "Pace"
) -> Generator[None, None, tuple[OpenAssignment | None, int]]:
    """What a member keeps of its previous target (None: all), and how many partitions these are (CGA-12).

    Partitions above the quota go to the end of `unassigned`.
    """
    count = sum(map(len, previous.values()))
    if count <= quota and previous.keys() <= topics.keys():
        return None, count
    kept, read = (yield from to_change(previous, pace)), JavaHashMap[bytes, Sequence[int]]()
    read.put_all(previous)
    count = 0
    for topic_id in read.keys_in_order():
        size = len(kept[topic_id])
        if topic_id not in topics:
            del kept[topic_id]
        elif count + size <= quota:
            count += size
        else:
            unassigned.append((topic_id, (yield from _cut(kept, topic_id, quota - count, pace))))
            count = quota
        if pace.is_over():
            yield
    return kept, count


def _cut(kept: OpenAssignment, topic_id: bytes, room: int, pace: "Pace") -> Generator[None, None, Sequence[int]]:
    """Leave the first `room` partitions of a topic; returns the others."""
    cut = kept[topic_id].keys_in_order()[room:]
    if not room:
        del kept[topic_id]
        return cut
    for part in in_parts(cut):
        for partition in part:
            del kept[topic_id][partition]
        if pace.is_over(len(part)):
            yield
    return cut


def _fill(
    unfilled: list[tuple[str, OpenAssignment, int]], unassigned: list[Run], target: dict[str, Assignment], pace: "Pace"
) -> Generator[None, None, None]:
    """Give the unassigned partitions, front to back, to the members with room left (CGA-14, CGA-15)."""
    runs = iter(unassigned)
    topic_id, left = next(runs, _NO_RUN)
    at = 0
    unfilled.reverse()
    while unfilled:  # to forget them all at once would take long
        member_id, assignment, room = unfilled.pop()
        while room and left:
            taken = left[at : at + room]
            add_partitions(assignment, topic_id, taken)
            room -= len(taken)
            at += len(taken)
            if at == len(left):
                (topic_id, left), at = next(runs, _NO_RUN), 0
            if pace.is_over(1 + len(taken)):
                yield
        target[member_id] = yield from closed_in_steps(assignment, pace)
        if pace.is_over():
            yield

"""The assignor "uniform": as many partitions for everybody as for everybody else, and as few moves as possible.

Kafka: `UniformAssignor`, `UniformHomogeneousAssignmentBuilder`. Groups whose members want different topics are assigned
in `uniform_heterogeneous.py`.
"""

from collections.abc import Iterator

from fakebroker.broker.core.groups.consumer.assignors import uniform_heterogeneous
from fakebroker.broker.core.groups.modern.assignments import (
    NOTHING,
    Assignment,
    AssignorGroup,
    OpenAssignment,
    assigned_partitions,
    closed,
    deep_copy,
    opened,
)
from fakebroker.broker.core.java_hash_map import JavaHashSet

NAME = "uniform"

TopicPartition = tuple[bytes, int]


def assign(group: AssignorGroup) -> dict[str, Assignment]:
    """Give every member its target."""
    return _assign_homogeneous(group) if group.is_homogeneous else uniform_heterogeneous.assign(group)


def _assign_homogeneous(group: AssignorGroup) -> dict[str, Assignment]:
    """Everybody keeps up to its quota, and those with less take what is left in walking order (CGA-10 to CGA-16)."""
    first = next(iter(group.members.values()), None)
    if first is None or not first.topic_ids:
        return dict.fromkeys(group.members, NOTHING)
    topics = JavaHashSet.copy_of(first.topic_ids, len(first.topic_ids) + first.missing_topics)
    unassigned = list(_unassigned(group, topics))
    total = sum(group.partition_counts[topic_id] for topic_id in topics)
    quotas = _Quotas(total, len(group.members))
    target: dict[str, Assignment] = {}
    unfilled: list[tuple[str, OpenAssignment, int]] = []
    for member_id, member in group.members.items():
        kept, had = _keep(opened(member.previous), quotas.next(), topics, unassigned)
        open_quota = quotas.settle(had)
        target[member_id] = member.previous if kept is None else closed(kept)
        if open_quota > 0:
            unfilled.append((member_id, deep_copy(opened(member.previous)) if kept is None else kept, open_quota))
    _fill(unfilled, unassigned, target)
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


def _unassigned(group: AssignorGroup, topics: JavaHashSet[bytes]) -> Iterator[TopicPartition]:
    assigned = assigned_partitions(group)
    for topic_id in topics.keys_in_order():
        taken = assigned.get(topic_id, ())
        for partition in range(group.partition_counts[topic_id]):
            if partition not in taken:
                yield topic_id, partition


def _keep(
    previous: OpenAssignment, quota: int, topics: JavaHashSet[bytes], unassigned: list[TopicPartition]
) -> tuple[OpenAssignment | None, int]:
    """What a member keeps of its previous target (None: all), and how many partitions these are (CGA-12).

    Partitions above the quota go to the end of `unassigned`.
    """
    kept: OpenAssignment | None = None
    count = 0
    for topic_id in previous.keys_in_order():
        partitions = previous[topic_id].keys_in_order()
        if topic_id in topics and count + len(partitions) <= quota:
            count += len(partitions)
            continue
        if kept is None:
            kept = deep_copy(previous)
        if topic_id not in topics:
            del kept[topic_id]
            continue
        room = quota - count
        for partition in partitions[room:]:
            del kept[topic_id][partition]
            unassigned.append((topic_id, partition))
        if not kept[topic_id]:
            del kept[topic_id]
        count = quota
    return kept, count


def _fill(
    unfilled: list[tuple[str, OpenAssignment, int]], unassigned: list[TopicPartition], target: dict[str, Assignment]
) -> None:
    """Give the unassigned partitions, front to back, to the members with room left (CGA-14, CGA-15)."""
    left = iter(unassigned)
    for member_id, assignment, room in unfilled:
        for _, (topic_id, partition) in zip(range(room), left, strict=False):
            assignment.compute_if_absent(topic_id, JavaHashSet).add(partition)
        target[member_id] = closed(assignment)

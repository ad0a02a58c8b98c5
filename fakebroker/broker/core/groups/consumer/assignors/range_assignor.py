"""The assignor "range": consecutive partitions of each topic to its subscribers (CGA-2 to CGA-4).

Kafka: `RangeAssignor`.
"""

from fakebroker.broker.core.groups.modern.assignments import Assignment, AssignorGroup
from fakebroker.broker.core.java_hash_map import JavaHashMap, capacity_for

NAME = "range"


def assign(group: AssignorGroup) -> dict[str, Assignment]:
    """Give every member its ranges. What members had before does not matter."""
    subscribers = _subscriber_counts(group)
    ranges = {topic_id: _Ranges(group.partition_counts[topic_id], count) for topic_id, count in subscribers.items()}
    target: dict[str, Assignment] = {}
    for member_id in _sorted_members(group):
        member = group.members[member_id]
        count = len(member.topic_ids) + member.missing_topics
        taken: JavaHashMap[bytes, range] = JavaHashMap(expected=capacity_for(count))
        for topic_id in member.topic_ids:
            if partitions := ranges[topic_id].take():
                taken[topic_id] = partitions
        target[member_id] = {topic_id: tuple(taken[topic_id]) for topic_id in taken.keys_in_order()}
    return {member_id: target[member_id] for member_id in group.members}


class _Ranges:
    """The partitions of one topic, taken range by range."""

    def __init__(self, partitions: int, subscribers: int) -> None:
        self.next = 0
        self.quota, self.extra = divmod(partitions, subscribers)

    def take(self) -> range:
        """The next subscriber's range, empty when there are more subscribers than partitions."""
        taken = range(self.next, self.next + self.quota + (self.extra > 0))
        self.extra = max(self.extra - 1, 0)
        self.next = taken.stop
        return taken


def _subscriber_counts(group: AssignorGroup) -> dict[bytes, int]:
    counts: dict[bytes, int] = {}
    for member in group.members.values():
        for topic_id in member.topic_ids:
            counts[topic_id] = counts.get(topic_id, 0) + 1
    return counts


def _sorted_members(group: AssignorGroup) -> list[str]:
    """Static members by instance id, then the others by member id, both by UTF-16 code units as Java compares."""

    def rank(member_id: str) -> tuple[bool, bytes]:
        instance_id = group.members[member_id].instance_id
        name = member_id if instance_id is None else instance_id
        return instance_id is None, name.encode("utf-16-be", "surrogatepass")

    return sorted(group.members, key=rank)

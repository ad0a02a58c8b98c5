"""The assignor "range": consecutive partitions of each topic to its subscribers (CGA-2 to CGA-4).

Kafka: `RangeAssignor`.
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from fakebroker.broker.core.groups.modern.assignments import Assignment, AssignorGroup, AssignorMember
from fakebroker.broker.core.java_hash_map import JavaHashSet, capacity_for
from fakebroker.protocol.pace import ENTRIES_PER_PART, in_parts

if TYPE_CHECKING:
    from fakebroker.protocol.pace import Pace

NAME = "range"


def assign(group: AssignorGroup, pace: "Pace") -> Generator[None, None, dict[str, Assignment]]:
    """Give every member its ranges. What members had before does not matter."""
    subscriptions, alike = dict[int, Sequence[bytes]](), dict[int, int]()  # by the identity of the list of topics
    for member in group.members.values():
        subscription = id(member.topic_ids)
        subscriptions[subscription] = member.topic_ids
        alike[subscription] = alike.get(subscription, 0) + 1
        if pace.is_over():
            yield
    ranges = yield from _ranges(group.partition_counts, [(subscriptions[each], alike[each]) for each in alike], pace)
    orders: dict[tuple[int, int], Sequence[bytes]] = {}  # of subscriptions, without the topics that are used up
    target: dict[str, Assignment] = {}
    for member_id in (yield from _sorted_members(group, pace)):
        member = group.members[member_id]
        subscription = id(member.topic_ids)
        if alike[subscription] == 1:
            taken, _ = yield from _taken(member.topic_ids, ranges, pace)
            target[member_id] = {topic_id: taken[topic_id] for topic_id in _in_order(member, taken)}
            continue
        key = subscription, member.missing_topics
        topic_ids = orders[key] if key in orders else _in_order(member, member.topic_ids)
        target[member_id], is_any_used_up = yield from _taken(topic_ids, ranges, pace)
        if is_any_used_up:
            topic_ids = [topic_id for topic_id in topic_ids if ranges[topic_id].quota or ranges[topic_id].extra]
        orders[key] = topic_ids
    return {member_id: target[member_id] for member_id in group.members}


class _Ranges:
    """The partitions of one topic, taken range by range."""

    __slots__ = ("extra", "next", "quota")

    def __init__(self, partitions: int, subscribers: int) -> None:
        self.next = 0
        self.quota, self.extra = divmod(partitions, subscribers)


def _ranges(
    partition_counts: Mapping[bytes, int], subscriptions: Iterable[tuple[Sequence[bytes], int]], pace: "Pace"
) -> Generator[None, None, dict[bytes, _Ranges]]:
    """Of each topic; `subscriptions` are lists of topics, and how many members have each."""
    counts: dict[bytes, int] = {}
    for topic_ids, members in subscriptions:
        for part in in_parts(topic_ids):
            for topic_id in part:
                counts[topic_id] = counts.get(topic_id, 0) + members
            if pace.is_over(len(part)):
                yield
    ranges: dict[bytes, _Ranges] = {}
    for topic_id, count in counts.items():
        ranges[topic_id] = _Ranges(partition_counts[topic_id], count)
        if pace.is_over():
            yield
    return ranges


def _in_order(member: AssignorMember, topic_ids: Iterable[bytes]) -> list[bytes]:
    """Topics that a member is given partitions of in the order in which Java lists them."""
    table: JavaHashSet[bytes] = JavaHashSet(expected=capacity_for(len(member.topic_ids) + member.missing_topics))
    table.add_all(topic_ids)
    return table.keys_in_order()


def _taken(
    topic_ids: Sequence[bytes], ranges: Mapping[bytes, _Ranges], pace: "Pace"
) -> Generator[None, None, tuple[dict[bytes, tuple[int, ...]], bool]]:
    """The next subscriber's ranges, and whether topics are used up: when they have more subscribers than partitions."""
    taken: dict[bytes, tuple[int, ...]] = {}
    is_any_used_up = False
    units = 1
    for topic_id in topic_ids:
        of = ranges[topic_id]
        first, end = of.next, of.next + of.quota
        if of.extra:
            of.extra -= 1
            end += 1
        if end > first:
            of.next = end
            taken[topic_id] = tuple(range(first, end))
        if not of.quota and not of.extra:
            is_any_used_up = True
        units += 1 + end - first
        if units >= ENTRIES_PER_PART:
            if pace.is_over(units):
                yield
            units = 0
    if pace.is_over(units):
        yield
    return taken, is_any_used_up


def _sorted_members(group: AssignorGroup, pace: "Pace") -> Generator[None, None, list[str]]:
    """Static members by instance id, then the others by member id, both by UTF-16 code units as Java compares."""
    ranks: dict[str, tuple[bool, bytes]] = {}
    for member_id, member in group.members.items():
        name = member_id if member.instance_id is None else member.instance_id
        ranks[member_id] = member.instance_id is None, name.encode("utf-16-be", "surrogatepass")
        if pace.is_over():
            yield
    return sorted(ranks, key=ranks.__getitem__)

"""The assignor "simple" of share groups: partitions are shared when there are fewer of them than members (SGA).

When all members want the same topics, partitions of all topics are shared out together; otherwise each topic is shared
out among its own subscribers. Members are known by their index in walking order. Kafka: `SimpleAssignor`,
`SimpleHomogeneousAssignmentBuilder`, `SimpleHeterogeneousAssignmentBuilder`.
"""

from collections.abc import Iterable, Sequence
from math import ceil
from typing import Generic, TypeVar

from fakebroker.broker.core.groups.modern.assignments import (
    NOTHING,
    Assignment,
    AssignorGroup,
    OpenAssignment,
    closed,
    deep_copy,
    opened,
)
from fakebroker.broker.core.java_hash_map import JavaHashMap, JavaHashSet, capacity_for

K = TypeVar("K", int, tuple[bytes, int])


def assign(group: AssignorGroup) -> dict[str, Assignment]:
    """Give every member its target. In what comes out a topic may stand without partitions, as in Kafka's records."""
    subscribers: JavaHashMap[bytes, list[int]] = JavaHashMap()
    members = list(group.members.values())
    for index, member in enumerate(members):
        for topic_id in member.topic_ids:
            if topic_id in subscribers:
                subscribers[topic_id].append(index)
            else:
                subscribers[topic_id] = [index]
    if not subscribers:
        return dict.fromkeys(group.members, NOTHING)
    targets = _Targets([member.previous for member in members])
    if group.is_homogeneous:
        _share_topics_together(group, members[0].topic_ids, targets)
    else:
        for topic_id in subscribers.keys_in_order():
            _share_topic(group, topic_id, subscribers[topic_id], targets)
    return dict(zip(group.members, targets.closed(), strict=True))


def _share_topics_together(group: AssignorGroup, topic_ids: Sequence[bytes], targets: "_Targets") -> None:
    partitions = [(topic_id, p) for topic_id in topic_ids for p in _assignable(group, topic_id)]
    sharing: _Sharing[tuple[bytes, int]] = _Sharing(partitions, range(len(group.members)))
    wanted = frozenset(topic_ids)
    for index, previous in enumerate(targets.previous):
        for topic_id in previous.keys_in_order():
            if topic_id in wanted:
                for partition in previous[topic_id].keys_in_order():
                    sharing.hold(index, (topic_id, partition))
            else:
                del targets.open(index)[topic_id]
    for index, (topic_id, partition) in sharing.revoked():
        targets.take(index, topic_id, partition)
    for index, (topic_id, partition) in sharing.given(partitions):
        targets.give(index, topic_id, partition)


def _share_topic(group: AssignorGroup, topic_id: bytes, subscribers: Sequence[int], targets: "_Targets") -> None:
    partitions = _assignable(group, topic_id)
    sharing: _Sharing[int] = _Sharing(partitions, subscribers)
    for index, previous in enumerate(targets.previous):
        for partition in previous[topic_id].keys_in_order() if topic_id in previous else ():
            sharing.hold(index, partition)
    for index, partition in sharing.revoked():
        targets.take(index, topic_id, partition)
    for index, partition in sharing.given(partitions):
        targets.give(index, topic_id, partition)


def _assignable(group: AssignorGroup, topic_id: bytes) -> list[int]:
    partitions = range(group.partition_counts[topic_id])
    if group.assignable is None:
        return list(partitions)
    assignable = frozenset(group.assignable.get(topic_id, ()))
    return [partition for partition in partitions if partition in assignable]


class _Targets:
    """What each member had, and what it has instead once that was changed."""

    def __init__(self, previous: Sequence[Assignment]) -> None:
        self.given = previous
        self.previous = [opened(assignment) for assignment in previous]
        self.changed: dict[int, OpenAssignment] = {}

    def open(self, index: int) -> OpenAssignment:
        """The member's assignment, to be changed."""
        if index not in self.changed:
            self.changed[index] = deep_copy(self.previous[index])
        return self.changed[index]

    def take(self, index: int, topic_id: bytes, partition: int) -> None:
        """Take a partition from a member; its topic stays, even without partitions, as in Kafka."""
        del self.open(index)[topic_id][partition]

    def give(self, index: int, topic_id: bytes, partition: int) -> None:
        """Give a partition to a member."""
        self.open(index).compute_if_absent(topic_id, JavaHashSet).add(partition)

    def closed(self) -> Iterable[Assignment]:
        """The targets of all members, in walking order."""
        for index, given in enumerate(self.given):
            yield closed(self.changed[index]) if index in self.changed else given


class _Sharing(Generic[K]):
    """Who holds which of some partitions, and who should.

    `sharing` is how many members a partition should have, `wanted` how many partitions each subscriber should hold;
    others should hold none (SGA-1).
    """

    def __init__(self, partitions: Sequence[K], subscribers: Sequence[int]) -> None:
        self.sharing = -(-len(subscribers) // len(partitions)) if partitions else 0
        share = self.sharing * len(partitions) / len(subscribers)
        self.wanted = {member: ceil(share * (i + 1)) - ceil(share * i) for i, member in enumerate(subscribers)}
        self.holders: JavaHashMap[K, JavaHashSet[int]] = JavaHashMap(expected=capacity_for(len(partitions) + 1))
        self.held: dict[int, JavaHashSet[K]] = {}

    def hold(self, member: int, partition: K) -> None:
        """The member had the partition before."""
        self.holders.compute_if_absent(partition, JavaHashSet).add(member)
        self.held.setdefault(member, JavaHashSet()).add(partition)

    def revoked(self) -> list[tuple[int, K]]:
        """Take partitions from members that hold too many, then members from partitions that have too many (SGA-3)."""
        revoked: list[tuple[int, K]] = []
        for member, held in self.held.items():
            surplus = max(len(held) - self.wanted.get(member, 0), 0)
            revoked += [(member, partition) for partition in held.keys_in_order()[:surplus]]
        for member, partition in revoked:
            self._release(member, partition)
        for partition in self.holders.keys_in_order():
            holders = self.holders[partition].keys_in_order()
            for member in holders[: max(len(holders) - self.sharing, 0)]:
                self._release(member, partition)
                revoked.append((member, partition))
        return revoked

    def given(self, partitions: Iterable[K]) -> list[tuple[int, K]]:
        """Give `partitions` that lack members, in turn, to members that lack partitions (SGA-3).

        Nobody takes note of who has been given a partition just now: a member that is alone in lacking partitions may
        be given the same one twice, which uses up one of the partition's places.
        """
        for partition in partitions:
            self.holders.compute_if_absent(partition, JavaHashSet)
        turns = _Turns(sorted(member for member in self.wanted if self._lacks(member)))
        given: list[tuple[int, K]] = []
        for partition in self.holders.keys_in_order():
            for _ in range(self.sharing - len(self.holders[partition])):
                member = turns.next(self.holders[partition])
                if member is None:
                    break
                given.append((member, partition))
                self.held.setdefault(member, JavaHashSet()).add(partition)
                if not self._lacks(member):
                    turns.leave(member)
        return given

    def _lacks(self, member: int) -> bool:
        return len(self.held.get(member, ())) < self.wanted[member]

    def _release(self, member: int, partition: K) -> None:
        del self.held[member][partition]
        del self.holders[partition][member]


class _Turns:
    """Members take turns, round after round; when nobody took anything in a round, they do not begin another."""

    def __init__(self, members: list[int]) -> None:
        self._members = members
        self._round = list(members)
        self._any_taken = False

    def next(self, excluded: JavaHashSet[int]) -> int | None:
        """The next member that is not `excluded`; None when the round ends without anyone having taken something."""
        while True:
            if not self._round:
                if not self._any_taken:
                    return None
                self._round, self._any_taken = list(self._members), False
                if not self._round:
                    return None
            member = self._round.pop(0)
            if member not in excluded:
                self._any_taken = True
                return member

    def leave(self, member: int) -> None:
        """The member has enough: it takes no further turns."""
        self._members.remove(member)

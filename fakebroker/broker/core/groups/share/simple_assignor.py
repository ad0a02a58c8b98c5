"""The assignor "simple" of share groups: partitions are shared when there are fewer of them than members (SGA).

When all members want the same topics, partitions of all topics are shared out together; otherwise each topic is shared
out among its own subscribers. Members are known by their index in walking order. Kafka: `SimpleAssignor`,
`SimpleHomogeneousAssignmentBuilder`, `SimpleHeterogeneousAssignmentBuilder`.
"""

from collections import defaultdict
from collections.abc import Generator, Sequence
from math import ceil
from operator import attrgetter, sub
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from fakebroker.broker.core.groups.modern.assignments import (
    NOTHING,
    Assignment,
    AssignorGroup,
    AssignorMember,
    OpenAssignment,
    closed_in_steps,
    to_change,
)
from fakebroker.broker.core.java_hash_map import JavaHashMap, JavaHashSet, capacity_for
from fakebroker.protocol.pace import ENTRIES_PER_PART, in_parts

if TYPE_CHECKING:
    from fakebroker.protocol.pace import Pace

K = TypeVar("K", int, tuple[bytes, int])

_TOPIC_IDS: Final = attrgetter("topic_ids")

Steps = Generator[None, None, None]


def assign(group: AssignorGroup, pace: "Pace") -> Generator[None, None, dict[str, Assignment]]:
    """Give every member its target. In what comes out a topic may stand without partitions, as in Kafka's records."""
    members = list(group.members.values())
    if not any(map(_TOPIC_IDS, members)):
        return dict.fromkeys(group.members, NOTHING)
    targets = _Targets([member.previous for member in members], pace)
    if group.is_homogeneous:
        yield from _share_topics_together(group, members[0].topic_ids, targets)
    else:
        yield from _share_topics(group, (yield from _subscribers(members, pace)), targets)
    return dict(zip(group.members, (yield from targets.closed()), strict=True))


def _subscribers(
    members: Sequence[AssignorMember], pace: "Pace"
) -> Generator[None, None, JavaHashMap[bytes, list[int]]]:
    subscribers: JavaHashMap[bytes, list[int]] = JavaHashMap()
    for index, member in enumerate(members):
        for part in in_parts(member.topic_ids):
            for topic_id in part:
                if topic_id in subscribers:
                    subscribers[topic_id].append(index)
                else:
                    subscribers[topic_id] = [index]
            if pace.is_over(len(part)):
                yield
        if pace.is_over():
            yield
    return subscribers


def _share_topics_together(group: AssignorGroup, topic_ids: Sequence[bytes], targets: "_Targets") -> Steps:
    pace = targets.pace
    partitions: list[tuple[bytes, int]] = []
    for topic_id in topic_ids:
        partitions += [(topic_id, partition) for partition in _assignable(group, topic_id)]
        if pace.is_over(1 + group.partition_counts[topic_id]):
            yield
    sharing: _Sharing[tuple[bytes, int]] = _Sharing(partitions, range(len(group.members)), pace)
    wanted = frozenset(topic_ids)
    for index, previous in enumerate(targets.previous):
        for topic_id in _topics_in_order(previous):
            if topic_id in wanted:
                held = JavaHashSet.copy_of(previous[topic_id]).keys_in_order()
                yield from sharing.hold(index, [(topic_id, partition) for partition in held])
            else:
                yield from targets.open(index)
                del targets.changed[index][topic_id]
            if pace.is_over():
                yield
        if pace.is_over():
            yield
    yield from targets.take((yield from sharing.revoked()))
    yield from targets.give((yield from sharing.given(partitions)))


def _share_topics(group: AssignorGroup, subscribers: JavaHashMap[bytes, list[int]], targets: "_Targets") -> Steps:
    """Topic by topic. Of each only the members that had partitions of it are looked at, beside its subscribers."""
    pace = targets.pace
    holders: defaultdict[bytes, list[int]] = defaultdict(list)
    for index, previous in enumerate(targets.previous):
        for part in in_parts(list(previous)):
            for topic_id in part:
                holders[topic_id].append(index)
            if pace.is_over(len(part)):
                yield
        if pace.is_over():
            yield
    for topic_id in subscribers.keys_in_order():
        yield from _share_topic(group, topic_id, subscribers[topic_id], holders.get(topic_id, ()), targets)
        if pace.is_over(len(subscribers[topic_id]) + group.partition_counts[topic_id]):
            yield


def _share_topic(
    group: AssignorGroup, topic_id: bytes, subscribers: Sequence[int], holders: Sequence[int], targets: "_Targets"
) -> Steps:
    partitions = _assignable(group, topic_id)
    sharing: _Sharing[int] = _Sharing(partitions, subscribers, targets.pace)
    for index in holders:
        yield from sharing.hold(index, JavaHashSet.copy_of(targets.previous[index][topic_id]).keys_in_order())
    revoked = yield from sharing.revoked()
    yield from targets.take([(index, (topic_id, partition)) for index, partition in revoked])
    given = yield from sharing.given(partitions)
    yield from targets.give([(index, (topic_id, partition)) for index, partition in given])


def _topics_in_order(assignment: Assignment) -> list[bytes]:
    table: JavaHashMap[bytes, Sequence[int]] = JavaHashMap()
    table.put_all(assignment)
    return table.keys_in_order()


def _assignable(group: AssignorGroup, topic_id: bytes) -> list[int]:
    partitions = range(group.partition_counts[topic_id])
    if group.assignable is None:
        return list(partitions)
    assignable = frozenset(group.assignable.get(topic_id, ()))
    return [partition for partition in partitions if partition in assignable]


class _Targets:
    """What each member had, and what it has instead once that was changed."""

    def __init__(self, previous: Sequence[Assignment], pace: "Pace") -> None:
        self.pace = pace
        self.previous = previous
        self.changed: dict[int, OpenAssignment] = {}

    def open(self, index: int) -> Steps:
        """Open the member's assignment, to be changed."""
        if index not in self.changed:
            self.changed[index] = yield from to_change(self.previous[index], self.pace)
            if self.pace.is_over():
                yield

    def take(self, revoked: Sequence[tuple[int, tuple[bytes, int]]]) -> Steps:
        """Take partitions from members; their topics stay, even without partitions, as in Kafka."""
        for part in in_parts(revoked):
            for index, (topic_id, partition) in part:
                if index not in self.changed:
                    yield from self.open(index)
                del self.changed[index][topic_id][partition]
            if self.pace.is_over(len(part)):
                yield

    def give(self, given: Sequence[tuple[int, tuple[bytes, int]]]) -> Steps:
        """Give partitions to members."""
        for part in in_parts(given):
            for index, (topic_id, partition) in part:
                if index not in self.changed:
                    yield from self.open(index)
                self.changed[index].compute_if_absent(topic_id, JavaHashSet).add(partition)
            if self.pace.is_over(len(part)):
                yield

    def closed(self) -> Generator[None, None, list[Assignment]]:
        """The targets of all members, in walking order. What was opened is forgotten one by one: that takes time."""
        targets: list[Assignment] = []
        for index, previous in enumerate(self.previous):
            if index in self.changed:
                targets.append((yield from closed_in_steps(self.changed.pop(index), self.pace)))
            else:
                targets.append(previous)
            if self.pace.is_over():
                yield
        return targets


class _Sharing(Generic[K]):
    """Who holds which of some partitions, and who should.

    `sharing` is how many members a partition should have, `wanted` how many partitions each subscriber should hold;
    others should hold none (SGA-1).
    """

    def __init__(self, partitions: Sequence[K], subscribers: Sequence[int], pace: "Pace") -> None:
        self.pace = pace
        self.sharing = -(-len(subscribers) // len(partitions)) if partitions else 0
        share = self.sharing * len(partitions) / len(subscribers)
        ends = list(map(ceil, [share * number for number in range(len(subscribers) + 1)]))
        self.wanted = dict(zip(subscribers, map(sub, ends[1:], ends), strict=True))
        self.holders: JavaHashMap[K, JavaHashSet[int]] = JavaHashMap(expected=capacity_for(len(partitions) + 1))
        self.held: dict[int, JavaHashSet[K]] = {}

    def hold(self, member: int, partitions: Sequence[K]) -> Steps:
        """The member had the partitions before."""
        if member not in self.held:
            self.held[member] = JavaHashSet()
        self.held[member].add_all(partitions)
        for part in in_parts(partitions):
            for partition in part:
                self.holders.compute_if_absent(partition, JavaHashSet).add(member)
            if self.pace.is_over(len(part)):
                yield

    def revoked(self) -> Generator[None, None, list[tuple[int, K]]]:
        """Take partitions from members that hold too many, then members from partitions that have too many (SGA-3)."""
        revoked: list[tuple[int, K]] = []
        for member, held in self.held.items():
            surplus = len(held) - self.wanted.get(member, 0)
            if surplus > 0:
                revoked += [(member, partition) for partition in held.keys_in_order()[:surplus]]
            if self.pace.is_over():
                yield
        yield from self._release(revoked)
        too_many: list[tuple[int, K]] = []
        for part in in_parts(list(self.holders.items())):
            for partition, members in part:
                if len(members) > self.sharing:
                    surplus = len(members) - self.sharing
                    too_many += [(member, partition) for member in members.keys_in_order()[:surplus]]
            if self.pace.is_over(len(part)):
                yield
        yield from self._release(too_many)
        return revoked + too_many

    def given(self, partitions: Sequence[K]) -> Generator[None, None, list[tuple[int, K]]]:
        """Give `partitions` that lack members, in turn, to members that lack partitions (SGA-3).

        Nobody takes note of who has been given a partition just now: a member that is alone in lacking partitions may
        be given the same one twice, which uses up one of the partition's places.
        """
        sizes = dict.fromkeys(self.wanted, 0) | dict(zip(self.held, map(len, self.held.values()), strict=True))
        lacking = [member for member, wanted in self.wanted.items() if sizes[member] < wanted]
        given: list[tuple[int, K]] = []
        if not lacking:
            return given
        for part in in_parts(partitions):
            for partition in part:
                self.holders.compute_if_absent(partition, _nobody)
            if self.pace.is_over(len(part)):
                yield
        yield from self._give(_Turns(sorted(lacking)), sizes, given)
        return given

    def _give(self, turns: "_Turns", sizes: dict[int, int], given: list[tuple[int, K]]) -> Steps:
        units = 0
        for partition in self.holders.keys_in_order():
            holders, just = self.holders[partition], set[int]()
            for _ in range(self.sharing - len(holders)):
                member = turns.next(holders)
                if member is None:
                    return
                given.append((member, partition))
                if member not in just:
                    just.add(member)
                    sizes[member] += 1
                    if sizes[member] == self.wanted[member]:
                        turns.leave(member)
            units += 1 + len(just)
            if units >= ENTRIES_PER_PART:
                if self.pace.is_over(units):
                    yield
                units = 0
        self.pace.count(units)

    def _release(self, revoked: Sequence[tuple[int, K]]) -> Steps:
        for part in in_parts(revoked):
            for member, partition in part:
                del self.held[member][partition]
                del self.holders[partition][member]
            if self.pace.is_over(len(part)):
                yield


_NO_HOLDERS: Final = JavaHashSet[int]()


def _nobody() -> JavaHashSet[int]:
    """The holders of a partition that has none: nothing is added to them any more."""
    return _NO_HOLDERS


class _Turns:
    """Members take turns, round after round; when nobody took anything in a round, they do not begin another."""

    def __init__(self, members: list[int]) -> None:
        self._members = dict.fromkeys(members)
        self._round = iter(members)
        self._any_taken = False

    def next(self, excluded: JavaHashSet[int]) -> int | None:
        """The next member that is not `excluded`; None when the round ends without anyone having taken something.

        Then there is none any more, whoever is excluded.
        """
        while True:
            for member in self._round:
                if member not in excluded:
                    self._any_taken = True
                    return member
            if not self._any_taken or not self._members:
                return None
            self._round, self._any_taken = iter(list(self._members)), False

    def leave(self, member: int) -> None:
        """The member has enough: it takes no further turns."""
        del self._members[member]

"""The assignor "uniform" for groups whose members subscribe to different topics (CGA-20 to CGA-24).

Members are known by their index in walking order. Kafka: `UniformHeterogeneousAssignmentBuilder`.
"""

from collections import defaultdict
from collections.abc import Generator, Iterator, Mapping, Sequence
from functools import partial
from struct import unpack
from typing import TYPE_CHECKING

from fakebroker.broker.core.groups.modern.assignments import (
    NOTHING,
    Assignment,
    AssignorGroup,
    OpenAssignment,
    add_partitions,
    closed_in_steps,
    to_change,
)
from fakebroker.broker.core.java_hash_map import JavaHashSet, capacity_for
from fakebroker.protocol.pace import ENTRIES_PER_PART, in_parts

if TYPE_CHECKING:
    from fakebroker.protocol.pace import Pace

_MAX_ROUNDS = 16
_NOBODY = -1

Steps = Generator[None, None, None]


def assign(group: AssignorGroup, pace: "Pace") -> Generator[None, None, dict[str, Assignment]]:
    """Give every member its target: keep, hand out what is free, then balance."""
    work = _Work(group, pace)
    yield from work.prepare()
    if not work.subscribers:
        return dict.fromkeys(group.members, NOTHING)
    yield from work.keep()
    yield from work.hand_out()
    yield from work.balance()
    return (yield from work.target())


class _Work:
    """An assignment in the making: who owns which partition, and how many everybody has."""

    def __init__(self, group: AssignorGroup, pace: "Pace") -> None:
        self.pace = pace
        self.members = list(group.members.values())
        self.member_ids = list(group.members)
        self.partition_counts = group.partition_counts
        self.loads = [0] * len(self.members)
        self.subscribers: defaultdict[bytes, list[int]] = defaultdict(list)
        self.shared: list[bytes] = []  # topics with several subscribers
        self.owners: dict[bytes, list[int]] = {}
        self.ranks: dict[bytes, tuple[float, int, int, int]] = {}
        self.changed: dict[int, OpenAssignment] = {}  # of the members that do not simply keep their previous target

    def prepare(self) -> Steps:
        """Find the subscribers of each topic, and its rank."""
        subscribers = self.subscribers
        for index, member in enumerate(self.members):
            for part in in_parts(member.topic_ids):
                for topic_id in part:
                    subscribers[topic_id].append(index)
                if self.pace.is_over(len(part)):
                    yield
            if self.pace.is_over():
                yield
        for topic_id, of in subscribers.items():
            if len(of) > 1:
                self.shared.append(topic_id)
            count = self.partition_counts[topic_id]
            self.owners[topic_id] = [_NOBODY] * count
            self.ranks[topic_id] = _rank(topic_id, count, len(of))
            if self.pace.is_over():
                yield

    def target(self) -> Generator[None, None, dict[str, Assignment]]:
        """What has become of everybody. What was opened is forgotten one by one: that takes time, too."""
        target: dict[str, Assignment] = {}
        for index, member_id in enumerate(self.member_ids):
            if index in self.changed:
                target[member_id] = yield from closed_in_steps(self.changed.pop(index), self.pace)
            else:
                target[member_id] = self.members[index].previous
            if self.pace.is_over():
                yield
        return target

    def keep(self) -> Steps:
        """Everybody keeps the partitions of topics that it still subscribes to."""
        subscriptions: dict[int, frozenset[bytes]] = {}  # many members have the same
        for index, member in enumerate(self.members):
            alike = id(member.topic_ids)
            if alike not in subscriptions:
                subscriptions[alike] = frozenset(member.topic_ids)
            yield from self._keep(index, subscriptions[alike])
            if self.pace.is_over():
                yield

    def _keep(self, index: int, subscribed: frozenset[bytes]) -> Steps:
        previous = self.members[index].previous
        lost = [] if previous.keys() <= subscribed else [each for each in previous if each not in subscribed]
        if lost:
            yield from self._open(index)
            for topic_id in lost:
                del self.changed[index][topic_id]
                if self.pace.is_over():
                    yield
        units = 0
        for topic_id, partitions in previous.items():
            if topic_id in subscribed:
                owners = self.owners[topic_id]
                for partition in partitions:
                    owners[partition] = index
                units += 1 + len(partitions)
                self.loads[index] += len(partitions)
            if units >= ENTRIES_PER_PART:
                if self.pace.is_over(units):
                    yield
                units = 0
        self.pace.count(units)

    def hand_out(self) -> Steps:
        """Partitions that nobody owns go to the least loaded of their subscribers, in rounds (CGA-21)."""
        free: dict[bytes, list[int]] = {}
        for topic_id, of in self.owners.items():
            if _NOBODY in of:
                free[topic_id] = [partition for partition, owner in enumerate(of) if owner == _NOBODY]
            if self.pace.is_over(1 + len(of)):
                yield
        for topic_id in sorted(free, key=self.ranks.__getitem__):
            yield from self._hand_out(topic_id, free[topic_id])

    def _hand_out(self, topic_id: bytes, free: Sequence[int]) -> Steps:
        by_load, owners, loads = self._by_load(topic_id), self.owners[topic_id], self.loads
        receivers = self._least_loaded(by_load)
        given: defaultdict[int, list[int]] = defaultdict(list)
        for part in in_parts(free):
            for partition in part:
                _, receiver = next(receivers)
                given[receiver].append(partition)
                owners[partition] = receiver
                loads[receiver] += 1
            if self.pace.is_over(len(part)):
                yield
        make = self._maker(topic_id)
        for receiver, partitions in given.items():
            if receiver not in self.changed:
                yield from self._open(receiver)
            add_partitions(self.changed[receiver], topic_id, partitions, make)
            if self.pace.is_over():
                yield
        self.pace.count(len(by_load))

    def balance(self) -> Steps:
        """Move partitions from the most to the least loaded, topic by topic, as long as that helps (CGA-22).

        It ends with the first topic that was looked at before and since whose last move nothing was moved.
        """
        loads, topics = self.loads, sorted(self.shared, key=self.ranks.__getitem__)
        last_moved = None
        for _ in range(_MAX_ROUNDS):
            for topic_id in topics:
                if topic_id == last_moved:
                    return
                of = [loads[member] for member in self.subscribers[topic_id]]
                moved = max(of) - min(of) > 1 and (yield from self._balance_topic(topic_id))
                if moved or last_moved is None:
                    last_moved = topic_id
                if self.pace.is_over(len(of)):
                    yield

    def _balance_topic(self, topic_id: bytes) -> Generator[None, None, bool]:
        """Balance the subscribers of one topic; whether anything was moved."""
        by_load, make = self._by_load(topic_id), self._maker(topic_id)
        owned = yield from self._owned(topic_id)
        givers = _MostLoaded(by_load, self.loads, owned)
        receivers = self._least_loaded(by_load)
        moved = False
        while (giver := givers.next()) is not None:
            partition = owned[giver].pop()
            load, receiver = next(receivers)
            if givers.load - load <= 1:
                break
            for member in (giver, receiver):
                if member not in self.changed:
                    yield from self._open(member)
            self._move(topic_id, partition, receiver, make)
            moved = True
            if self.pace.is_over():
                yield
        return moved

    def _owned(self, topic_id: bytes) -> Generator[None, None, Mapping[int, list[int]]]:
        """The partitions of a topic that each of its subscribers has."""
        owned: dict[int, list[int]] = {member: [] for member in self.subscribers[topic_id]}
        owners = self.owners[topic_id]
        for part in in_parts(range(len(owners))):
            for partition in part:
                owned[owners[partition]].append(partition)
            if self.pace.is_over(len(part)):
                yield
        return owned

    def _by_load(self, topic_id: bytes) -> list[int]:
        """The subscribers of a topic, the least loaded first, equally loaded ones in walking order."""
        return sorted(self.subscribers[topic_id], key=self.loads.__getitem__)

    def _least_loaded(self, members: list[int]) -> Iterator[tuple[int, int]]:
        """For ever: who is to get the next partition, and the load that the round began with.

        In a round everybody who has the lowest load gets one; then the level rises, and who has that load already
        joins in. Loads are looked at while the caller changes them.
        """
        loads, count = self.loads, len(members)
        load, end = loads[members[0]], 0
        while True:
            while end < count and loads[members[end]] == load:
                end += 1
            for member in members[:end]:
                yield load, member
            load += 1

    def _maker(self, topic_id: bytes) -> "partial[JavaHashSet[int]]":
        """What makes the table of a member's partitions of a topic, with room for its share of them."""
        share = -(-len(self.owners[topic_id]) // len(self.subscribers[topic_id]))
        return partial(JavaHashSet, capacity_for(share))

    def _move(self, topic_id: bytes, partition: int, receiver: int, make: "partial[JavaHashSet[int]]") -> None:
        """Take a partition from its owner and give it to another. The assignments of both are open."""
        owner = self.owners[topic_id][partition]
        assignment = self.changed[owner]
        del assignment[topic_id][partition]
        if not assignment[topic_id]:
            del assignment[topic_id]
        self.loads[owner] -= 1
        self.changed[receiver].compute_if_absent(topic_id, make).add(partition)
        self.owners[topic_id][partition] = receiver
        self.loads[receiver] += 1

    def _open(self, index: int) -> Steps:
        """Open the member's assignment, to be changed."""
        if index not in self.changed:
            self.changed[index] = yield from to_change(self.members[index].previous, self.pace)
            if self.pace.is_over():
                yield


def _rank(topic_id: bytes, partitions: int, subscribers: int) -> tuple[float, int, int, int]:
    """Topics with the most partitions per subscriber come first; then those with fewer subscribers, then by id."""
    high, low = unpack(">qq", topic_id)
    return -partitions / subscribers, subscribers, high, low


class _MostLoaded:
    """Who is to give up the next partition of a topic: in rounds, as `_least_loaded`, from the other end.

    `load` is the load that the round began with. Members without a partition to give drop out; when a round has lost
    all of its members, the next one begins at the load of the most loaded member that is left.
    """

    def __init__(self, members: list[int], loads: list[int], owned: Mapping[int, Sequence[int]]) -> None:
        """`members` are in order of their load. `loads` may change, and `owned`, what each member has left to give."""
        self.load = loads[members[-1]] + 1
        self._loads = loads
        self._owned = owned
        self._lighter = list(members)  # not in the round yet
        self._round: list[int] = []
        self._left = 0  # how many of the round have not had their turn

    def next(self) -> int | None:
        """The member that gives up one; None if nobody can."""
        while True:
            if not self._left:
                self._begin_round()
            if not self._left:
                return None
            self._left -= 1
            member = self._round[self._left]
            if self._owned[member]:
                return member
            self._round[self._left] = self._round[-1]
            del self._round[-1]

    def _begin_round(self) -> None:
        if not self._round and self._lighter:
            self.load = self._loads[self._lighter[-1]]
        else:
            self.load -= 1
        lighter = self._lighter
        end = len(lighter)
        while end and self._loads[lighter[end - 1]] == self.load:
            end -= 1
        self._round[:0] = lighter[end:]
        del lighter[end:]
        self._left = len(self._round)

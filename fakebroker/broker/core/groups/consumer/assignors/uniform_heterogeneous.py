"""The assignor "uniform" for groups whose members subscribe to different topics (CGA-20 to CGA-24).

Members are known by their index in walking order. Kafka: `UniformHeterogeneousAssignmentBuilder`.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from fakebroker.broker.core.groups.modern.assignments import (
    NOTHING,
    Assignment,
    AssignorGroup,
    OpenAssignment,
    closed,
    deep_copy,
    opened,
)
from fakebroker.broker.core.java_hash_map import JavaHashSet, capacity_for

_MAX_ROUNDS = 16
_NOBODY = -1


def assign(group: AssignorGroup) -> dict[str, Assignment]:
    """Give every member its target: keep, hand out what is free, then balance."""
    work = _Work(group)
    if not work.subscribers:
        return dict.fromkeys(group.members, NOTHING)
    work.keep()
    work.hand_out()
    work.balance()
    return work.target()


class _Work:
    """An assignment in the making: who owns which partition, and how many everybody has."""

    def __init__(self, group: AssignorGroup) -> None:
        self.members = list(group.members.values())
        self.member_ids = list(group.members)
        self.loads = [0] * len(self.members)
        self.subscribers: dict[bytes, list[int]] = {}
        for index, member in enumerate(self.members):
            for topic_id in member.topic_ids:
                self.subscribers.setdefault(topic_id, []).append(index)
        self.owners = {topic_id: [_NOBODY] * group.partition_counts[topic_id] for topic_id in self.subscribers}
        self.changed: dict[int, OpenAssignment] = {}  # of the members that do not simply keep their previous target

    def target(self) -> dict[str, Assignment]:
        """What has become of everybody."""
        return {
            member_id: closed(self.changed[index]) if index in self.changed else self.members[index].previous
            for index, member_id in enumerate(self.member_ids)
        }

    def keep(self) -> None:
        """Everybody keeps the partitions of topics that it still subscribes to."""
        for index, member in enumerate(self.members):
            subscribed = set(member.topic_ids)
            for topic_id, partitions in member.previous.items():
                if topic_id not in subscribed:
                    del self._open(index)[topic_id]
                    continue
                self.loads[index] += len(partitions)
                for partition in partitions:
                    self.owners[topic_id][partition] = index

    def hand_out(self) -> None:
        """Partitions that nobody owns go to the least loaded of their subscribers, in rounds (CGA-21)."""
        free = {topic_id: [p for p, owner in enumerate(of) if owner == _NOBODY] for topic_id, of in self.owners.items()}
        for topic_id in self._topics_in_order(topic_id for topic_id in free if free[topic_id]):
            receivers = self._least_loaded(self._by_load(topic_id))
            for partition in free[topic_id]:
                _, receiver = next(receivers)
                self._move(topic_id, partition, receiver)

    def balance(self) -> None:
        """Move partitions from the most to the least loaded, topic by topic, as long as that helps (CGA-22).

        It ends with the first topic that was looked at before and since whose last move nothing was moved.
        """
        topics = self._topics_in_order(topic_id for topic_id, of in self.subscribers.items() if len(of) > 1)
        last_moved = None
        for _ in range(_MAX_ROUNDS):
            for topic_id in topics:
                if topic_id == last_moved:
                    return
                if self._balance_topic(topic_id) or last_moved is None:
                    last_moved = topic_id

    def _balance_topic(self, topic_id: bytes) -> bool:
        """Balance the subscribers of one topic; whether anything was moved."""
        by_load = self._by_load(topic_id)
        if self.loads[by_load[-1]] - self.loads[by_load[0]] <= 1:
            return False
        owned: dict[int, list[int]] = {}
        for partition, owner in enumerate(self.owners[topic_id]):
            owned.setdefault(owner, []).append(partition)
        givers = _MostLoaded(by_load, self.loads, lambda member: bool(owned.get(member)))
        receivers = self._least_loaded(by_load)
        moved = False
        while (giver := givers.next()) is not None:
            partition = owned[giver].pop()
            load, receiver = next(receivers)
            if givers.load - load <= 1:
                break
            self._move(topic_id, partition, receiver)
            moved = True
        return moved

    def _topics_in_order(self, topic_ids: Iterable[bytes]) -> list[bytes]:
        """Topics with the most partitions per subscriber first; then those with fewer subscribers, then by id."""

        def rank(topic_id: bytes) -> tuple[float, int, int, int]:
            subscribers = len(self.subscribers[topic_id])
            high, low = (int.from_bytes(half, signed=True) for half in (topic_id[:8], topic_id[8:]))
            return -len(self.owners[topic_id]) / subscribers, subscribers, high, low

        return sorted(topic_ids, key=rank)

    def _by_load(self, topic_id: bytes) -> list[int]:
        """The subscribers of a topic, the least loaded first, equally loaded ones in walking order."""
        return sorted(self.subscribers[topic_id], key=self.loads.__getitem__)

    def _least_loaded(self, members: list[int]) -> Iterator[tuple[int, int]]:
        """For ever: who is to get the next partition, and the load that the round began with.

        In a round everybody who has the lowest load gets one; then the level rises, and who has that load already
        joins in. Loads are looked at while the caller changes them.
        """
        load, end = self.loads[members[0]], 0
        while True:
            while end < len(members) and self.loads[members[end]] == load:
                end += 1
            for member in members[:end]:
                yield load, member
            load += 1

    def _move(self, topic_id: bytes, partition: int, receiver: int) -> None:
        """Take a partition from its owner, if it has one, and give it to another."""
        owner = self.owners[topic_id][partition]
        if owner != _NOBODY:
            assignment = self._open(owner)
            del assignment[topic_id][partition]
            if not assignment[topic_id]:
                del assignment[topic_id]
            self.loads[owner] -= 1
        share = -(-len(self.owners[topic_id]) // len(self.subscribers[topic_id]))
        partitions = self._open(receiver).compute_if_absent(topic_id, partial(JavaHashSet, capacity_for(share)))
        partitions.add(partition)
        self.owners[topic_id][partition] = receiver
        self.loads[receiver] += 1

    def _open(self, index: int) -> OpenAssignment:
        """The member's assignment, to be changed."""
        if index not in self.changed:
            self.changed[index] = deep_copy(opened(self.members[index].previous))
        return self.changed[index]


class _MostLoaded:
    """Who is to give up the next partition of a topic: in rounds, as `_least_loaded`, from the other end.

    `load` is the load that the round began with. Members without a partition to give drop out; when a round has lost
    all of its members, the next one begins at the load of the most loaded member that is left.
    """

    def __init__(self, members: list[int], loads: list[int], can_give: Callable[[int], bool]) -> None:
        """`members` are in order of their load. `loads` may change; `can_give` says whether a member has one left."""
        self.load = loads[members[-1]] + 1
        self._loads = loads
        self._can_give = can_give
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
            if self._can_give(member):
                return member
            self._round[self._left] = self._round[-1]
            self._round.pop()

    def _begin_round(self) -> None:
        if not self._round and self._lighter:
            self.load = self._loads[self._lighter[-1]]
        else:
            self.load -= 1
        while self._lighter and self._loads[self._lighter[-1]] == self.load:
            self._round.insert(0, self._lighter.pop())
        self._left = len(self._round)

"""Random histories of a group for its assignor: joins, leaves, other subscriptions, new partitions.

history = AssignorHistory(Random(7))
group = history.step()         # what the assignor gets
history.adopt(assign(group))   # its answer, which the next step begins with
"""

from collections.abc import Collection, Mapping
from random import Random
from typing import NamedTuple

from fakebroker.broker.core.groups.modern.assignments import (
    NOTHING,
    Assignment,
    AssignorGroup,
    AssignorMember,
    is_homogeneous,
    members_in_order,
    same_partitions,
    topic_ids_of,
)
from fakebroker.broker.core.groups.modern.member_table import MemberTable


class Wish(NamedTuple):
    """What a member says of itself."""

    instance_id: str | None
    topics: tuple[str, ...]


class AssignorHistory:
    """One group. `shares` makes it a share group, in which only initialized partitions may be assigned."""

    def __init__(self, random: Random, *, shares: bool = False) -> None:
        self.random = random
        names = [f"topic-{i}" for i in range(random.choice([1, 1, 2, 3, 5, 14]))]
        self.ids = {name: random.randbytes(16) for name in names}
        self.counts = {name: random.randint(1, random.choice([3, 8, 40])) for name in names}
        self.initialized = (
            {name: self._some_of(range(count)) for name, count in self.counts.items()} if shares else None
        )
        self.usual_topics = tuple(sorted(random.sample(names, random.randint(1, len(names)))))
        self.is_of_one_mind = random.random() < 0.5
        self.max_members = random.choice([3, 8, 12, 30])
        self.table: MemberTable[Wish] = MemberTable()
        self.target: dict[str, Assignment] = {}

    def step(self) -> AssignorGroup:
        """Let something happen, and tell what the assignor is asked for."""
        member_id, wish = self._heartbeat()
        order = members_in_order(self.table.in_order(), member_id)
        wishes = {each: wish if each == member_id else self.table[each] for each in order}
        self.table[member_id] = wish
        self.table[member_id] = wish  # the record of what it has
        return AssignorGroup(
            {
                each: AssignorMember(
                    topic_ids_of(said.topics, self.ids.get), self.target.get(each, NOTHING), said.instance_id
                )
                for each, said in wishes.items()
            },
            {self.ids[name]: count for name, count in self.counts.items()},
            is_homogeneous((said.topics, None) for said in wishes.values()),
            None if self.initialized is None else {self.ids[name]: some for name, some in self.initialized.items()},
        )

    def adopt(self, target: Mapping[str, Assignment]) -> None:
        """Store the targets as a group does: one that has the same partitions as before is not written again."""
        for member_id, assignment in target.items():
            if not same_partitions(self.target.get(member_id, NOTHING), assignment):
                self.target[member_id] = assignment

    def _heartbeat(self) -> tuple[str, Wish]:
        """The member whose heartbeat finds that something has changed, and what it says."""
        random, chance = self.random, self.random.random()
        if self.table and chance < 0.25:
            gone = random.choice(list(self.table))
            del self.table[gone]
            self.target.pop(gone, None)
        if not self.table or (0.25 <= chance < 0.7 and len(self.table) < self.max_members):
            instance_id = f"instance-{random.randrange(10**6)}" if random.random() < 0.3 else None
            return f"member-{random.randrange(10**9)}", Wish(instance_id, self._topics())
        member_id = random.choice(list(self.table))
        wish = self.table[member_id]
        if 0.7 <= chance < 0.9:
            wish = wish._replace(topics=self._topics())
        elif chance >= 0.9:
            self._grow(random.choice(list(self.counts)))
        return member_id, wish

    def _topics(self) -> tuple[str, ...]:
        if self.is_of_one_mind:
            return self.usual_topics
        names = list(self.counts)
        return tuple(sorted(self.random.sample(names, self.random.randint(0, len(names)))))

    def _grow(self, name: str) -> None:
        self.counts[name] += self.random.randint(1, 4)
        if self.initialized is not None:
            self.initialized[name] = {*self.initialized[name], *self._some_of(range(self.counts[name]))}

    def _some_of(self, partitions: Collection[int]) -> set[int]:
        share = self.random.choice([1, 0.7])
        return {partition for partition in partitions if self.random.random() < share}

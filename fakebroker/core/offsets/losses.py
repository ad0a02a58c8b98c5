"""What expired: told to the journal, and kept so that `explain` can still tell of it when the group is gone.

A loss holds references to what the cleanup saw; who wants to know more gets it computed by the decision that the
cleanup itself used. The youngest groups and, of each, the youngest passes are remembered.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from fakebroker.core.offsets.expiry import Aging, judge
from fakebroker.records.offsets_topic import StoredOffset

_GROUPS: Final = 200_000
_PASSES_PER_GROUP: Final = 16


class OffsetExpired(NamedTuple):
    """One committed offset that was dropped by the cleanup (EX-8). `rule` names the rule that decided."""

    group_id: str
    topic: str
    partition: int
    offset: int
    committed_ms: int
    due_ms: int
    rule: str


class OffsetsExpired(NamedTuple):
    """What one pass of the cleanup took from one group, in which state, and how its offsets aged: an event."""

    group_id: str
    state: str
    pass_ms: int
    aging: Aging
    offsets: list[StoredOffset]

    def each(self) -> Iterator[OffsetExpired]:
        """The offsets one by one."""
        for stored in self.offsets:
            topic, partition, offset, _, _, commit_ms, _, _ = stored
            rule, _, due_ms = judge(self.aging, stored)
            yield OffsetExpired(self.group_id, topic, partition, offset, commit_ms, due_ms, rule)


class Losses:
    """Losses by group."""

    def __init__(self) -> None:
        self._by_group: dict[str, list[OffsetsExpired]] = {}

    def add(self, loss: OffsetsExpired) -> None:
        """A pass took something."""
        known = self._by_group.pop(loss.group_id, [])  # and back at the end: the youngest
        self._by_group[loss.group_id] = [*known[1 - _PASSES_PER_GROUP :], loss]
        if len(self._by_group) > _GROUPS:
            del self._by_group[next(iter(self._by_group))]

    def of(self, group_id: str) -> list[OffsetsExpired]:
        """What the group lost, oldest first."""
        return self._by_group.get(group_id, [])

"""What has expired: an event for the journal, also kept so that `explain` can report it when the group is gone.

An expiration holds references to what the cleanup saw; due time and rule are computed from that only when
`explain` or the journal is read, by the function that the cleanup itself used. Kept are the latest `_PASSES_PER_GROUP`
expirations of each of the `_GROUPS` groups that had one last.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from fakebroker.broker.core.offsets.expiry import Aging, evaluate
from fakebroker.protocol.records.offsets_topic import CommittedOffset, StoredOffset

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
    """The event that one pass of the cleanup expired offsets of one group: which, in which state, how they aged."""

    group_id: str
    state: str
    pass_ms: int
    aging: Aging
    offsets: list[StoredOffset]

    @property
    def parts(self) -> int:
        """How many there are."""
        return len(self.offsets)

    def each(self) -> Iterator[OffsetExpired]:
        """The offsets one by one, each with its due time and the rule that decided."""
        for stored in self.offsets:
            offset = CommittedOffset._make(stored)
            rule, _, due_ms = evaluate(self.aging, stored)
            yield OffsetExpired(
                self.group_id, offset.topic, offset.partition, offset.offset, offset.commit_ms, due_ms, rule
            )


class Expirations:
    """The latest expirations by group."""

    def __init__(self) -> None:
        self._by_group: dict[str, list[OffsetsExpired]] = {}

    def add(self, expiration: OffsetsExpired) -> None:
        """Keep the expiration, and drop the oldest beyond the limits."""
        known = self._by_group.pop(expiration.group_id, [])  # and back in at the end, as the latest
        self._by_group[expiration.group_id] = [*known[1 - _PASSES_PER_GROUP :], expiration]
        if len(self._by_group) > _GROUPS:
            del self._by_group[next(iter(self._by_group))]

    def __iter__(self) -> Iterator[OffsetsExpired]:
        """All of them, so that adding them in this order again gives the same."""
        for expirations in self._by_group.values():
            yield from expirations

    def of(self, group_id: str) -> list[OffsetsExpired]:
        """The remembered expirations of the group, oldest first."""
        return self._by_group.get(group_id, [])

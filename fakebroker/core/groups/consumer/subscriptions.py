"""Which topics the members of a consumer group read, by name and by pattern."""

from collections.abc import Mapping

from fakebroker.core.groups.consumer.member import MemberMetadata
from fakebroker.core.groups.consumer.patterns import ResolvedPattern
from fakebroker.core.groups.modern.member_table import MemberTable
from fakebroker.core.groups.modern.tallies import tally


class Subscriptions:
    """How many members name each topic, and how many have each pattern; kept up to date member by member."""

    __slots__ = ("names", "patterns")

    def __init__(self) -> None:
        self.names: dict[str, int] = {}
        self.patterns: MemberTable[int] = MemberTable()

    def copy(self) -> "Subscriptions":
        """Another one that says the same, for what would be after a step."""
        copy = Subscriptions()
        copy.names = dict(self.names)
        copy.patterns.update(self.patterns)
        return copy

    def replace(self, before: MemberMetadata | None, after: MemberMetadata | None) -> bool:
        """A member tells `after` instead of `before`; None: it is no member. Returns whether the union may differ."""
        if before is not None and after is not None and before.subscribes_as(after):
            return False
        changed = self._count(before, -1) if before is not None else False
        return (self._count(after, 1) if after is not None else False) or changed

    def topics(self, resolved: Mapping[str, ResolvedPattern]) -> frozenset[str]:
        """The names of all topics that some member reads, whether they exist or not."""
        by_pattern = (resolved[pattern].topics for pattern in self.patterns if pattern in resolved)
        return frozenset(self.names).union(*by_pattern)

    def _count(self, metadata: MemberMetadata, by: int) -> bool:
        names_changed = tally(self.names, metadata.topic_names, by)
        patterns_changed = tally(self.patterns, (metadata.pattern,) if metadata.pattern else (), by)
        return names_changed or patterns_changed

"""Which topics the members of a consumer group read: by name and by pattern, and by id for those that exist."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from fakebroker.broker.core.groups.consumer.member import MemberMetadata
from fakebroker.broker.core.groups.modern.assignments import topic_ids_of
from fakebroker.broker.core.groups.modern.member_table import MemberTable
from fakebroker.broker.core.groups.modern.subscription_counts import add_to_counts

if TYPE_CHECKING:
    from fakebroker.broker.core.topics import Topics


class ResolvedPattern(NamedTuple):
    """What a pattern was resolved to: the record of type 16. `topics` are sorted."""

    topics: tuple[str, ...]
    version: int
    resolved_ms: int


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
        names_changed = add_to_counts(self.names, metadata.topic_names, by)
        patterns_changed = add_to_counts(self.patterns, (metadata.pattern,) if metadata.pattern else (), by)
        return names_changed or patterns_changed


class TopicIds:
    """The ids for one target; members that subscribe alike are looked up once.

    `partition_counts` has the number of partitions of each topic as it was when the topic was looked up last.
    """

    def __init__(self, patterns: Mapping[str, ResolvedPattern], topics: "Topics") -> None:
        """`patterns` is what the patterns of the group were resolved to."""
        self._patterns = patterns
        self._topics = topics
        self._known: dict[tuple[tuple[str, ...], str], tuple[bytes, ...]] = {}
        self.partition_counts: dict[bytes, int] = {}

    def of(self, metadata: MemberMetadata) -> tuple[bytes, ...]:
        """The ids of the existing topics that a member subscribes to."""
        key = metadata.topic_names, metadata.pattern
        found = self._known.get(key)
        if found is None:
            resolved = self._patterns.get(metadata.pattern)
            found = topic_ids_of(metadata.topic_names, self._topic_id, () if resolved is None else resolved.topics)
            self._known[key] = found
        return found

    def set_of(self, metadata: MemberMetadata) -> frozenset[bytes]:
        """The same in no order, which is all that a reconciliation needs: to find Java's takes ten times as long."""
        found = (self._topics.get(name) for name in self._names_of(metadata))
        return frozenset(topic.id for topic in found if topic is not None)

    def missing_of(self, metadata: MemberMetadata) -> int:
        """How many topics that it subscribes to do not exist."""
        return len(dict.fromkeys(self._names_of(metadata))) - len(self.of(metadata))

    def _names_of(self, metadata: MemberMetadata) -> tuple[str, ...]:
        resolved = self._patterns.get(metadata.pattern)
        return metadata.topic_names if resolved is None else (*metadata.topic_names, *resolved.topics)

    def _topic_id(self, name: str) -> bytes | None:
        topic = self._topics.get(name)
        if topic is None:
            return None
        self.partition_counts[topic.id] = len(topic.partitions)
        return topic.id

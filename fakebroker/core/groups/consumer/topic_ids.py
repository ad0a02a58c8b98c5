"""The topics that members of a consumer group subscribe to, by id."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fakebroker.core.groups.consumer.member import MemberMetadata
from fakebroker.core.groups.consumer.patterns import ResolvedPattern
from fakebroker.core.groups.modern.assignments import topic_ids_of

if TYPE_CHECKING:
    from fakebroker.core.topics import Topics


class TopicIds:
    """The ids for one step; members that subscribe alike are looked up once."""

    def __init__(self, patterns: Mapping[str, ResolvedPattern], topics: "Topics") -> None:
        """`patterns` is what the patterns of the group were resolved to."""
        self._patterns = patterns
        self._topics = topics
        self._known: dict[tuple[tuple[str, ...], str], tuple[bytes, ...]] = {}

    def of(self, metadata: MemberMetadata) -> tuple[bytes, ...]:
        """The ids of the existing topics that a member subscribes to."""
        key = metadata.topic_names, metadata.pattern
        found = self._known.get(key)
        if found is None:
            resolved = self._patterns.get(metadata.pattern)
            found = topic_ids_of(metadata.topic_names, self._topic_id, () if resolved is None else resolved.topics)
            self._known[key] = found
        return found

    def missing_of(self, metadata: MemberMetadata) -> int:
        """How many topics that it subscribes to do not exist."""
        resolved = self._patterns.get(metadata.pattern)
        names = dict.fromkeys(metadata.topic_names if resolved is None else (*metadata.topic_names, *resolved.topics))
        return len(names) - len(self.of(metadata))

    def partition_counts(self) -> Mapping[bytes, int]:
        """The number of partitions of each topic that was asked for."""
        counts: dict[bytes, int] = {}
        for topic_ids in self._known.values():
            for topic_id in topic_ids:
                topic = self._topics.by_id(topic_id)
                counts[topic_id] = 0 if topic is None else len(topic.partitions)
        return counts

    def _topic_id(self, name: str) -> bytes | None:
        topic = self._topics.get(name)
        return None if topic is None else topic.id

"""Which share partitions of a group have a state at the share coordinator: what its record of type 15 says.

Kafka: `ShareGroupStatePartitionMetadataInfo` and its `InitMapValue`.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from fakebroker.broker.core.topics import Topics

Partitions = Mapping[bytes, "TopicPartitions"]  # by topic id


class TopicPartitions(NamedTuple):
    """Partitions of one topic, ascending."""

    name: str
    partitions: tuple[int, ...]


class StatePartitions(NamedTuple):
    """One group's. No value is ever changed.

    `initializing` have been asked for, at `since_ms` (wall time) at the latest; `initialized` have a state;
    `deleting` are topics, id to name, whose states are being deleted.
    """

    initializing: Partitions = {}
    initialized: Partitions = {}
    deleting: Mapping[bytes, str] = {}
    since_ms: int = -1

    def topic_ids(self) -> dict[bytes, None]:
        """All topics, each once."""
        return dict.fromkeys([*self.initializing, *self.initialized, *self.deleting])

    def topic_names(self) -> frozenset[str]:
        """The names of all topics."""
        stated = [each.name for known in (self.initializing, self.initialized) for each in known.values()]
        return frozenset([*stated, *self.deleting.values()])

    def to_initialize(self, topic_names: Iterable[str], topics: "Topics", retry_ms: int, now_ms: int) -> Partitions:
        """The existing partitions of these topics that have no state and were not asked for within `retry_ms` (SGH-10).

        `now_ms` is wall time, as `since_ms`.
        """
        is_late = now_ms - self.since_ms >= retry_ms
        known = self.initialized if is_late else united(self.initialized, self.initializing)
        lacking: dict[bytes, TopicPartitions] = {}
        for name in topic_names:
            topic = topics.get(name)
            if topic is None:
                continue
            has = frozenset(known[topic.id].partitions if topic.id in known else ())
            if len(has) < len(topic.partitions):
                lacks = tuple(index for index in range(len(topic.partitions)) if index not in has)
                lacking[topic.id] = TopicPartitions(name, lacks)
        return lacking

    def began(self, partitions: Partitions) -> "StatePartitions":
        """These are asked for now; those that have a state keep it (SGO-4)."""
        return self._replace(initializing=united(self.initializing, partitions))

    def succeeded(self, partitions: Partitions) -> "StatePartitions":
        """These have a state."""
        return self.failed(partitions)._replace(initialized=united(self.initialized, partitions))

    def failed(self, partitions: Partitions) -> "StatePartitions":
        """These were not given a state: the next heartbeat asks again."""
        return self._replace(initializing=without(self.initializing, partitions))

    def deletion_began(self, is_meant: Callable[[bytes], bool]) -> "StatePartitions":
        """The states of the topics that are meant are being deleted."""
        gone = {
            topic_id: each.name
            for known in (self.initializing, self.initialized)
            for topic_id, each in known.items()
            if is_meant(topic_id)
        }
        kept = self.forgot(gone)
        return kept._replace(deleting={**self.deleting, **gone})

    def forgot(self, topic_ids: Iterable[bytes]) -> "StatePartitions":
        """These topics have no state, and none is being deleted."""
        gone = dict.fromkeys(topic_ids)
        return self._replace(
            initializing={topic_id: each for topic_id, each in self.initializing.items() if topic_id not in gone},
            initialized={topic_id: each for topic_id, each in self.initialized.items() if topic_id not in gone},
            deleting={topic_id: name for topic_id, name in self.deleting.items() if topic_id not in gone},
        )


def united(some: Partitions, more: Partitions) -> Partitions:
    """The partitions that are in either."""
    both = dict(some)
    for topic_id, (name, partitions) in more.items():
        before = both[topic_id].partitions if topic_id in both else ()
        both[topic_id] = TopicPartitions(name, tuple(sorted({*before, *partitions})))
    return both


def without(some: Partitions, fewer: Partitions) -> Partitions:
    """The partitions that are in the first only."""
    left: dict[bytes, TopicPartitions] = {}
    for topic_id, (name, partitions) in some.items():
        gone = frozenset(fewer[topic_id].partitions if topic_id in fewer else ())
        kept = tuple(index for index in partitions if index not in gone)
        if kept:
            left[topic_id] = TopicPartitions(name, kept)
    return left

"""The topology of a streams application: its subtopologies, and the topics that they read and write (STT-1).

Members send it when they join; a group stores it as a record of type 23. Kafka: `StreamsTopology`.
"""

from collections.abc import Iterable
from functools import cached_property

from fakebroker.broker.core.java_hash_map import JavaHashMap
from fakebroker.protocol.records.streams_group_schema import InternalTopic, StreamsGroupTopologyValue, Subtopology


class Topology:
    """A topology as it was sent. It never changes, and neither may `value`, which is the value of its record.

    `subtopologies` are by id, in the order of Java's hash map, in which Kafka decides one after the other;
    `has_repeated_id` says whether two have the same id, so that no group can take the topology.
    """

    def __init__(self, value: StreamsGroupTopologyValue) -> None:
        self.value = value
        self.epoch = value.epoch
        by_id: dict[str, Subtopology] = {each.subtopology_id: each for each in value.subtopologies}
        self.has_repeated_id = len(by_id) < len(value.subtopologies)
        self.subtopologies = {subtopology_id: by_id[subtopology_id] for subtopology_id in in_hash_order(by_id)}

    @cached_property
    def source_topics(self) -> dict[str, str]:
        """What tasks read: each source and repartition source topic with the id of the subtopology that reads it."""
        return {
            topic: subtopology.subtopology_id
            for subtopology in self.subtopologies.values()
            for topic in inputs_of(subtopology)
        }

    @cached_property
    def names_of_sources(self) -> frozenset[str]:
        """The same topics without the subtopologies."""
        return frozenset(self.source_topics)

    @cached_property
    def required_topics(self) -> tuple[str, ...]:
        """All topics that have to exist, in alphabetical order: what tasks read, and changelogs."""
        changelogs = (topic.name for each in self.subtopologies.values() for topic in each.state_changelog_topics)
        return tuple(sorted(dict.fromkeys((*self.source_topics, *changelogs))))

    def is_same(self, other: "Topology") -> bool:
        """Whether a member that sends `other` has this very topology; lists in another order make it another one."""
        return self.epoch == other.epoch and self.subtopologies == other.subtopologies


def inputs_of(subtopology: Subtopology) -> list[str]:
    """The topics that a subtopology reads: its source topics, then its repartition source topics."""
    return [*subtopology.source_topics, *(topic.name for topic in subtopology.repartition_source_topics)]


def repartition_sources(topology: Topology) -> list[InternalTopic]:
    """The repartition topics that some subtopology reads, in the order of the topology."""
    return [topic for each in topology.subtopologies.values() for topic in each.repartition_source_topics]


def in_hash_order(names: Iterable[str]) -> list[str]:
    """Names as a `java.util.HashMap` lists them to which they were added one after the other."""
    table: JavaHashMap[str, None] = JavaHashMap()
    for name in names:
        table[name] = None
    return table.keys_in_order()

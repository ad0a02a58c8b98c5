"""A topology held against the topics that exist: the tasks of each subtopology, or what is missing (STT-4 to STT-9).

Kafka: `InternalTopicManager`, `ConfiguredTopology`.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from fakebroker.broker.core.groups.streams.partition_counts import (
    ExistingCount,
    PartitionCounts,
    UnsuitableTopics,
    decide_partition_counts,
    tasks_count,
)
from fakebroker.broker.core.groups.streams.states import StatusCode
from fakebroker.broker.core.groups.streams.topology import Topology
from fakebroker.broker.core.java_hash_map import JavaHashMap
from fakebroker.protocol.records.streams_group_schema import InternalTopic as DeclaredTopic
from fakebroker.protocol.records.streams_group_schema import Subtopology

_NAMED = 3  # so many missing topics are named in a status, the others counted


class InternalTopic(NamedTuple):
    """An internal topic with its decided number of partitions; a replication factor of 0 is the broker's default."""

    name: str
    partitions: int
    replication_factor: int
    configs: Mapping[str, str]


class ConfiguredSubtopology(NamedTuple):
    """A subtopology whose partition counts are decided; topics are in the order of the topology."""

    subtopology_id: str
    tasks: int
    source_topics: tuple[str, ...]
    repartition_sources: tuple[InternalTopic, ...]
    repartition_sinks: tuple[str, ...]
    changelogs: tuple[InternalTopic, ...]

    @property
    def is_stateful(self) -> bool:
        """Whether its tasks have state that standby tasks copy (STA-5)."""
        return bool(self.changelogs)


class Status(NamedTuple):
    """One entry of the status list that heartbeats are answered with."""

    code: StatusCode
    detail: str


class ConfiguredTopology(NamedTuple):
    """What a topology comes to with the topics that exist.

    `subtopologies` are in alphabetical order of their ids; None: it could not be decided. `missing` are internal topics
    to be created. `problem` is the status that members get; without one the topology is ready, and tasks are assigned.
    """

    epoch: int
    subtopologies: Mapping[str, ConfiguredSubtopology] | None
    missing: tuple[InternalTopic, ...]
    problem: Status | None

    @property
    def is_ready(self) -> bool:
        """Whether tasks can be assigned."""
        return self.problem is None


def configure(topology: Topology, existing: ExistingCount) -> ConfiguredTopology:
    """Hold a topology against the topics that exist; `existing` gives their partition counts.

    Raises KafkaError STREAMS_INVALID_TOPOLOGY if the topology can never be ready (STT-6).
    """
    try:
        _check_sources(topology, existing)
        counts = decide_partition_counts(topology, existing)
        ids = sorted(topology.subtopologies)
        subtopologies = {each: _configured(topology.subtopologies[each], counts) for each in ids}
        missing = _missing(topology, subtopologies, existing)
    except UnsuitableTopics as error:
        return ConfiguredTopology(topology.epoch, None, (), Status(error.status, error.detail))
    problem = None
    if missing:
        named = _summary([topic.name for topic in missing])
        problem = Status(StatusCode.MISSING_INTERNAL_TOPICS, f"internal topics are missing: {named}")
    return ConfiguredTopology(topology.epoch, subtopologies, missing, problem)


def _check_sources(topology: Topology, existing: ExistingCount) -> None:
    sources = (topic for each in topology.subtopologies.values() for topic in each.source_topics)
    missing = sorted(dict.fromkeys(topic for topic in sources if existing(topic) is None))
    if missing:
        raise UnsuitableTopics(StatusCode.MISSING_SOURCE_TOPICS, f"source topics are missing: {_summary(missing)}")


def _configured(subtopology: Subtopology, counts: PartitionCounts) -> ConfiguredSubtopology:
    return ConfiguredSubtopology(
        subtopology.subtopology_id,
        tasks_count(subtopology, counts),
        tuple(subtopology.source_topics),
        _decided(subtopology.repartition_source_topics, counts),
        tuple(subtopology.repartition_sink_topics),
        _decided(subtopology.state_changelog_topics, counts),
    )


def _decided(topics: Iterable[DeclaredTopic], counts: PartitionCounts) -> tuple[InternalTopic, ...]:
    return tuple(
        InternalTopic(
            topic.name,
            topic.partitions or counts.decided[topic.name],
            topic.replication_factor,
            {config.key: config.value for config in topic.topic_configs},
        )
        for topic in topics
    )


def _missing(
    topology: Topology, subtopologies: Mapping[str, ConfiguredSubtopology], existing: ExistingCount
) -> tuple[InternalTopic, ...]:
    """The internal topics that do not exist, in the order in which Kafka's hash map lists them.

    Raises UnsuitableTopics if one that exists has another partition count than was decided (STT-9).
    """
    table: JavaHashMap[str, InternalTopic] = JavaHashMap()
    for subtopology in subtopologies.values():
        for topic in (*subtopology.repartition_sources, *subtopology.changelogs):
            table[topic.name] = topic
    for name in topology.required_topics:
        count = existing(name)
        if count is None or name not in table:
            continue
        expected = table[name].partitions
        if expected != count:
            raise UnsuitableTopics(
                StatusCode.INCORRECTLY_PARTITIONED_TOPICS,
                f"topic {name} exists with {count} partitions and must have {expected}",
            )
        del table[name]
    return tuple(table[name] for name in table.keys_in_order())


def _summary(names: list[str]) -> str:
    """Names for a status: the first ones, and how many more there are."""
    named = ", ".join(names[:_NAMED])
    return named if len(names) <= _NAMED else f"{named} and {len(names) - _NAMED} more"

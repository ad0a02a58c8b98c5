"""Where partitions are processed: what members tell each other for interactive queries (STP).

Kafka: `EndpointToPartitionsManager`.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from fakebroker.broker.core.groups.streams.internal_topics import ConfiguredSubtopology
from fakebroker.broker.core.groups.streams.member import Endpoint, StreamsMember
from fakebroker.broker.core.groups.streams.partition_counts import ExistingCount
from fakebroker.broker.core.groups.streams.tasks import Task, partitions_by_subtopology
from fakebroker.broker.core.groups.streams.topology import in_hash_order
from fakebroker.protocol.errors import ErrorCode, KafkaError

TopicPartitions = tuple[tuple[str, tuple[int, ...]], ...]
"""Topics with partitions; a topic that two subtopologies read is there twice."""


class EndpointPartitions(NamedTuple):
    """One endpoint, and the partitions of the topics that are read there, by active and by standby tasks."""

    endpoint: Endpoint
    active: TopicPartitions
    standby: TopicPartitions


def endpoints_of(
    members: Iterable[StreamsMember], subtopologies: Mapping[str, ConfiguredSubtopology], existing: ExistingCount
) -> tuple[EndpointPartitions, ...]:
    """What is processed at the endpoints of the members that have one, in the order of the members (STP-2).

    `existing` gives the partition counts of topics. Raises KafkaError UNKNOWN_SERVER_ERROR if a topic is gone.
    """
    return tuple(
        EndpointPartitions(
            member.metadata.endpoint,
            _topic_partitions(member.current.assigned.active, subtopologies, existing),
            _topic_partitions(member.current.assigned.standby, subtopologies, existing),
        )
        for member in members
        if member.metadata.endpoint is not None
    )


def _topic_partitions(
    tasks: Iterable[Task], subtopologies: Mapping[str, ConfiguredSubtopology], existing: ExistingCount
) -> TopicPartitions:
    """The partitions that tasks in ascending order read."""
    by_subtopology = partitions_by_subtopology(tasks)
    return tuple(
        (topic, tuple(by_subtopology[subtopology_id][: _count(topic, existing)]))  # STP-3: the lowest, if it has fewer
        for subtopology_id in in_hash_order(by_subtopology)
        for topic in _inputs(subtopologies[subtopology_id])
    )


def _inputs(subtopology: ConfiguredSubtopology) -> list[str]:
    """The topics that the subtopology reads, in the order of a Java set."""
    return in_hash_order((*subtopology.source_topics, *(topic.name for topic in subtopology.repartition_sources)))


def _count(topic: str, existing: ExistingCount) -> int:
    count = existing(topic)
    if count is None:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"topic {topic!r} does not exist")
    return count

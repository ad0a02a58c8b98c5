"""Where partitions are processed: what members tell each other for interactive queries (STP).

Kafka: `EndpointToPartitionsManager`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from fakebroker.broker.core.groups.streams.internal_topics import ConfiguredSubtopology
from fakebroker.broker.core.groups.streams.member import Endpoint, StreamsMember
from fakebroker.broker.core.groups.streams.partition_counts import ExistingCount
from fakebroker.broker.core.groups.streams.tasks import Task, partitions_by_subtopology
from fakebroker.broker.core.groups.streams.topology import in_hash_order
from fakebroker.protocol.errors import ErrorCode, KafkaError

MOST_TOPICS = 100_000
MOST_PARTITIONS = 1_000_000
"""How many topics, and partitions of them, may be read at all endpoints together. They are listed in one turn. An
application of 100 members that read 1,000 topics each has so many; most have some hundreds.
"""

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

    `existing` gives the partition counts of topics. Raises KafkaError UNKNOWN_SERVER_ERROR if a topic is gone, or if
    that is more than is reported: it would be members times topics, however short the request.
    """
    listing = _Listing(subtopologies, existing)
    return tuple(
        EndpointPartitions(
            member.metadata.endpoint,
            listing.of(member.current.assigned.active),
            listing.of(member.current.assigned.standby),
        )
        for member in members
        if member.metadata.endpoint is not None
    )


class _Input(NamedTuple):
    """A topic that a subtopology reads, and its number of partitions."""

    topic: str
    partitions: int


class _Listing:
    """Lists what members read; the topics of a subtopology are looked up once for all of them."""

    def __init__(self, subtopologies: Mapping[str, ConfiguredSubtopology], existing: ExistingCount) -> None:
        self._subtopologies = subtopologies
        self._existing = existing
        self._inputs: dict[str, list[_Input]] = {}
        self._topics = 0
        self._partitions = 0

    def of(self, tasks: Iterable[Task]) -> TopicPartitions:
        """The partitions that tasks in ascending order read; topics with enough of them share one tuple."""
        by_subtopology = partitions_by_subtopology(tasks)
        found: list[tuple[str, tuple[int, ...]]] = []
        for subtopology_id in in_hash_order(by_subtopology):
            indexes, inputs = tuple(by_subtopology[subtopology_id]), self._inputs_of(subtopology_id)
            self._check_room(len(indexes), inputs)
            found += [(topic, indexes[:count]) for topic, count in inputs]  # STP-3: the lowest, if it has fewer
        return tuple(found)

    def _inputs_of(self, subtopology_id: str) -> list[_Input]:
        """What the subtopology reads, in the order of a Java set."""
        inputs = self._inputs.get(subtopology_id)
        if inputs is None:
            subtopology = self._subtopologies[subtopology_id]
            names = (*subtopology.source_topics, *(topic.name for topic in subtopology.repartition_sources))
            inputs = [_Input(topic, _count(topic, self._existing)) for topic in in_hash_order(names)]
            self._inputs[subtopology_id] = inputs
        return inputs

    def _check_room(self, tasks: int, inputs: Sequence[_Input]) -> None:
        """Raises KafkaError if a member with so many tasks that read `inputs` makes it more than is reported."""
        self._topics += len(inputs)
        if self._topics <= MOST_TOPICS:
            self._partitions += sum([tasks if tasks < count else count for _, count in inputs])
        if self._topics > MOST_TOPICS or self._partitions > MOST_PARTITIONS:
            raise KafkaError(
                ErrorCode.UNKNOWN_SERVER_ERROR,
                f"the group's endpoints read more than {MOST_TOPICS} topics or {MOST_PARTITIONS} partitions in all, "
                "each counted where it is read; fewer members may have an endpoint (application.server)",
            )


def _count(topic: str, existing: ExistingCount) -> int:
    count = existing(topic)
    if count is None:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"topic {topic!r} does not exist")
    return count

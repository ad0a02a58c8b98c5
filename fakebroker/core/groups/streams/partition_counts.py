"""How many partitions the internal topics of a streams application get, from the topics that exist (STT-6 to STT-8).

Three steps, each with the counts of those before: repartition topics from what is written to them, then what must have
the same count, then changelogs. A topic that exists counts with the partitions that it has.
Kafka: `RepartitionTopics`, `CopartitionedTopicsEnforcer`, `ChangelogTopics`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from fakebroker.core.groups.streams.states import StatusCode
from fakebroker.core.groups.streams.topology import Topology, in_hash_order, inputs_of, repartition_sources
from fakebroker.errors import ErrorCode, KafkaError
from fakebroker.records.streams_group_schema import CopartitionGroup, Subtopology

TopicT = TypeVar("TopicT")

ExistingCount = Callable[[str], int | None]
"""The number of partitions of a topic, or None if it does not exist."""


class UnsuitableTopics(Exception):
    """The topics that exist do not go with the topology; members are told so with a status."""

    def __init__(self, status: StatusCode, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


class PartitionCounts:
    """The partition counts of topics: of those that exist, else as decided so far."""

    def __init__(self, existing: ExistingCount) -> None:
        self._existing = existing
        self.decided: dict[str, int] = {}

    def find(self, topic: str) -> int | None:
        """The count of a topic, or None if it does not exist and nothing was decided."""
        count = self._existing(topic)
        return self.decided.get(topic) if count is None else count

    def get(self, topic: str) -> int:
        """The count of a topic. Raises KafkaError UNKNOWN_SERVER_ERROR if it has none."""
        count = self.find(topic)
        if count is None:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"the partition count of {topic} is not known")
        return count


def decide_partition_counts(topology: Topology, existing: ExistingCount) -> PartitionCounts:
    """Decide the counts of all internal topics of a topology, all of whose source topics exist.

    Raises UnsuitableTopics if topics that must have the same count have not, and KafkaError STREAMS_INVALID_TOPOLOGY if
    a count cannot be found whatever topics exist.
    """
    counts = PartitionCounts(existing)
    counts.decided.update(_repartition_counts(topology, counts))
    _enforce_copartitioning(topology, counts)
    for subtopology in topology.subtopologies.values():
        tasks = tasks_count(subtopology, counts)
        counts.decided.update((topic.name, tasks) for topic in subtopology.state_changelog_topics)
    return counts


def tasks_count(subtopology: Subtopology, counts: PartitionCounts) -> int:
    """How many tasks a subtopology has: the most partitions of a topic that it reads (STT-7).

    Raises KafkaError STREAMS_INVALID_TOPOLOGY if it reads none.
    """
    inputs = inputs_of(subtopology)
    if not inputs:
        raise _invalid(f"subtopology {subtopology.subtopology_id} reads no topic")
    return max(counts.get(topic) for topic in inputs)


def _repartition_counts(topology: Topology, counts: PartitionCounts) -> dict[str, int]:
    """The count of each repartition topic: the one it is given, else the most among what its writer reads (STT-6).

    A writer may itself read repartition topics, so that it takes rounds until all are known.
    """
    known = {topic.name: topic.partitions for topic in repartition_sources(topology) if topic.partitions}
    is_incomplete = True
    while is_incomplete:
        is_incomplete, progress = False, False
        for writer in topology.subtopologies.values():
            for topic in writer.repartition_sink_topics:
                if topic in known:
                    continue
                count = _largest_known_input(writer, known, counts)
                if count is None:
                    is_incomplete = True
                else:
                    known[topic], progress = count, True
        if is_incomplete and not progress:
            raise _invalid("repartition topics without a partition count are written in a loop")
    unwritten = [topic.name for topic in repartition_sources(topology) if topic.name not in known]
    if unwritten:
        raise _invalid(f"no subtopology writes the repartition topics {', '.join(unwritten)}")
    return known


def _largest_known_input(writer: Subtopology, known: Mapping[str, int], counts: PartitionCounts) -> int | None:
    """The most partitions among what a subtopology reads and whose count is known; None if that is nothing yet."""
    found = [known.get(topic.name) for topic in writer.repartition_source_topics]
    found += [counts.find(topic) for topic in writer.source_topics]
    return max((count for count in found if count is not None), default=None)


def _enforce_copartitioning(topology: Topology, counts: PartitionCounts) -> None:
    """Give repartition topics the count of those that they are joined with (STT-8)."""
    fixed = [topic.name for topic in repartition_sources(topology) if topic.partitions]
    for subtopology in topology.subtopologies.values():
        for group in subtopology.copartition_groups:
            _enforce(subtopology, group, fixed, counts)


def _enforce(subtopology: Subtopology, group: CopartitionGroup, fixed: Sequence[str], counts: PartitionCounts) -> None:
    """One copartition group. `fixed` are the repartition topics of the whole topology whose count was given."""
    sources = {topic: counts.get(topic) for topic in _meant(subtopology.source_topics, group.source_topics)}
    meant = _meant(subtopology.repartition_source_topics, group.repartition_source_topics)
    repartition = {topic.name: counts.get(topic.name) for topic in meant}
    if sources:
        count = _same_count(sources, sources)
    elif fixed and repartition:
        count = _same_count({name: counts.get(name) for name in fixed}, repartition)
    else:
        count = max(repartition.values(), default=0)
    for name in in_hash_order(repartition):
        if name in fixed and repartition[name] != count:
            raise UnsuitableTopics(
                StatusCode.INCORRECTLY_PARTITIONED_TOPICS,
                f"repartition topic {name} has {repartition[name]} partitions; what it is joined with has {count}",
            )
        counts.decided[name] = count


def _meant(topics: Sequence[TopicT], indexes: Iterable[int]) -> list[TopicT]:
    """The topics of a subtopology that a copartition group means (STT-1).

    Raises KafkaError UNKNOWN_SERVER_ERROR for an index beyond them, or below 0, which Java's lists do not take.
    """
    found = []
    for index in indexes:
        if not 0 <= index < len(topics):
            text = f"Index {index} out of bounds for length {len(topics)}"
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, text)
        found.append(topics[index])
    return found


def _same_count(compared: Mapping[str, int], told: Mapping[str, int]) -> int:
    """The count that all `compared` topics have. Raises UnsuitableTopics, which tells of `told`, if they differ."""
    if len(frozenset(compared.values())) > 1:
        listed = ", ".join(f"{name}={told[name]}" for name in sorted(told))
        raise UnsuitableTopics(
            StatusCode.INCORRECTLY_PARTITIONED_TOPICS,
            f"these topics must have the same number of partitions: {listed}",
        )
    return next(iter(compared.values()))


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.STREAMS_INVALID_TOPOLOGY, message)

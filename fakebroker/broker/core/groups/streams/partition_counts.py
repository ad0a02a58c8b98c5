"""How many partitions the internal topics of a streams application get, from the topics that exist (STT-6 to STT-8).

Three steps, each with the counts of those before: repartition topics from what is written to them, then what must have
the same count, then changelogs. A topic that exists counts with the partitions that it has.
Kafka: `RepartitionTopics`, `CopartitionedTopicsEnforcer`, `ChangelogTopics`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import heappop, heappush
from typing import TypeVar

from fakebroker.broker.core.groups.streams.states import StatusCode
from fakebroker.broker.core.groups.streams.topology import Topology, in_hash_order, inputs_of, repartition_sources
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.records.streams_group_schema import CopartitionGroup, Subtopology

TopicT = TypeVar("TopicT")

# The texts are Kafka's, which name no topic: all of them may be longer than a text can be.
_FAILED = "Failed to compute number of partitions for all repartition topics"

ExistingCount = Callable[[str], int | None]
"""The number of partitions of a topic, or None if it does not exist."""


class UnsuitableTopics(Exception):
    """The topics that exist do not go with the topology; members get a status that says so."""

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

    A writer may itself read repartition topics. Kafka goes through all writers in rounds, until all are known; here a
    writer has its turn, in the same order, when the first of what it reads is known.
    """
    known = {topic.name: topic.partitions for topic in repartition_sources(topology) if topic.partitions}
    writers = list(topology.subtopologies.values())
    readers = _readers(writers)
    turns = [
        (0, index) for index, writer in enumerate(writers) if _largest_known_input(writer, known, counts) is not None
    ]
    planned = {index for _, index in turns}
    while turns:
        number, index = heappop(turns)
        count = _largest_known_input(writers[index], known, counts)
        assert count is not None
        for topic in writers[index].repartition_sink_topics:
            if topic in known:
                continue
            known[topic] = count
            for reader in readers.get(topic, ()):
                if reader not in planned:
                    planned.add(reader)
                    heappush(turns, (number + (reader <= index), reader))
    if any(topic not in known for writer in writers for topic in writer.repartition_sink_topics):
        raise _invalid(f"{_FAILED}. There may be loops in the topology that cannot be resolved.")
    if any(topic.name not in known for topic in repartition_sources(topology)):
        raise _invalid(f"{_FAILED}, because a repartition source topic is never used as a sink topic.")
    return known


def _readers(writers: Sequence[Subtopology]) -> dict[str, list[int]]:
    """Which of the subtopologies, by their numbers, read a repartition topic."""
    found: dict[str, list[int]] = {}
    for index, writer in enumerate(writers):
        for topic in writer.repartition_source_topics:
            found.setdefault(topic.name, []).append(index)
    return found


def _largest_known_input(writer: Subtopology, known: Mapping[str, int], counts: PartitionCounts) -> int | None:
    """The most partitions among what a subtopology reads and whose count is known; None if that is nothing yet."""
    found = [known.get(topic.name) for topic in writer.repartition_source_topics]
    found += [counts.find(topic) for topic in writer.source_topics]
    return max((count for count in found if count is not None), default=None)


def _enforce_copartitioning(topology: Topology, counts: PartitionCounts) -> None:
    """Give repartition topics the count of those that they are joined with (STT-8)."""
    fixed = {topic.name: counts.get(topic.name) for topic in repartition_sources(topology) if topic.partitions}
    fixed_counts = frozenset(fixed.values())
    for subtopology in topology.subtopologies.values():
        for group in subtopology.copartition_groups:
            _enforce(subtopology, group, fixed, fixed_counts, counts)


def _enforce(
    subtopology: Subtopology,
    group: CopartitionGroup,
    fixed: Mapping[str, int],
    fixed_counts: frozenset[int],
    counts: PartitionCounts,
) -> None:
    """One copartition group. `fixed` are the repartition topics of the whole topology whose count was given; that there
    is one count for all of them is looked at once, because there may be as many groups as topics.
    """
    sources = {topic: counts.get(topic) for topic in _meant(subtopology.source_topics, group.source_topics)}
    meant = _meant(subtopology.repartition_source_topics, group.repartition_source_topics)
    repartition = {topic.name: counts.get(topic.name) for topic in meant}
    if sources:
        count = _same_count(frozenset(sources.values()), sources)
    elif fixed and repartition:
        count = _same_count(fixed_counts, repartition)
    else:
        count = max(repartition.values(), default=0)
    for name in in_hash_order(repartition):
        if name in fixed and repartition[name] != count:
            raise UnsuitableTopics(
                StatusCode.INCORRECTLY_PARTITIONED_TOPICS,
                f"repartition topic {name} has {repartition[name]} partitions; its join partner has {count}",
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


def _same_count(found: frozenset[int], counts: Mapping[str, int]) -> int:
    """The one count that was `found`. Raises UnsuitableTopics, which lists `counts`, if there are more."""
    if len(found) > 1:
        listed = ", ".join(f"{name}={counts[name]}" for name in sorted(counts))
        raise UnsuitableTopics(
            StatusCode.INCORRECTLY_PARTITIONED_TOPICS,
            f"these topics must have the same number of partitions: {listed}",
        )
    return min(found)


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.STREAMS_INVALID_TOPOLOGY, message)

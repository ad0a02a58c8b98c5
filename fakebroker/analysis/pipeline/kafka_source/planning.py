"""Which offsets to read: partitions, positions that become offsets, ranges that become tasks."""

import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Final, NamedTuple

from fakebroker.analysis.pipeline.kafka_source.options import Position, ReadOptions
from fakebroker.analysis.pipeline.source_options import OptionError, wrong
from fakebroker.client.cluster.cluster_client import EARLIEST, LATEST, ClusterClient
from fakebroker.client.cluster.errors import NoSuchPartition
from fakebroker.protocol.errors import FakebrokerError
from fakebroker.protocol.records.offsets_topic import TopicPartition

Offsets = dict[TopicPartition, int]
OffsetsJson = dict[str, dict[str, int]]
"""Offsets as checkpoints have them, in the form that Spark's Kafka source has, too: topic -> partition -> offset."""

_LOSS: Final = (
    "records may have been lost: they expired, or the topic was deleted before all of it was read. To "
    "continue with the remaining records, set the option failOnDataLoss to false. Reason: "
)


class DataLoss(FakebrokerError):
    """Records that were to be read are not there any more, and failOnDataLoss is true."""

    def __init__(self, reason: str) -> None:
        super().__init__(_LOSS + reason)


class Range(NamedTuple):
    """Offsets of a partition from `start` up to `end`, which is left out."""

    partition: TopicPartition
    start: int
    end: int


def planning_client(options: ReadOptions) -> ClusterClient:
    """The client that asks for offsets."""
    return ClusterClient(
        options.kafka.bootstrap,
        security=options.kafka.security,
        client_id=options.client_id,
        timeout_ms=options.timeout_ms,
        retries=options.offset_retries,
        retry_pause_ms=options.offset_retry_pause_ms,
    )


def found_partitions(cluster: ClusterClient, options: ReadOptions) -> list[TopicPartition]:
    """The subscribed partitions that exist now. Raises OptionError for a pattern that is none."""
    topics, pattern, assigned = options.subscription
    if pattern is not None:
        try:
            matches = re.compile(pattern).fullmatch
        except re.error as error:
            raise wrong("subscribePattern", pattern, f"subscribePattern {pattern!r}: {error}") from None
        # As for Kafka's consumers, a pattern means no internal topics; `subscribe` does.
        topics = tuple(
            sorted(each.name for each in cluster.topics().values() if matches(each.name) and not each.is_internal)
        )
    if assigned:
        known = cluster.topics(list(dict.fromkeys(each.topic for each in assigned)))
        return [each for each in assigned if each.topic in known and each.partition in known[each.topic].leaders]
    found = cluster.topics(topics)
    return [partition for name in topics if name in found for partition in found[name].partitions]


def all_partitions(cluster: ClusterClient, options: ReadOptions) -> list[TopicPartition]:
    """The subscribed partitions. Raises NoSuchPartition unless all that are named exist."""
    found = found_partitions(cluster, options)
    topics, _, assigned = options.subscription
    missing = [str(each) for each in assigned if each not in found]
    missing += [name for name in topics if name not in {each.topic for each in found}]
    if missing:
        raise NoSuchPartition(f"there is no topic or partition {', '.join(missing)} at {options.kafka.bootstrap}")
    return found


def resolved(
    cluster: ClusterClient,
    options: ReadOptions,
    position: Position,
    partitions: list[TopicPartition],
    *,
    is_start: bool,
) -> Offsets:
    """The offset that a position means in each partition.

    Raises OptionError if it names other partitions, or its time is after all records of one of them and that is an
    error for the user (at the start, unless startingOffsetsByTimestampStrategy is latest).
    """
    if position.everywhere is not None:
        return _asked(cluster, options, dict.fromkeys(partitions, position.everywhere))
    if position.offsets is not None:
        _check_names(position, position.offsets, partitions)
        special = {each: offset for each, offset in position.offsets.items() if offset < 0}
        return {**position.offsets, **_asked(cluster, options, special)}
    times_ms = position.times_ms
    if times_ms is None:
        times_ms = dict.fromkeys(partitions, position.time_ms or 0)
    _check_names(position, times_ms, partitions)
    found = _asked(cluster, options, times_ms)
    without = [partition for partition, offset in found.items() if offset < 0]
    if without and is_start and not options.uses_latest_without_match:
        named = ", ".join(f"{each} (time {times_ms[each]})" for each in without)
        text = f"no record of {named} is as new as the option {position.option} requires"
        raise wrong(
            position.option,
            None,
            f"{text}; to begin at the end there, set startingOffsetsByTimestampStrategy to latest",
        )
    return {**found, **_asked(cluster, options, dict.fromkeys(without, LATEST))}


def _asked(cluster: ClusterClient, options: ReadOptions, times: Mapping[TopicPartition, int]) -> Offsets:
    return {partition: at.offset for partition, at in cluster.offsets(times, options.isolation).items()}


def earliest(cluster: ClusterClient, options: ReadOptions, partitions: Iterable[TopicPartition]) -> Offsets:
    """The first offset of each partition."""
    return _asked(cluster, options, dict.fromkeys(partitions, EARLIEST))


def latest(cluster: ClusterClient, options: ReadOptions, partitions: Iterable[TopicPartition]) -> Offsets:
    """The offset after the last record of each partition."""
    return _asked(cluster, options, dict.fromkeys(partitions, LATEST))


def _check_names(position: Position, named: Iterable[TopicPartition], partitions: list[TopicPartition]) -> None:
    if set(named) != set(partitions):
        text = f"the option {position.option} must name exactly the partitions that are read"
        there, said = (", ".join(map(str, sorted(each))) for each in (partitions, named))
        raise wrong(position.option, None, f"{text}: it names {said or 'none'}, there are {there or 'none'}")


def batch_ranges(cluster: ClusterClient, options: ReadOptions) -> list[Range]:
    """What a batch reads. Raises OptionError where its start is after its end."""
    partitions = all_partitions(cluster, options)
    starts = resolved(cluster, options, options.starting, partitions, is_start=True)
    ends = resolved(cluster, options, options.ending, partitions, is_start=False)
    for partition in partitions:
        if starts[partition] > ends[partition]:
            text = f"{partition}: the starting offset {starts[partition]} is after the ending offset {ends[partition]}"
            raise OptionError(options.starting.option or "startingOffsets", starts[partition], text)
    return [Range(each, starts[each], ends[each]) for each in partitions if starts[each] < ends[each]]


def split(ranges: list[Range], options: ReadOptions) -> list[Range]:
    """The same offsets in as many tasks as minPartitions and maxRecordsPerPartition ask for; one per range without."""
    total = sum(each.end - each.start for each in ranges)
    found = []
    for each in ranges:
        size = each.end - each.start
        parts = 1
        if options.max_records_per_partition is not None:
            parts = -(-size // options.max_records_per_partition)
        if options.min_partitions is not None and options.min_partitions > len(ranges):
            parts = max(parts, round(size / total * options.min_partitions))
        parts = max(1, min(parts, size))
        bounds = [each.start + size * index // parts for index in range(parts + 1)]
        found += [Range(each.partition, *pair) for pair in pairwise(bounds)]
    return found


def limited(starts: Mapping[TopicPartition, int], ends: Offsets, most: int) -> Offsets:
    """Ends that leave `most` offsets in all to be read, shared among partitions by how much there is in each.

    A partition with anything to read gets at least one; the sum may be higher by that.
    """
    sizes = {partition: max(0, end - starts.get(partition, 0)) for partition, end in ends.items()}
    total = sum(sizes.values())
    if total <= most:
        return ends
    found = {}
    for partition, end in ends.items():
        size = sizes[partition]
        share = max(1, size * most // total) if size else 0
        found[partition] = min(end, starts.get(partition, 0) + share) if size else end
    return found


def to_json(offsets: Mapping[TopicPartition, int]) -> OffsetsJson:
    """Offsets as a checkpoint has them."""
    found: OffsetsJson = {}
    for partition in sorted(offsets):
        found.setdefault(partition.topic, {})[str(partition.partition)] = offsets[partition]
    return found


def from_json(offsets: OffsetsJson) -> Offsets:
    """The offsets of a checkpoint."""
    return {
        TopicPartition(topic, int(index)): offset
        for topic, numbers in offsets.items()
        for index, offset in numbers.items()
    }

"""Cloning a running Kafka into the file of a snapshot.

A clone has the cluster's id, brokers and settings, topics with their ids, partitions, offsets and settings, and groups
with their offsets. It has records only as far as its options say: the offsets of other records stay, as if they had
been compacted away. Nothing of the Kafka is changed, and no group is joined.

It needs little memory however large the clone is: what is done is in a folder beside the file (work_folder.py), and an
interrupted clone goes on from there.
"""

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from fakebroker.broker.core.cluster_state import LogState, SegmentState
from fakebroker.client.cluster.cluster_client import ClusterClient, Fetch
from fakebroker.client.cluster.errors import AnsweredError, NoSuchPartition
from fakebroker.client.cluster.offset_ranges import read_range
from fakebroker.client.cluster.topics import Leader, Topic, metadata_request
from fakebroker.protocol.records.batch import split_batches
from fakebroker.protocol.records.offsets_topic import TopicPartition
from fakebroker.testing.clone.assembly import Assembly, ClonedLog, Contents
from fakebroker.testing.clone.cloned_groups import ClonedGroups
from fakebroker.testing.clone.disguise import Disguise
from fakebroker.testing.clone.options import CloneOptions
from fakebroker.testing.clone.source import ClusterFacts, Source
from fakebroker.testing.clone.work_folder import WorkFolder
from fakebroker.testing.imported.log_builder import LogBuilder
from fakebroker.testing.snapshot.state_codec import Writer

Json = Any
Tell = Callable[["Progress"], None]


class Progress(NamedTuple):
    """How far a clone is: of what, how many are done, of how many."""

    what: str
    done: int
    total: int


class Cloned(NamedTuple):
    """What a clone has, and what could not be cloned, a sentence each."""

    topics: int
    partitions: int
    groups: int
    offsets: int
    records: int
    problems: list[str]


def clone(cluster: ClusterClient, options: CloneOptions, out: Path, tell: Tell = lambda _: None) -> Cloned:
    """Clone a Kafka into the file `out`, and go on where an interrupted clone into it stopped.

    `tell` is called with the progress. Raises ClusterError when the Kafka cannot be read any more, InvalidArgument for
    the folder of another clone, or one that another process clones into, OSError.
    """
    metadata = cluster.ask(metadata_request(()))
    folder = WorkFolder(work_folder_of(out), {"cluster": metadata.cluster_id, "options": _identity(options)})
    try:
        cloned = _Cloning(Source(cluster, options, folder.note), folder, tell).run(out)
    except BaseException:
        folder.close()
        raise
    folder.remove()
    return cloned


def work_folder_of(out: Path) -> Path:
    """The folder in which a clone grows until it is finished."""
    return out.with_name(f"{out.name}.part")


def _identity(options: CloneOptions) -> Json:
    """The options in a form that can be compared with those of an earlier start; the secret itself is not kept."""
    hashed = Disguise(options._replace(anonymise=True)).topic("") if options.secret else ""
    return [*map(list, options[:2]), *options[2:-1], hashed]


class _Cloning:
    """A clone that is being made."""

    def __init__(self, source: Source, folder: WorkFolder, tell: Tell) -> None:
        self._source = source
        self._folder = folder
        self._tell = tell
        self._disguise = Disguise(source.options)

    def run(self, out: Path) -> Cloned:
        """Make what is missing, then the file."""
        facts = ClusterFacts.from_json(self._folder.part("cluster", self._source.facts))
        topics = [_topic(each) for each in self._folder.part("topics", self._topics)]
        own = [each for each in topics if not each.is_internal]
        settings = self._folder.part("topic settings", self._source.topic_settings, [each.name for each in topics])
        ranges = {
            TopicPartition(*each[:2]): (each[2], each[3]) for each in self._folder.part("ranges", self._ranges, own)
        }
        logs = self._logs(ranges) if self._source.options.has_records else {}
        groups = ClonedGroups(self._source, self._folder, self._disguise, topics, facts, self._progress)
        counted = groups.clone()
        contents = Contents(facts, topics, settings, ranges, logs, groups.settings(), groups.partitions)
        Assembly(contents, self._folder, self._disguise).write(out, int(time.time() * 1000))
        return Cloned(
            len(own),
            sum(len(each.leaders) for each in own),
            counted.groups,
            counted.offsets,
            sum(each.records for each in logs.values()),
            self._folder.problems,
        )

    def _progress(self, what: str, done: int, total: int) -> None:
        self._tell(Progress(what, done, total))

    # -- topics --------------------------------------------------------------------------------------------------

    def _topics(self) -> Json:
        found = self._source.topics()
        self._progress("topics", len(found), len(found))
        return [_row(each) for each in found]

    def _ranges(self, topics: list[Topic]) -> Json:
        self._note_leaderless(topics)
        rows: list[Json] = []
        total = sum(len(each.leaders) for each in topics)
        for some in self._source.ranges(topics):
            rows += [[*partition, *offsets] for partition, offsets in some.items()]
            self._progress("partitions", len(rows), total)
        return rows

    def _note_leaderless(self, topics: Iterable[Topic]) -> None:
        for topic in topics:
            missing = [index for index, leader in topic.leaders.items() if leader is None]
            if missing:
                text = ", ".join(map(str, missing))
                self._source.note(f"topic {topic.name!r} has no leader in partition {text}: no offsets")

    # -- records -------------------------------------------------------------------------------------------------

    def _logs(self, ranges: dict[TopicPartition, tuple[int, int]]) -> dict[TopicPartition, ClonedLog]:
        found = {}
        firsts = self._folder.part("first offsets", self._first_offsets, ranges)
        for number, (partition, offsets) in enumerate(ranges.items(), 1):
            log = self._folder.part(f"log {partition}", self._log, partition, firsts[number - 1], *offsets)
            found[partition] = ClonedLog(*log)
            self._progress("logs", number, len(ranges))
        return found

    def _first_offsets(self, ranges: dict[TopicPartition, tuple[int, int]]) -> list[int]:
        """From which offset on each partition is cloned with its records."""
        options = self._source.options
        if options.since_ms is None:
            count = options.last_records or 0
            return [max(start, end - count) for start, end in ranges.values()]
        found = self._source.cluster.offsets(dict.fromkeys(ranges, options.since_ms)) if ranges else {}
        return [
            end if found[partition].offset < 0 else max(start, found[partition].offset)
            for partition, (start, end) in ranges.items()
        ]

    def _log(self, partition: TopicPartition, first: int, start: int, end: int) -> Json:
        """The log with its records from `first` on, as JSON beside the data; null if it has none."""
        builder, writer, segments = LogBuilder(self._disguise.batch), Writer(self._folder.data), []
        try:
            for chunk in read_range(self._source.cluster, Fetch(partition, first), end):
                for batch in split_batches(chunk.fetched.records):
                    builder.add(batch)
                segments += [writer.encode(each, SegmentState) for each in builder.full_segments()]
        except (AnsweredError, NoSuchPartition) as error:
            self._source.note(f"the records of {partition} are left out: {error}")
            return [None, 0, -1]
        if not builder.records_count and not builder.end_offset:
            return [None, 0, -1]
        log = builder.finish(start, end, modified_ms=0, ends_transactions=True)
        encoded = writer.encode(log, LogState)
        encoded["segments"] = [*segments, *encoded["segments"]]
        return [encoded, builder.records_count, builder.highest_producer_id]


def _row(topic: Topic) -> Json:
    partitions = [
        [index, *(leader or (-1, -1)), topic.replicas[index], topic.in_sync[index]]
        for index, leader in sorted(topic.leaders.items())
    ]
    return [topic.name, topic.topic_id.hex(), topic.is_internal, partitions]


def _topic(row: Json) -> Topic:
    name, topic_id, is_internal, partitions = row
    return Topic(
        name,
        bytes.fromhex(topic_id),
        is_internal,
        {index: Leader(leader, epoch) if leader >= 0 else None for index, leader, epoch, _, _ in partitions},
        {each[0]: tuple(each[3]) for each in partitions},
        {each[0]: tuple(each[4]) for each in partitions},
    )

"""The file of a snapshot from the parts of a clone."""

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

from fakebroker.broker.core.cluster_state import (
    ClusterState,
    JobsState,
    LogState,
    NodeValues,
    PartitionState,
    TopicState,
    random_state,
)
from fakebroker.broker.core.logs.empty_range import EmptyRange
from fakebroker.client.cluster.topics import Topic
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.offsets_topic import TopicPartition
from fakebroker.protocol.records.record_codec import Record
from fakebroker.testing.clone.cloned_groups import INTERNAL_TOPICS
from fakebroker.testing.clone.disguise import Disguise
from fakebroker.testing.clone.source import ClusterFacts
from fakebroker.testing.clone.work_folder import InternalRecord, WorkFolder
from fakebroker.testing.imported.log_builder import LogBuilder
from fakebroker.testing.imported.nodes import beginning_nodes, next_producer_id
from fakebroker.testing.snapshot.file_format import file_pieces
from fakebroker.testing.snapshot.hidden_secrets import with_hidden_secrets
from fakebroker.testing.snapshot.state import BrokerState, ClockState, Options
from fakebroker.testing.snapshot.state_codec import Writer

Json = Any
_RECORDS_IN_BATCH: Final = 500
_PIECE_BYTES: Final = 1 << 20


class ClonedLog(NamedTuple):
    """A log with records: as JSON, None if it has none; how many records; the highest producer id."""

    json: Json
    records: int
    highest_producer_id: int


class Contents(NamedTuple):
    """What a clone is made of, under the names that the Kafka has."""

    facts: ClusterFacts
    topics: list[Topic]
    settings: dict[str, dict[str, str]]  # of topics
    ranges: dict[TopicPartition, tuple[int, int]]  # start and end offset
    logs: dict[TopicPartition, ClonedLog]
    group_settings: dict[str, dict[str, str]]
    internal_partitions: list[int]  # of the topics in INTERNAL_TOPICS


class Assembly:
    """Puts the parts together."""

    def __init__(self, contents: Contents, folder: WorkFolder, disguise: Disguise) -> None:
        self._contents = contents
        self._folder = folder
        self._disguise = disguise
        self._writer = Writer(folder.data)

    def write(self, out: Path, now_ms: int) -> None:
        """Write the file, atomically. `now_ms` is the time of day in it. Raises OSError."""
        logs = self._internal_logs(now_ms)
        topics = self._topics({name for name, _ in logs})
        head = self._writer.encode(with_hidden_secrets(self._state(topics, now_ms)), BrokerState)
        for topic, json in zip(topics, head["cluster"]["topics"], strict=True):
            for index, partition in enumerate(json["partitions"]):
                partition["log"] = self._log(topic, index, logs)
        unfinished = self._folder.path / "snapshot"
        with unfinished.open("wb") as file:
            for piece in file_pieces(head, len(self._folder.data), self._data()):
                file.write(piece)
        os.replace(unfinished, out)

    def _data(self) -> Iterator[bytes]:
        with self._folder.data.read() as file:
            while piece := file.read(_PIECE_BYTES):
                yield piece

    def _log(self, topic: Topic, index: int, internal: dict[tuple[str, int], Json]) -> Json:
        if topic.is_internal:
            return internal.get((topic.name, index))
        log = self._contents.logs.get(TopicPartition(topic.name, index))
        return None if log is None else log.json

    # -- the state without logs ----------------------------------------------------------------------------------

    def _state(self, topics: list[Topic], now_ms: int) -> BrokerState:
        facts = self._contents.facts
        node_ids = self._node_ids()
        options = Options(facts.static, "kafka", facts.release, 0, beginning_nodes(node_ids))
        highest = max((each.highest_producer_id for each in self._contents.logs.values()), default=-1)
        cluster = ClusterState(
            cluster_id=facts.cluster_id,
            next_producer_id=next_producer_id(0, highest),
            random=random_state(0),
            nodes=tuple(self._node(node_id) for node_id in node_ids),
            dynamic=facts.dynamic,
            topics=tuple(self._topic_state(each, now_ms) for each in topics),
            being_deleted=(),
            group_configs=self._contents.group_settings,
            client_metrics={},
            jobs=JobsState(None, None, None),
            expirations=(),
        )
        return BrokerState(options, ClockState(now_ms, 1.0, False), cluster)

    def _node_ids(self) -> list[int]:
        """The brokers, with those that replicas are on and that are stopped."""
        replicas = {each for topic in self._contents.topics for nodes in topic.replicas.values() for each in nodes}
        return sorted(replicas.union(self._contents.facts.racks))

    def _node(self, node_id: int) -> NodeValues:
        facts = self._contents.facts
        if node_id not in facts.racks:
            return NodeValues(node_id, False, {}, {}, is_fenced=True)
        rack = facts.racks[node_id]
        own = facts.own.get(node_id, {}) | ({} if rack is None else {"broker.rack": rack})
        return NodeValues(node_id, True, own, {})

    def _topics(self, used: set[str]) -> list[Topic]:
        """The topics, with internal ones that the Kafka did not name, but that have records."""
        topics = list(self._contents.topics)
        named = {each.name for each in topics}
        node_id = next(iter(self._contents.facts.racks))
        for name, count in zip(INTERNAL_TOPICS, self._contents.internal_partitions, strict=True):
            if name in used and name not in named:
                nodes: dict[int, tuple[int, ...]] = dict.fromkeys(range(count), (node_id,))
                topics.append(Topic(name, name.encode().ljust(16, b"_")[:16], True, dict.fromkeys(nodes), nodes, nodes))
        return topics

    def _topic_state(self, topic: Topic, now_ms: int) -> TopicState:
        name = topic.name if topic.is_internal else self._disguise.topic(topic.name)
        partitions = tuple(self._partition(topic, index, now_ms) for index in sorted(topic.leaders))
        return TopicState(name, topic.topic_id, self._contents.settings.get(topic.name, {}), partitions)

    def _partition(self, topic: Topic, index: int, now_ms: int) -> PartitionState:
        place = TopicPartition(topic.name, index)
        log = self._contents.logs.get(place)
        offsets = None if log is not None and log.json is not None else self._contents.ranges.get(place)
        leader = topic.leaders[index]
        replicas, in_sync = topic.replicas[index], topic.in_sync[index]
        return PartitionState(
            replicas=replicas,
            isr=in_sync,
            elr=(),
            last_known_elr=(),
            leader=leader.node_id if leader is not None else replicas[0] if topic.is_internal else -1,
            leader_epoch=max(leader.epoch, 0) if leader is not None else 0,
            log=None,
            empty_range=None if offsets is None or offsets == (0, 0) else EmptyRange(*offsets, now_ms),
        )

    # -- internal topics -----------------------------------------------------------------------------------------

    def _internal_logs(self, now_ms: int) -> dict[tuple[str, int], Json]:
        """The logs of internal topics that have records, as JSON: sorted into a file for each, then one by one."""
        folder = self._folder.path / "internal"
        folder.mkdir(exist_ok=True)
        places: dict[tuple[int, int], BinaryIO] = {}
        for record in self._folder.read_records():
            place = record[:2]
            if place not in places:
                places[place] = (folder / f"{place[0]}-{place[1]}").open("w+b")
            places[place].write(record.to_bytes())
        logs = {}
        for (topic, index), file in sorted(places.items()):
            with file:
                file.seek(0)
                log = _log_of(InternalRecord.read_all(file), now_ms)
            logs[INTERNAL_TOPICS[topic], index] = self._writer.encode(log, LogState)
        return logs


def _log_of(records: Iterator[InternalRecord], now_ms: int) -> LogState:
    builder, offset = LogBuilder(), 0
    while some := list(islice(records, _RECORDS_IN_BATCH)):
        stored = [Record(offset + n, each.timestamp_ms, each.key, each.value) for n, each in enumerate(some)]
        builder.add(build_batch(stored))
        offset += len(some)
    return builder.finish(0, offset, modified_ms=now_ms)

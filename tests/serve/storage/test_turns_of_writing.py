"""What a turn writes into a data directory: no turn takes long, whatever a request is about."""

import os
from pathlib import Path
from typing import Any

import pytest

from fakebroker.broker.apis.alter_partition_reassignments import SEGMENTS_PER_STEP
from fakebroker.broker.core.long_passes import LongPasses
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.pace import STEP_S, Pace
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.wire.messages.alter_partition_reassignments import ReassignablePartition, ReassignableTopic
from fakebroker.protocol.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsTopic
from fakebroker.protocol.wire.messages.fetch import FetchTopic
from fakebroker.protocol.wire.messages.list_offsets import ListOffsetsTopic
from fakebroker.protocol.wire.messages.offset_for_leader_epoch import OffsetForLeaderPartition, OffsetForLeaderTopic
from fakebroker.protocol.wire.messages.produce import PartitionProduceData, TopicProduceData
from fakebroker.serve.storage import cluster_store, removals
from fakebroker.serve.storage.cluster_store import ClusterStore
from fakebroker.serve.storage.partition_files import PartitionFiles
from tests.support.data_directories import Life, kept


def all_partitions(kind: str, count: int) -> dict[str, Any]:
    """The fields of a request about all partitions of topic wide."""
    every = range(count)
    match kind:
        case "ListOffsets":
            rows = [(each, -1, -1, 1) for each in every]
            return {"replica_id": -1, "topics": [ListOffsetsTopic(name="wide", partitions=rows)]}
        case "Fetch":
            wanted = [(each, -1, 0, -1, -1, 1 << 20, bytes(16), -1) for each in every]
            return {"max_wait_ms": 0, "max_bytes": 1 << 20, "topics": [FetchTopic(topic="wide", partitions=wanted)]}
        case "Produce":
            return produced(count, build_batch([Record(0, 0, b"k", b"v")]))
        case "TransactionalProduce":
            batch = build_batch([Record(0, 0, b"k", b"v")], producer_id=777, producer_epoch=0, transactional=True)
            return {"transactional_id": "t", **produced(count, batch)}
        case "DeleteRecords":
            ends = [DeleteRecordsPartition(partition_index=each, offset=-1) for each in every]
            return {"timeout_ms": 1000, "topics": [DeleteRecordsTopic(name="wide", partitions=ends)]}
        case "OffsetForLeaderEpoch":
            epochs = [OffsetForLeaderPartition(partition=each, leader_epoch=0) for each in every]
            return {"topics": [OffsetForLeaderTopic(topic="wide", partitions=epochs)]}
    moves = [ReassignablePartition(partition_index=each, replicas=[1, 2, 3]) for each in every]
    return {"timeout_ms": 1000, "topics": [ReassignableTopic(name="wide", partitions=moves)]}


def produced(count: int, batch: bytes) -> dict[str, Any]:
    """The fields of a Produce of one batch to each of so many partitions."""
    data = [PartitionProduceData(index=each, records=batch) for each in range(count)]
    return {"acks": 1, "timeout_ms": 1000, "topic_data": [TopicProduceData(name="wide", partition_data=data)]}


class Turns:
    """Counts what is written in each turn from now on: the calls of a method of PartitionFiles."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
        self.written = [0]
        write, noted = ClusterStore.write, getattr(PartitionFiles, method)

        def in_new_turn(store: ClusterStore, now: Instant) -> list[int]:
            self.written.append(0)
            return write(store, now)

        def counted(files: PartitionFiles, *args: Any) -> Any:
            self.written[-1] += 1
            return noted(files, *args)

        monkeypatch.setattr(ClusterStore, "write", in_new_turn)
        monkeypatch.setattr(PartitionFiles, method, counted)

    def check(self, total: int, cost_s: float) -> None:
        """So many calls in all, and none of the turns takes longer than two steps."""
        assert sum(self.written) == total
        assert max(self.written) <= 2 * STEP_S / cost_s


def life_of(folder: Path, count: int, *, replicas: list[int], **configs: str) -> Life:
    """Three brokers with a topic of so many partitions, none of which was used."""
    life = Life(folder / "data", nodes=3)
    life.broker._call(lambda: life.cluster.topics.create("wide", assignments=[replicas] * count, config=configs))
    return life


@pytest.mark.parametrize(
    ("kind", "version"),
    [
        ("ListOffsets", 7),
        ("Fetch", 11),
        ("OffsetForLeaderEpoch", 4),
        ("Produce", 8),
        ("TransactionalProduce", 9),
        ("AlterPartitionReassignments", 0),
    ],
)
def test_no_turn_makes_all_folders(tmp_path: Path, kind: str, version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever uses partitions for the first time, or gives them to other brokers: each folder takes a millisecond."""
    is_move, count = kind == "AlterPartitionReassignments", 120
    life = life_of(tmp_path, count, replicas=[1] if is_move else [1, 2, 3])
    if is_move:
        life.client.request("Produce", 8, **all_partitions("Produce", count))
    turns = Turns(monkeypatch, "_make")
    life.client.request(kind.removeprefix("Transactional"), version, **all_partitions(kind, count))
    turns.check(count * (2 if is_move else 3), cluster_store.FOLDER_S)
    life.broker.stop()


def test_no_turn_begins_all_segments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Produce of records so late that each partition begins a segment, of which there is a copy at each broker."""
    count = 120
    life = life_of(tmp_path, count, replicas=[1, 2, 3], **{"segment.ms": "1"})
    life.client.request("Produce", 8, **all_partitions("Produce", count))
    turns = Turns(monkeypatch, "_roll")
    life.client.request("Produce", 8, **produced(count, build_batch([Record(0, 1000, b"k", b"v")])))
    turns.check(3 * count, cluster_store.SEGMENT_S)
    life.broker.stop()


def test_no_turn_writes_to_all_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The records of many partitions are deleted: each log has a file to replace, at each broker."""
    count = 180
    life = life_of(tmp_path, count, replicas=[1, 2, 3])
    life.client.request("Produce", 8, **all_partitions("Produce", count))
    turns = Turns(monkeypatch, "write")
    life.client.request("DeleteRecords", 1, **all_partitions("DeleteRecords", count))
    turns.check(3 * count, cluster_store.WRITE_S)
    life.broker.stop()


def test_no_turn_copies_all_segments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A partition of many segments moves: they are copied ahead, and the new broker has all of them after a kill."""
    count = 3 * SEGMENTS_PER_STEP
    life = life_of(tmp_path, 1, replicas=[1], **{"segment.ms": "1"})
    for n in range(count):
        life.client.request("Produce", 8, **produced(1, build_batch([Record(0, 1000 * n, b"k", b"%d" % n)])))
    turns = Turns(monkeypatch, "_write_segment")
    move = ReassignablePartition(partition_index=0, replicas=[2])
    topics = [ReassignableTopic(name="wide", partitions=[move])]
    life.client.request("AlterPartitionReassignments", 0, timeout_ms=1000, topics=topics)
    assert max(turns.written) <= 2 * SEGMENTS_PER_STEP
    check_moved(life, count)


def test_a_partition_that_moves_is_appended_to_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes while its segments are copied is in the copy, too."""
    count = 3 * SEGMENTS_PER_STEP
    life = life_of(tmp_path, 1, replicas=[1], **{"segment.ms": "1"})

    def produce(n: int) -> None:
        life.client.request("Produce", 8, **produced(1, build_batch([Record(0, 1000 * n, b"k", b"%d" % n)])))

    for n in range(count):
        produce(n)
    partition = life.cluster.topics.get("wide").partitions[0]  # type: ignore[union-attr]
    steps = life.cluster.storage.copied_ahead(partition, [2], Pace(0))  # type: ignore[union-attr]
    for n in range(count, count + 20):
        next(steps)
        produce(n)
    life.broker.topic("wide").partition(0).reassign([2])
    check_moved(life, count + 20)


def check_moved(life: Life, count: int) -> None:
    """Broker 2 has the partition with so many records, one in each segment; broker 1 has it no more."""

    def segments(node_id: int) -> int:
        return len([*(life.path / str(node_id) / "wide-0").glob("*.log")])

    assert (segments(1), segments(2)) == (0, count)
    with life.after_kill() as after:
        assert [each.value for each in after.topic("wide").records()] == [b"%d" % n for n in range(count)]
    life.broker.stop()


SMALL_STEP = 20  # files


@pytest.mark.parametrize("policy", ["delete", "compact"])
def test_no_turn_removes_all_segments(tmp_path: Path, policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many segments that are too old, or were cleaned, go in the next turns; a start finds them gone."""
    count = 60
    life = life_of(tmp_path, 1, replicas=[1, 2], **{"segment.ms": "1", "retention.ms": "-1"})
    for n in range(count):
        life.client.request("Produce", 8, **produced(1, build_batch([Record(0, 1000 * n, b"k", b"%d" % n)])))
    monkeypatch.setattr(removals, "FILES_PER_STEP", SMALL_STEP)
    removed = removed_in_turns(monkeypatch)
    life.client.alter_configs("wide", OLD[policy])
    life.broker.pass_time(s=600)
    assert sum(removed) > 2 * 2 * (count - 2)
    assert max(removed) <= 2 * SMALL_STEP
    left = [len([*(life.path / str(node_id) / "wide-0").glob("*.log")]) for node_id in (1, 2)]
    assert max(left) <= 2
    with life.after_kill() as after:
        assert kept(after)["logs"] == kept(life.broker)["logs"]
    life.broker.stop()


OLD = {
    "delete": {"retention.ms": "1"},
    "compact": {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.0"},
}


def removed_in_turns(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many files each step of a pass, and each turn of writing, removes from now on."""
    removed, unlink = [0], os.unlink
    take_steps, write = LongPasses.spend, ClusterStore.write

    def counted(*args: Any, **options: Any) -> None:
        unlink(*args, **options)
        removed[-1] += 1

    def in_new_step(passes: LongPasses, cost: int) -> None:
        removed.append(0)
        take_steps(passes, cost)

    def in_new_turn(store: ClusterStore, now: Instant) -> list[int]:
        removed.append(0)
        return write(store, now)

    monkeypatch.setattr(os, "unlink", counted)
    monkeypatch.setattr(LongPasses, "spend", in_new_step)
    monkeypatch.setattr(ClusterStore, "write", in_new_turn)
    return removed

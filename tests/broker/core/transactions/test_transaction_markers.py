"""Tests of markers as the transaction coordinator writes them, also into `__consumer_offsets`."""

import pytest

from fakebroker.broker.core.node import NodeState
from fakebroker.broker.core.topics import Partition
from fakebroker.broker.core.transactions.producer import Producer
from fakebroker.broker.core.transactions.transaction_markers import write_marker
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.records.offsets_topic import stored_offset
from tests.support.logs import LogsCluster, batch
from tests.support.offsets import OffsetsCluster
from tests.support.time import T0

PRODUCER = Producer(7, 1)


def mark(lab: LogsCluster | OffsetsCluster, partition: Partition, *, commit: bool = True, coordinator: int = 0) -> int:
    return write_marker(
        lab.cluster,
        partition,
        PRODUCER,
        commit=commit,
        coordinator_epoch=coordinator,
        now=lab.now,
        is_tv2=False,
    )


def refused(lab: LogsCluster | OffsetsCluster, partition: Partition) -> ErrorCode:
    end_offset = partition.log.log_end_offset
    with pytest.raises(KafkaError) as refusal:
        mark(lab, partition)
    assert partition.log.log_end_offset == end_offset
    return refusal.value.code


@pytest.mark.rules("TX-3", "TX-5")
def test_a_marker_ends_the_transaction() -> None:
    """It takes one offset, also in a partition without data."""
    lab = LogsCluster()
    partition, other = lab.topic(partitions=2).partitions
    partition.log.append(batch(T0, producer_id=7, producer_epoch=1, base_sequence=0, transactional=True), lab.now)

    assert (mark(lab, partition), mark(lab, other)) == (1, 0)
    assert partition.log.last_stable_offset == 2


def test_where_no_marker_can_be_written() -> None:
    """Without a running leader one tries again; a deleted topic needs none."""
    lab = LogsCluster()
    topic = lab.topic()
    partition = topic.partitions[0]
    node = lab.cluster.nodes[partition.leader]
    node.state = NodeState.FROZEN
    assert refused(lab, partition) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    node.state = NodeState.RUNNING
    partition.lead(-1, lab.now)
    assert refused(lab, partition) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    lab.cluster.topics.delete(topic.name, lab.now)
    assert refused(lab, partition) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def commit_pending(lab: OffsetsCluster, offset: int, epoch: int = 1) -> None:
    """The producer commits an offset of t-0 for the group "g" in its transaction."""
    shard = lab.shard()
    group = shard.group("g") or shard.create_group("g", lab.now)
    shard.commit_pending(group, (7, epoch), [stored_offset("t", 0, offset, commit_ms=lab.now.wall_ms)], lab.now)


@pytest.mark.rules("WM-5", "TO-3", "LD-2")
@pytest.mark.parametrize(("commit", "offsets"), [(True, {("t", 0): 6}), (False, {})])
@pytest.mark.parametrize("is_loaded", [True, False])
def test_pending_offsets_end_with_the_marker(
    commit: bool, offsets: dict[tuple[str, int], int], is_loaded: bool
) -> None:
    """Commit makes the last ones visible, abort drops them, also where the groups are not loaded yet."""
    lab = OffsetsCluster()
    commit_pending(lab, 5)
    commit_pending(lab, 6)
    if not is_loaded:
        lab.coordinator.unload(lab.partition().index, lab.now)
    mark(lab, lab.partition(), commit=commit)

    assert lab.offsets() == offsets
    lab.coordinator.load(lab.partition().index, lab.now)
    assert lab.offsets() == offsets


@pytest.mark.rules("WM-5")
def test_a_coordinator_that_cannot_complete_them() -> None:
    """While it loads, or before 4.0 with too few replicas in sync, it is as if it did not lead the partition."""
    settings = {"offsets.topic.replication.factor": 2, "min.insync.replicas": 2}
    lab = OffsetsCluster("3.9", nodes=(1, 2), settings=settings)
    lab.partition().lead(1, lab.now)
    commit_pending(lab, 5)
    lab.load_slowly()
    assert refused(lab, lab.partition()) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    lab.wait(60_000)
    lab.partition().isr = [1]
    assert refused(lab, lab.partition()) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    lab.partition().isr = [1, 2]
    mark(lab, lab.partition(), coordinator=4)

    with pytest.raises(KafkaError, match="TRANSACTION_COORDINATOR_FENCED"):
        mark(lab, lab.partition(), coordinator=3)
    assert lab.offsets() == {("t", 0): 5}


@pytest.mark.rules("TO-7", "ID-4")
def test_offsets_of_a_fenced_producer() -> None:
    """A lower epoch than the partition has seen is refused by its log, too, and nothing is pending."""
    lab = OffsetsCluster()
    mark(lab, lab.partition())
    with pytest.raises(KafkaError, match="INVALID_PRODUCER_EPOCH"):
        commit_pending(lab, 5, epoch=0)

    assert not lab.group().offsets.pending


@pytest.mark.rules("TO-7")
def test_offsets_of_a_fenced_producer_in_2_1() -> None:
    """2.1.1 takes them, and the producer's next marker ends them."""
    lab = OffsetsCluster("2.1")
    mark(lab, lab.partition())
    commit_pending(lab, 5, epoch=0)
    assert lab.offsets() == {}
    mark(lab, lab.partition())

    assert lab.offsets() == {("t", 0): 5}


@pytest.mark.rules("WM-5", "FT-14")
def test_offsets_appear_when_replicas_have_the_marker() -> None:
    """Before that their transaction counts as open, for readers of the log and of offsets."""
    lab = OffsetsCluster()
    commit_pending(lab, 5)
    log = lab.partition().log
    log.limit_high_watermark(log.log_end_offset, lab.now)
    mark(lab, lab.partition())
    assert (lab.offsets(), log.last_stable_offset, log.high_watermark) == ({}, 0, 1)
    log.limit_high_watermark(None, lab.now)

    assert (lab.offsets(), log.last_stable_offset) == ({("t", 0): 5}, 2)

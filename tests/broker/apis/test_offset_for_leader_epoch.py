"""OffsetForLeaderEpoch: where the epochs of a log end."""

from collections.abc import Callable

import pytest

from fakebroker.broker.apis import offset_for_leader_epoch
from fakebroker.broker.apis.call import Call
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tests.support.log_apis import NOW, LogApis
from tests.support.time import T0

Make = Callable[..., Call]


def end_of(
    lab: LogApis, epoch: int, version: int = 4, index: int = 0, current: int = -1, node_id: int = 1
) -> tuple[int, int, int]:
    """(error, leader epoch, end offset)."""
    asked = OffsetForLeaderPartition(partition=index, current_leader_epoch=current, leader_epoch=epoch)
    request = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic="t", partitions=[asked])])
    (answer,) = lab.ask(offset_for_leader_epoch, request, version, node_id).topics[0].partitions
    return answer.error_code, answer.leader_epoch, answer.end_offset


@pytest.mark.rules("OE-2", "OE-4", "OE-7", "LE-2", "LE-3")
def test_epoch_ends(make_call: Make) -> None:
    """The latest ends with the log, older ones where the next began; deleting records cuts the history."""
    lab = LogApis(make_call)
    lab.append(T0, T0)
    lab.partition.leader_epoch = 2
    lab.append(T0, producer_id=5, producer_epoch=0, base_sequence=0, transactional=True)

    assert end_of(lab, 2) == (0, 2, 3)
    assert end_of(lab, 3) == end_of(lab, -1) == (0, -1, -1)
    assert end_of(lab, 0) == end_of(lab, 1) == (0, 0, 2)
    assert end_of(lab, -2) == (0, -2, 0)
    lab.log.advance_log_start(3, NOW)
    assert end_of(lab, 0) == (0, 0, 3)
    lab.partition.leader_epoch = 4
    assert end_of(lab, 4) == (0, 4, 3)


@pytest.mark.rules("OE-1", "OE-5", "OE-6", "LE-1")
def test_epoch_refusals(make_call: Make) -> None:
    """Unknown partition, then the current epoch, then leadership; asked twice is answered twice."""
    lab = LogApis(make_call, nodes=2)
    lab.partition.lead(2, NOW)
    epoch = lab.partition.leader_epoch

    assert end_of(lab, 0, index=9, current=7) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1)
    assert end_of(lab, 0, current=epoch - 1) == end_of(lab, 0, current=-2) == (ErrorCode.FENCED_LEADER_EPOCH, -1, -1)
    assert end_of(lab, 0, current=epoch + 1) == (ErrorCode.UNKNOWN_LEADER_EPOCH, -1, -1)
    assert end_of(lab, 0) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1, -1)
    twice = [OffsetForLeaderPartition(partition=0, leader_epoch=0)] * 2
    request = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic="t", partitions=twice)])
    assert len(lab.ask(offset_for_leader_epoch, request, 4, 2).topics[0].partitions) == 2


@pytest.mark.rules("OE-2")
@pytest.mark.parametrize("version", range(5))
def test_epoch_ends_in_every_version(make_call: Make, version: int) -> None:
    """v0 has no epoch in its answer."""
    lab = LogApis(make_call)
    lab.append(T0)

    assert end_of(lab, 0, version) == (0, 0 if version else -1, 1)


@pytest.mark.rules("OE-5")
def test_a_partition_twice_in_2_1(make_call: Make) -> None:
    """2.1.1 answers the last entry of a partition, in one entry of its topic."""
    lab = LogApis(make_call, "2.1")
    lab.append(T0)
    topics = [
        OffsetForLeaderTopic(topic="t", partitions=[OffsetForLeaderPartition(partition=0, leader_epoch=epoch)])
        for epoch in (9, 0)
    ]
    answer = lab.ask(offset_for_leader_epoch, OffsetForLeaderEpochRequest(topics=topics), 2)

    assert [(topic.topic, [each.end_offset for each in topic.partitions]) for topic in answer.topics] == [("t", [1])]

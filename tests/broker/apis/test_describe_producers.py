"""Tests of DescribeProducers."""

from collections.abc import Callable

import pytest

from fakebroker.broker.apis import describe_producers
from fakebroker.broker.apis.call import Call
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.describe_producers import (
    DescribeProducersRequest,
    PartitionResponse,
    TopicRequest,
)
from tests.support.log_apis import NOW, LogApis, batch
from tests.support.time import T0

Make = Callable[..., Call]


def describe(lab: LogApis, *indexes: int, name: str = "t", node_id: int = 1) -> list[PartitionResponse]:
    """The answer for some partitions of one topic."""
    request = DescribeProducersRequest(topics=[TopicRequest(name=name, partition_indexes=list(indexes))])
    (topic,) = lab.ask(describe_producers, request, 0, node_id).topics
    assert topic.name == name
    partitions: list[PartitionResponse] = topic.partitions
    return partitions


@pytest.mark.rules("DP-1")
def test_what_a_partition_knows(make_call: Make) -> None:
    """Id, epoch, last sequence and time; where an open transaction began, and which coordinator wrote a marker."""
    lab = LogApis(make_call)
    lab.append(T0, T0 + 5, producer_id=7, producer_epoch=1, base_sequence=0)
    lab.append(T0, producer_id=8, producer_epoch=0, base_sequence=3, transactional=True)
    lab.log.append_marker(9, 2, NOW, commit=True, coordinator_epoch=4)
    (partition,) = describe(lab, 0)

    assert partition.error_code == 0
    assert [
        (p.producer_id, p.producer_epoch, p.last_sequence, p.last_timestamp, p.coordinator_epoch)
        for p in partition.active_producers
    ] == [(7, 1, 1, T0 + 5, -1), (8, 0, 3, T0, -1), (9, 2, -1, NOW.wall_ms, 4)]
    assert [p.current_txn_start_offset for p in partition.active_producers] == [-1, 2, -1]
    lab.log.append_marker(8, 0, NOW, commit=True, coordinator_epoch=5)
    ended = describe(lab, 0)[0].active_producers[1]
    assert (ended.last_sequence, ended.coordinator_epoch, ended.current_txn_start_offset) == (3, 5, -1)


@pytest.mark.rules("DP-2")
def test_what_cannot_be_described(make_call: Make) -> None:
    """Unknown topics and partitions are 3, names that no topic can have 17, another leader's partition 6."""
    lab = LogApis(make_call, nodes=2)
    lab.log.append(batch(T0, producer_id=7, producer_epoch=1, base_sequence=0), NOW)

    assert [p.error_code for p in describe(lab, 0, 2, -1)] == [
        0,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert [p.error_message for p in describe(lab, 0, 2)] == [None, None]
    (unknown,) = describe(lab, 0, name="nope")
    assert (unknown.error_code, unknown.error_message is not None) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, True)
    for name in ("", "not a name"):
        (illegal,) = describe(lab, 0, name=name)
        assert (illegal.error_code, illegal.error_message is not None) == (ErrorCode.INVALID_TOPIC_EXCEPTION, True)
    (elsewhere,) = describe(lab, 0, node_id=2)
    assert (elsewhere.error_code, elsewhere.active_producers) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, [])
    assert describe(lab) == []

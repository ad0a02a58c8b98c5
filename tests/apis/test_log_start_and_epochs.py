"""Tests of DeleteRecords, OffsetForLeaderEpoch and InitProducerId."""

from collections.abc import Callable

import pytest

from fakebroker.apis import delete_records, init_producer_id, offset_for_leader_epoch
from fakebroker.apis.call import Call
from fakebroker.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from fakebroker.wire.messages.init_producer_id import InitProducerIdRequest
from fakebroker.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tests.apis.log_lab import NOW, T0, Lab

Make = Callable[..., Call]


def delete(
    lab: Lab, offset: int, index: int = 0, name: str = "t", version: int = 2, node_id: int = 1
) -> tuple[int, int]:
    """(error, low watermark)."""
    asked = [DeleteRecordsPartition(partition_index=index, offset=offset)]
    request = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=name, partitions=asked)], timeout_ms=1000)
    (result,) = lab.ask(delete_records, request, version, node_id).topics[0].partitions
    return result.error_code, result.low_watermark


def end_of(
    lab: Lab, epoch: int, version: int = 4, index: int = 0, current: int = -1, node_id: int = 1
) -> tuple[int, int, int]:
    """(error, leader epoch, end offset)."""
    asked = OffsetForLeaderPartition(partition=index, current_leader_epoch=current, leader_epoch=epoch)
    request = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic="t", partitions=[asked])])
    (answer,) = lab.ask(offset_for_leader_epoch, request, version, node_id).topics[0].partitions
    return answer.error_code, answer.leader_epoch, answer.end_offset


@pytest.mark.rules("DL-1", "DL-2", "DL-3", "DL-4")
@pytest.mark.parametrize("version", range(3))
def test_delete_records(make_call: Make, version: int) -> None:
    """Up to the high watermark, -1 is all of it; backwards does nothing; beyond is refused."""
    lab = Lab(make_call)
    lab.append(T0, T0, T0)
    lab.append(T0)

    assert delete(lab, 2, version=version) == (0, 2)
    assert delete(lab, 1, version=version) == (0, 2)
    assert delete(lab, 5, version=version) == delete(lab, -2, version=version) == (1, -1)
    assert delete(lab, -1, version=version) == (0, 4)
    assert (lab.log.log_start_offset, lab.log.log_end_offset) == (4, 4)


@pytest.mark.rules("DL-5")
def test_delete_records_refusals(make_call: Make) -> None:
    """Unknown 3, internal 17, not the leader 6, compact without delete 44; an empty policy allows it."""
    lab = Lab(make_call, nodes=2)
    lab.cluster.topics.internal("__consumer_offsets")
    for name, policy in (("c", "compact"), ("both", "compact,delete"), ("none", "")):
        lab.cluster.topics.create(name, config={"cleanup.policy": policy}, assignments=[[1]])

    assert delete(lab, 0, 7) == delete(lab, 0, -1) == delete(lab, 0, name="nope") == (3, -1)
    assert delete(lab, 0, name="__consumer_offsets") == (17, -1)
    assert delete(lab, 0, node_id=2) == (6, -1)
    assert delete(lab, 0, name="c") == (44, -1)
    assert delete(lab, 0, name="both") == delete(lab, 0, name="none") == (0, 0)


@pytest.mark.rules("OE-2", "OE-4", "OE-7", "LE-2", "LE-3")
def test_epoch_ends(make_call: Make) -> None:
    """The latest ends with the log, older ones where the next began; deleting records cuts the history."""
    lab = Lab(make_call)
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
    lab = Lab(make_call, nodes=2)
    lab.partition.lead(2, NOW)
    epoch = lab.partition.leader_epoch

    assert end_of(lab, 0, index=9, current=7) == (3, -1, -1)
    assert end_of(lab, 0, current=epoch - 1) == end_of(lab, 0, current=-2) == (74, -1, -1)
    assert end_of(lab, 0, current=epoch + 1) == (75, -1, -1)
    assert end_of(lab, 0) == (6, -1, -1)
    twice = [OffsetForLeaderPartition(partition=0, leader_epoch=0)] * 2
    request = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic="t", partitions=twice)])
    assert len(lab.ask(offset_for_leader_epoch, request, 4, 2).topics[0].partitions) == 2


@pytest.mark.rules("OE-2")
@pytest.mark.parametrize("version", range(5))
def test_epoch_ends_in_every_version(make_call: Make, version: int) -> None:
    """v0 has no epoch in its answer."""
    lab = Lab(make_call)
    lab.append(T0)

    assert end_of(lab, 0, version) == (0, 0 if version else -1, 1)


def initialize(lab: Lab, version: int = 4, name: str | None = None, **fields: int) -> tuple[int, int, int]:
    """(error, producer id, epoch)."""
    request = InitProducerIdRequest(transactional_id=name, **{"transaction_timeout_ms": 1000, **fields})
    response = lab.ask(init_producer_id, request, version)
    return response.error_code, response.producer_id, response.producer_epoch


@pytest.mark.rules("PI-1", "PI-2")
@pytest.mark.parametrize("version", range(6))
def test_idempotent_producers_get_fresh_ids(make_call: Make, version: int) -> None:
    """They count up by one, at epoch 0, whatever the timeout says."""
    lab = Lab(make_call)
    code, first, epoch = initialize(lab, version)

    assert (code, epoch) == (0, 0)
    assert initialize(lab, version, transaction_timeout_ms=-5) == (0, first + 1, 0)
    if version >= 3:
        assert initialize(lab, version, producer_id=3, producer_epoch=9) == (0, first + 2, 0)


@pytest.mark.rules("PI-3", "PI-4", "PI-5")
def test_what_no_coordinator_is_needed_for(make_call: Make) -> None:
    """Half a producer 42, before all else; an empty transactional id 42; a timeout out of range 50; then 15."""
    lab = Lab(make_call)

    assert initialize(lab, producer_id=3) == initialize(lab, producer_epoch=3) == (42, -1, -1)
    assert initialize(lab, name="x", producer_id=3, transaction_timeout_ms=0) == (42, -1, -1)
    assert initialize(lab, name="", transaction_timeout_ms=0) == (42, -1, -1)
    for timeout_ms in (0, -1, 900_001):
        assert initialize(lab, name="x", transaction_timeout_ms=timeout_ms) == (50, -1, -1)
    assert initialize(lab, name="x") == (15, -1, -1)

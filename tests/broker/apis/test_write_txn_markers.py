"""Tests of WriteTxnMarkers from clients."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.apis import write_txn_markers
from fakebroker.broker.apis.call import Call
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.records.batch import parse_header
from fakebroker.protocol.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from tests.support.log_apis import NOW, LogApis
from tests.support.time import T0

Make = Callable[..., Call]
EVERYTHING = 1 << 60


def marker(
    *indexes: int, producer_id: int = 7, epoch: int = 0, commit: bool = True, coordinator: int = 0, version: int = 0
) -> WritableTxnMarker:
    return WritableTxnMarker(
        producer_id=producer_id,
        producer_epoch=epoch,
        transaction_result=commit,
        topics=[WritableTxnMarkerTopic(name="t", partition_indexes=list(indexes))],
        coordinator_epoch=coordinator,
        transaction_version=version,
    )


def codes_of(response: WriteTxnMarkersResponse) -> dict[int, dict[int, int]]:
    """Of each producer id the codes of its partitions."""
    return {
        each.producer_id: {p.partition_index: p.error_code for topic in each.topics for p in topic.partitions}
        for each in response.markers
    }


def write(lab: LogApis, *markers: WritableTxnMarker, version: int = 2, node_id: int = 1) -> dict[int, dict[int, int]]:
    request = WriteTxnMarkersRequest(markers=list(markers))
    return codes_of(lab.ask(write_txn_markers, request, version, node_id))


def open_transaction(lab: LogApis, *, epoch: int = 0) -> None:
    lab.append(T0, producer_id=7, producer_epoch=epoch, base_sequence=0, transactional=True)


@pytest.mark.rules("WM-1")
@pytest.mark.parametrize("version", [0, 1, 2])
def test_each_partition_gets_its_marker(make_call: Make, version: int) -> None:
    """Unknown partitions are 3; several markers of one producer are answered together; nothing asked, nothing said."""
    lab = LogApis(make_call)
    open_transaction(lab)
    assert write(lab, version=version) == {}
    codes = write(lab, marker(0, 5), marker(1, 1), marker(0, producer_id=8, epoch=3), version=version)

    assert codes == {7: {0: 0, 5: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 1: 0}, 8: {0: 0}}
    assert [each.log.log_end_offset for each in lab.topic.partitions] == [3, 1]
    assert lab.log.last_stable_offset == 3


@pytest.mark.rules("WM-2", "WM-3")
def test_markers_that_come_too_late(make_call: Make) -> None:
    """An epoch below the producer's is 47, a coordinator epoch below the last one 52, and nothing is written."""
    lab = LogApis(make_call)
    open_transaction(lab, epoch=3)
    assert write(lab, marker(0, epoch=2)) == {7: {0: ErrorCode.INVALID_PRODUCER_EPOCH}}
    assert write(lab, marker(0, epoch=3, coordinator=5)) == {7: {0: 0}}
    assert write(lab, marker(0, epoch=3, coordinator=4)) == {7: {0: ErrorCode.TRANSACTION_COORDINATOR_FENCED}}
    assert write(lab, marker(0, epoch=2, coordinator=4)) == {7: {0: ErrorCode.INVALID_PRODUCER_EPOCH}}
    assert lab.log.log_end_offset == 2


@pytest.mark.rules("WM-2")
def test_markers_of_tv2(make_call: Make) -> None:
    """They are above the data; the same once more is a retry, which is written if no transaction is open."""
    lab = LogApis(make_call)
    open_transaction(lab)
    assert write(lab, marker(0, version=2)) == {7: {0: ErrorCode.INVALID_PRODUCER_EPOCH}}
    assert write(lab, marker(0, epoch=1, version=2, commit=False)) == {7: {0: 0}}
    assert write(lab, marker(0, epoch=1, version=2, commit=False)) == {7: {0: 0}}
    open_transaction(lab, epoch=1)
    assert write(lab, marker(0, epoch=1, version=2)) == {7: {0: ErrorCode.INVALID_PRODUCER_EPOCH}}
    assert write(lab, marker(0, epoch=1)) == {7: {0: 0}}

    assert [parse_header(each).producer_epoch for each in lab.log.batches()] == [0, 1, 1, 1, 1]
    assert [tuple(each) for each in lab.log.aborted.entries] == [(7, 0, 1, 2)]


def test_only_the_leader_writes(make_call: Make) -> None:
    """Another broker answers 6, too few replicas in sync are 19."""
    lab = LogApis(make_call, nodes=2, min_insync_replicas=2)
    assert write(lab, marker(0), node_id=2) == {7: {0: ErrorCode.NOT_LEADER_OR_FOLLOWER}}
    lab.partition.isr = [1]

    assert write(lab, marker(0)) == {7: {0: ErrorCode.NOT_ENOUGH_REPLICAS}}
    assert lab.log.log_end_offset == 0


def test_the_answer_waits_for_replicas(make_call: Make) -> None:
    """As with acks -1 of a Produce."""
    lab = LogApis(make_call)
    lab.log.limit_high_watermark(0, NOW)
    call, response = lab.call(write_txn_markers, WriteTxnMarkersRequest(markers=[marker(0)]), 1)
    connection: Any = call.connection
    assert (response, connection.replies) == (None, [])
    lab.log.limit_high_watermark(None, NOW)

    assert codes_of(connection.replies[0]) == {7: {0: 0}}

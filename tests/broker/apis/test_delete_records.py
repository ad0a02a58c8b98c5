"""DeleteRecords: up to where a log is cut, and which logs are not."""

from collections.abc import Callable

import pytest

from fakebroker.broker.apis import delete_records
from fakebroker.broker.apis.call import Call
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tests.support.log_apis import LogApis
from tests.support.time import T0

Make = Callable[..., Call]


def delete(
    lab: LogApis, offset: int, index: int = 0, name: str = "t", version: int = 2, node_id: int = 1
) -> tuple[int, int]:
    """(error, low watermark)."""
    asked = [DeleteRecordsPartition(partition_index=index, offset=offset)]
    request = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=name, partitions=asked)], timeout_ms=1000)
    (result,) = lab.ask(delete_records, request, version, node_id).topics[0].partitions
    return result.error_code, result.low_watermark


@pytest.mark.rules("DL-1", "DL-2", "DL-3", "DL-4")
@pytest.mark.parametrize("version", range(3))
def test_delete_records(make_call: Make, version: int) -> None:
    """Up to the high watermark, -1 is all of it; backwards does nothing; beyond is refused."""
    lab = LogApis(make_call)
    lab.append(T0, T0, T0)
    lab.append(T0)

    assert delete(lab, 2, version=version) == (0, 2)
    assert delete(lab, 1, version=version) == (0, 2)
    assert delete(lab, 5, version=version) == delete(lab, -2, version=version) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    assert delete(lab, -1, version=version) == (0, 4)
    assert (lab.log.log_start_offset, lab.log.log_end_offset) == (4, 4)


@pytest.mark.rules("DL-5")
def test_delete_records_refusals(make_call: Make) -> None:
    """Unknown 3, internal 17, not the leader 6, compact without delete 44; an empty policy allows it."""
    lab = LogApis(make_call, nodes=2)
    lab.cluster.topics.internal("__consumer_offsets")
    for name, policy in (("c", "compact"), ("both", "compact,delete"), ("none", "")):
        lab.cluster.topics.create(name, config={"cleanup.policy": policy}, assignments=[[1]])

    assert (
        delete(lab, 0, 7)
        == delete(lab, 0, -1)
        == delete(lab, 0, name="nope")
        == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)
    )
    assert delete(lab, 0, name="__consumer_offsets") == (ErrorCode.INVALID_TOPIC_EXCEPTION, -1)
    assert delete(lab, 0, node_id=2) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
    assert delete(lab, 0, name="c") == (ErrorCode.POLICY_VIOLATION, -1)
    assert delete(lab, 0, name="both") == delete(lab, 0, name="none") == (0, 0)


@pytest.mark.rules("DL-6")
def test_each_partition_is_answered_once(make_call: Make) -> None:
    """Of a partition that is named twice the last entry counts; a topic without partitions is left out."""
    lab = LogApis(make_call)
    lab.append(T0, T0, T0)

    def topic(name: str, *partitions: tuple[int, int]) -> DeleteRecordsTopic:
        entries = [DeleteRecordsPartition(partition_index=index, offset=offset) for index, offset in partitions]
        return DeleteRecordsTopic(name=name, partitions=entries)

    asked = [topic("t", (0, 3)), topic("none"), topic("nope", (0, 0), (0, 0)), topic("t", (0, 1))]
    answer = lab.ask(delete_records, DeleteRecordsRequest(topics=asked), 2, 1)
    found = [(each.name, [(row.error_code, row.low_watermark) for row in each.partitions]) for each in answer.topics]
    assert found == [("t", [(0, 1)]), ("nope", [(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)])]

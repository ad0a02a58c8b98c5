"""Requests to a broker that does not lead the partition that they are about (CLU)."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.apis import delete_records, list_offsets, offset_for_leader_epoch, produce
from fakebroker.broker.apis.call import Call
from fakebroker.protocol.errors import CloseConnection, ErrorCode
from fakebroker.protocol.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from fakebroker.protocol.wire.messages.leave_group import MemberIdentity
from fakebroker.protocol.wire.messages.list_offsets import ListOffsetsRequest, ListOffsetsTopic
from fakebroker.protocol.wire.messages.offset_commit import OffsetCommitRequestTopic
from fakebroker.protocol.wire.messages.offset_fetch import OffsetFetchRequestGroup
from fakebroker.protocol.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from fakebroker.protocol.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.support.frames import OffsetRow
from tests.support.group_apis import GroupApis, join
from tests.support.log_apis import NOW, LogApis, batch
from tests.support.time import T0

Make = Callable[..., Call]
GROUP_REQUESTS: list[tuple[str, int, Callable[[str], dict[str, Any]]]] = [
    ("JoinGroup", 9, join),
    ("SyncGroup", 4, lambda group: {"group_id": group, "member_id": "m", "generation_id": 1}),
    ("Heartbeat", 4, lambda group: {"group_id": group, "member_id": "m", "generation_id": 1}),
    ("LeaveGroup", 5, lambda group: {"group_id": group, "members": [MemberIdentity(member_id="m")]}),
    ("OffsetFetch", 8, lambda group: {"groups": [OffsetFetchRequestGroup(group_id=group, topics=None)]}),
    ("OffsetDelete", 0, lambda group: {"group_id": group}),
    ("DescribeGroups", 5, lambda group: {"groups": [group]}),
    ("DeleteGroups", 2, lambda group: {"groups_names": [group]}),
]


@pytest.mark.rules("CLU-10")
@pytest.mark.parametrize(("name", "version", "fields"), GROUP_REQUESTS, ids=[row[0] for row in GROUP_REQUESTS])
def test_group_requests(make_call: Make, name: str, version: int, fields: Callable[[str], dict[str, Any]]) -> None:
    """16 from a broker that does not coordinate the group, at the top level or on the group."""
    lab = GroupApis(make_call, node_ids=(1, 2))
    answer = lab.ask(name, version, **fields(lab.elsewhere()))
    of_groups = getattr(answer, "groups", None) or getattr(answer, "results", None)

    assert [each.error_code for each in of_groups or [answer]] == [ErrorCode.NOT_COORDINATOR]


@pytest.mark.rules("CLU-11")
def test_what_is_checked_first(make_call: Make) -> None:
    """A session timeout that cannot be, an empty group id, a missing protocol; not the protocols of a join."""
    lab = GroupApis(make_call, node_ids=(1, 2), group_min_session_timeout_ms=6000)
    elsewhere = lab.elsewhere()

    assert (
        lab.ask("JoinGroup", 9, **join(elsewhere, session_timeout_ms=1)).error_code == ErrorCode.INVALID_SESSION_TIMEOUT
    )
    assert lab.ask("JoinGroup", 9, **join("")).error_code == ErrorCode.INVALID_GROUP_ID
    answer = lab.ask("JoinGroup", 9, **join(elsewhere, "m", protocols=[]))
    assert (answer.error_code, answer.member_id) == (ErrorCode.NOT_COORDINATOR, "")
    asked: dict[str, Any] = {"group_id": elsewhere, "generation_id": 1, "member_id": "m"}
    assert lab.ask("SyncGroup", 5, **asked).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert lab.ask("Heartbeat", 4, **{**asked, "group_id": ""}).error_code == ErrorCode.INVALID_GROUP_ID


@pytest.mark.rules("CLU-10")
def test_a_commit(make_call: Make) -> None:
    """16 on every partition."""
    lab = GroupApis(make_call, node_ids=(1, 2))
    lab.cluster.topics.create("t", 2)
    rows: list[OffsetRow] = [(0, 5, -1, -1, ""), (1, 5, -1, -1, "")]
    topics = [OffsetCommitRequestTopic(name="t", partitions=rows)]
    answer = lab.ask("OffsetCommit", 8, group_id=lab.elsewhere(), topics=topics)

    assert answer.topics[0].partitions == [(0, ErrorCode.NOT_COORDINATOR), (1, ErrorCode.NOT_COORDINATOR)]


@pytest.fixture
def lab(make_call: Make) -> LogApis:
    """Brokers 1 and 2 have a replica of partition 0, broker 3 has none."""
    lab = LogApis(make_call, nodes=3)
    lab.partition.replicas, lab.partition.isr = [1, 2], [1, 2]
    return lab


def produce_request(acks: int = -1, **fields: Any) -> ProduceRequest:
    """One batch for partition 0."""
    data = [PartitionProduceData(index=0, records=batch(T0, **fields))]
    return ProduceRequest(acks=acks, timeout_ms=1000, topic_data=[TopicProduceData(name="t", partition_data=data)])


def produced(lab: LogApis, node_id: int, **fields: Any) -> tuple[int, int]:
    """(error code, base offset) of a batch sent to a broker."""
    (topic,) = lab.ask(produce, produce_request(**fields), 9, node_id).responses
    return topic.partition_responses[0].error_code, topic.partition_responses[0].base_offset


@pytest.mark.rules("CLU-50")
@pytest.mark.parametrize("leader", [2, -1])
def test_requests_about_records(lab: LogApis, leader: int) -> None:
    """6 from a follower, from a broker without a replica, and while nobody leads."""
    lab.partition.lead(leader, NOW)
    asked = [ListOffsetsTopic(name="t", partitions=[(0, -1, -1, 1)])]
    epochs = [OffsetForLeaderTopic(topic="t", partitions=[OffsetForLeaderPartition(partition=0, leader_epoch=0)])]
    deletions = [DeleteRecordsTopic(name="t", partitions=[DeleteRecordsPartition(partition_index=0, offset=0)])]

    for node_id in (1, 3):
        (offsets,) = lab.ask(list_offsets, ListOffsetsRequest(topics=asked), 7, node_id).topics
        assert offsets.partitions == [(0, 6, [], -1, -1, -1)]
        (ends,) = lab.ask(offset_for_leader_epoch, OffsetForLeaderEpochRequest(topics=epochs), 4, node_id).topics
        assert [(each.error_code, each.end_offset) for each in ends.partitions] == [
            (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
        ]
        (deleted,) = lab.ask(delete_records, DeleteRecordsRequest(topics=deletions), 2, node_id).topics
        assert [(each.error_code, each.low_watermark) for each in deleted.partitions] == [
            (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
        ]
        assert produced(lab, node_id) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
        with pytest.raises(CloseConnection, match="NOT_LEADER_OR_FOLLOWER"):
            lab.call(produce, produce_request(acks=0), 9, node_id)


@pytest.mark.rules("CLU-57")
def test_producers_move_with_the_leader(lab: LogApis) -> None:
    """The new leader answers a repetition with its old offset and refuses a gap."""
    first = {"producer_id": 1, "producer_epoch": 0, "base_sequence": 0}
    assert produced(lab, 1) == (0, 0)
    assert produced(lab, 1, **first) == (0, 1)
    lab.partition.lead(2, NOW)

    assert produced(lab, 2, **first) == (0, 1)
    assert produced(lab, 2, **first | {"base_sequence": 5}) == (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    assert produced(lab, 2, **first | {"base_sequence": 1}) == (0, 2)

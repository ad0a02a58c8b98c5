"""What a ShareFetch answers for what its partitions gave and for what became of acknowledgements (SGF-10, SGF-15)."""

from collections.abc import Mapping

from fakebroker.broker.apis.call import Call
from fakebroker.broker.apis.fetch_answer import together
from fakebroker.broker.apis.leader_hint import name_leader
from fakebroker.broker.apis.share_requests import AcknowledgeError, find_partition
from fakebroker.broker.core.share_partitions.group_settings import ShareGroupSettings
from fakebroker.broker.core.share_partitions.sessions import TopicIdPartition
from fakebroker.broker.core.share_partitions.share_fetch import FetchedRecords
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.share_fetch import (
    AcquiredRecords,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchResponse,
)

_NOTHING = FetchedRecords(ErrorCode.NONE)
_NOT_ACKNOWLEDGED: AcknowledgeError = (ErrorCode.NONE, None)


def share_fetch_response(
    call: Call,
    group_id: str,
    found: Mapping[TopicIdPartition, FetchedRecords],
    acknowledged: Mapping[TopicIdPartition, AcknowledgeError],
) -> ShareFetchResponse:
    """The answer that lists the partitions of both, those of a topic by their index."""
    response = ShareFetchResponse(acquisition_lock_timeout_ms=ShareGroupSettings(call.node, group_id).lock_duration_ms)
    topics: dict[bytes, ShareFetchableTopicResponse] = {}
    for key in sorted({**found, **acknowledged}):
        topic_id, _ = key
        topic = topics.setdefault(topic_id, ShareFetchableTopicResponse(topic_id=topic_id, partitions=[]))
        records, error = found.get(key, _NOTHING), acknowledged.get(key, _NOT_ACKNOWLEDGED)
        data = _partition_data(key, records, error)
        topic.partitions.append(data)
        partition, _ = find_partition(call, key)
        if ErrorCode.NOT_LEADER_OR_FOLLOWER in (records.code, error[0]) and partition is not None:
            name_leader(call, partition, data, response, leader=LeaderIdAndEpoch, endpoint=NodeEndpoint)
    response.responses = list(topics.values())
    return response


def _partition_data(key: TopicIdPartition, records: FetchedRecords, error: AcknowledgeError) -> PartitionData:
    return PartitionData(
        partition_index=key[1],
        error_code=records.code,
        acknowledge_error_code=error[0],
        acknowledge_error_message=error[1],
        records=together(records.batches),
        acquired_records=[
            AcquiredRecords(first_offset=each[0], last_offset=each[1], delivery_count=each[2])
            for each in records.acquired
        ],
    )

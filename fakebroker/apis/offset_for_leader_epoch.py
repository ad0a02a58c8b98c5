"""OffsetForLeaderEpoch, key 23, v0-v4: where a leader epoch ended (KIP-101, KIP-279, KIP-320; LE, OE).

v1 the epoch in the answer; v2 current leader epoch; v3 replica id, which is ignored (OE-4); v4 flexible.
"""

from fakebroker.apis.call import Call
from fakebroker.errors import ErrorCode
from fakebroker.wire.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)


def handle(call: Call, request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse:
    """Answer each partition on its own; one that comes twice gets two answers (OE-5)."""
    response = OffsetForLeaderEpochResponse()
    for topic in request.topics:
        partitions = [_answer(call, topic.topic, asked) for asked in topic.partitions]
        response.topics.append(OffsetForLeaderTopicResult(topic=topic.topic, partitions=partitions))
    return response


def _answer(call: Call, name: str, asked: OffsetForLeaderPartition) -> EpochEndOffset:
    partition = call.cluster.topics.partition(name, asked.partition)
    if partition is None:
        return _error(asked, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    code = partition.error_for_access(call.node.id, asked.current_leader_epoch)
    if code:
        return _error(asked, code)
    epoch, end_offset = partition.log.epochs.end_of(asked.leader_epoch, partition.log.log_end_offset)
    return EpochEndOffset(partition=asked.partition, leader_epoch=epoch, end_offset=end_offset)


def _error(asked: OffsetForLeaderPartition, code: ErrorCode) -> EpochEndOffset:
    return EpochEndOffset(partition=asked.partition, error_code=code, leader_epoch=-1, end_offset=-1)

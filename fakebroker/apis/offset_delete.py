"""OffsetDelete, key 47, v0 (OD).

What concerns the group is said at the top, and then no partition is listed (OD-2).
"""

from fakebroker.apis.call import Call
from fakebroker.core.classic_group import ClassicGroup
from fakebroker.core.commit_rules import is_subscribed, refusal_to_delete_offsets
from fakebroker.core.shard import Shard
from fakebroker.errors import ErrorCode, KafkaError
from fakebroker.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)


def handle(call: Call, request: OffsetDeleteRequest) -> OffsetDeleteResponse:
    """The group first, then each partition."""
    if not request.group_id:
        return OffsetDeleteResponse(error_code=ErrorCode.INVALID_GROUP_ID)
    try:
        shard = call.node.coordinator.shard(request.group_id, call.now)
    except KafkaError as refused:
        return OffsetDeleteResponse(error_code=refused.code)
    group = shard.group(request.group_id)
    refusal = ErrorCode.GROUP_ID_NOT_FOUND if group is None else refusal_to_delete_offsets(group)
    if group is None or refusal:
        return OffsetDeleteResponse(error_code=refusal)
    return _delete(call, request, shard, group)


def _delete(call: Call, request: OffsetDeleteRequest, shard: Shard, group: ClassicGroup) -> OffsetDeleteResponse:
    response = OffsetDeleteResponse()
    doomed: list[tuple[str, int]] = []
    for name, indexes in _asked(call, request):
        codes = [(index, _judge(call, group, name, index)) for index in indexes]
        doomed += [(name, index) for index, code in codes if not code]
        response.topics.append(
            OffsetDeleteResponseTopic(
                name=name,
                partitions=[OffsetDeleteResponsePartition(partition_index=i, error_code=code) for i, code in codes],
            )
        )
    shard.delete_offsets(group, dict.fromkeys(doomed), call.now)
    return response


def _asked(call: Call, request: OffsetDeleteRequest) -> list[tuple[str, list[int]]]:
    asked = [(topic.name, [partition.partition_index for partition in topic.partitions]) for topic in request.topics]
    if call.cluster.behaviours.commits_answer_duplicates:
        return asked
    return [(name, list(dict.fromkeys(indexes))) for name, indexes in asked]  # 3.9.1 (OD-8)


def _judge(call: Call, group: ClassicGroup, topic_name: str, index: int) -> ErrorCode:
    """OD-1, OD-3, OD-4."""
    topic = call.cluster.topics.get(topic_name)
    if topic is None or topic.partition(index) is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if is_subscribed(group, topic_name) else ErrorCode.NONE

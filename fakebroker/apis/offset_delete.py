"""OffsetDelete, key 47, v0 (OD).

What concerns the group is said at the top, and then no partition is listed (OD-2).
"""

from fakebroker.apis.call import Call
from fakebroker.core.coordinator.shard import Shard
from fakebroker.core.groups.classic_group import ClassicGroup
from fakebroker.core.offsets.commit_rules import is_subscribed, refusal_to_delete_offsets
from fakebroker.errors import ErrorCode, KafkaError
from fakebroker.records.offsets_topic import TopicPartition
from fakebroker.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)

_Judged = tuple[str, list[tuple[int, ErrorCode]]]  # a topic and its partitions with their codes


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
    judged = [
        (topic.name, [(i, _judge(call, group, topic.name, i)) for i in _indexes(topic)]) for topic in request.topics
    ]
    to_delete = dict.fromkeys(
        TopicPartition(name, index) for name, codes in judged for index, code in codes if not code
    )
    if to_delete:
        shard.delete_offsets(group, to_delete, call.now)
    return OffsetDeleteResponse(
        topics=[
            OffsetDeleteResponseTopic(
                name=name,
                partitions=[OffsetDeleteResponsePartition(partition_index=i, error_code=code) for i, code in codes],
            )
            for name, codes in _as_kafka_lists(call, judged)
        ]
    )


def _indexes(topic: OffsetDeleteRequestTopic) -> list[int]:
    return [entry.partition_index for entry in topic.partitions]


def _as_kafka_lists(call: Call, judged: list[_Judged]) -> list[_Judged]:
    """Topics as they came, without those that have no partitions; as soon as anything is unknown, one entry for each.

    3.9.1 always does the latter, and lists each partition once (OD-8).
    """
    topics, once = call.cluster.topics, not call.cluster.behaviours.commits_answer_duplicates
    judged = [(name, codes) for name, codes in judged if codes or name not in topics]
    if not once and not any(name not in topics or any(map(_is_unknown, codes)) for name, codes in judged):
        return judged
    merged: dict[str, list[tuple[int, ErrorCode]]] = {}
    for name, codes in judged:
        merged.setdefault(name, []).extend(codes)
    return [(name, list(dict.fromkeys(codes)) if once else codes) for name, codes in merged.items()]


def _is_unknown(judged: tuple[int, ErrorCode]) -> bool:
    return judged[1] is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _judge(call: Call, group: ClassicGroup, topic_name: str, index: int) -> ErrorCode:
    """OD-1, OD-3, OD-4."""
    topic = call.cluster.topics.get(topic_name)
    if topic is None or topic.partition(index) is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if is_subscribed(group, topic_name) else ErrorCode.NONE

"""OffsetDelete, key 47, v0: delete committed offsets of a group (KIP-496, OD).

An error of the group is the top-level error, and then no partition is listed (OD-2).
"""

from fakebroker.broker.apis.call import Call
from fakebroker.broker.apis.replicated import when_replicated
from fakebroker.broker.core.coordinator.shard import Shard
from fakebroker.broker.core.groups.group import Group
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.records.offsets_topic import TopicPartition
from fakebroker.protocol.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)

_TopicCodes = tuple[str, list[tuple[int, ErrorCode]]]  # a topic and its partitions with their codes


def handle(call: Call, request: OffsetDeleteRequest) -> OffsetDeleteResponse | None:
    """Check the group first, then each partition; delete what may be deleted."""
    if not request.group_id:
        return OffsetDeleteResponse(error_code=ErrorCode.INVALID_GROUP_ID)
    try:
        shard = call.shard(request.group_id)
    except KafkaError as error:
        return OffsetDeleteResponse(error_code=error.code)
    group = shard.group(request.group_id)
    code = ErrorCode.GROUP_ID_NOT_FOUND if group is None else group.error_for_offset_delete()
    if group is None or code:
        return OffsetDeleteResponse(error_code=code)
    response = _delete(call, request, shard, group)
    return when_replicated(call, shard, response, lambda code: OffsetDeleteResponse(error_code=code))


def _delete(call: Call, request: OffsetDeleteRequest, shard: Shard, group: Group) -> OffsetDeleteResponse:
    topics = [(topic.name, _codes_of(call, group, topic)) for topic in request.topics]
    to_delete = dict.fromkeys(
        TopicPartition(name, i) for name, codes in topics for i, code in dict.fromkeys(codes) if not code
    )
    if to_delete:
        shard.delete_offsets(group, to_delete, call.now)
    return OffsetDeleteResponse(
        topics=[
            OffsetDeleteResponseTopic(
                name=name,
                partitions=[OffsetDeleteResponsePartition(partition_index=i, error_code=code) for i, code in codes],
            )
            for name, codes in _listed(call, topics)
        ]
    )


def _listed(call: Call, topics: list[_TopicCodes]) -> list[_TopicCodes]:
    """The topics as Kafka lists them: as they came; but if anything is unknown, one entry for each topic (OD-8).

    Known topics without partitions are left out. Up to 3.9.1 there always is one entry for each topic, and each
    partition that exists is listed once.
    """
    known, once = call.cluster.topics, not call.cluster.behaviours.commits_answer_duplicates
    topics = [(name, codes) for name, codes in topics if codes or name not in known]
    if not once and not any(name not in known or any(map(_is_unknown, codes)) for name, codes in topics):
        return topics
    merged: dict[str, list[tuple[int, ErrorCode]]] = {}
    for name, codes in topics:
        merged.setdefault(name, []).extend(codes)
    return [(name, _once(codes) if once else codes) for name, codes in merged.items()]


def _once(codes: list[tuple[int, ErrorCode]]) -> list[tuple[int, ErrorCode]]:
    """Each partition that exists once; those that do not, first, as often as they were asked for."""
    unknown = [each for each in codes if _is_unknown(each)]
    return [*unknown, *dict.fromkeys(each for each in codes if not _is_unknown(each))]


def _is_unknown(partition: tuple[int, ErrorCode]) -> bool:
    return partition[1] is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _codes_of(call: Call, group: Group, topic: OffsetDeleteRequestTopic) -> list[tuple[int, ErrorCode]]:
    """The codes of partitions: they must exist (OD-1, OD-3), and no member may subscribe to the topic (OD-4)."""
    known = call.cluster.topics.get(topic.name)
    existing = range(0 if known is None else len(known.partitions))
    code = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if group.is_subscribed(topic.name) else ErrorCode.NONE
    indexes = [entry.partition_index for entry in topic.partitions]
    return [(index, code if index in existing else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) for index in indexes]

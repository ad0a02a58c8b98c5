"""OffsetDelete, key 47, v0: delete committed offsets of a group (KIP-496, OD).

An error of the group is the top-level error, and then no partition is listed (OD-2).
"""

from collections.abc import Collection, Generator, Iterable
from typing import Final

from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.apis.replicated import when_replicated
from fakebroker.broker.core.coordinator.shard import Shard
from fakebroker.broker.core.groups.group import Group
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.pace import Pace
from fakebroker.protocol.records.offsets_topic import TopicPartition
from fakebroker.protocol.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)

ENTRIES_PER_STEP: Final = 2_000  # topics and partitions

_TopicCodes = tuple[str, list[tuple[int, ErrorCode]]]  # a topic and its partitions with their codes


def handle(call: Call, request: OffsetDeleteRequest) -> OffsetDeleteResponse | None:
    """Check the group first, then each partition; delete what may be deleted."""
    try:
        _group(call, request.group_id)
    except KafkaError as error:
        return OffsetDeleteResponse(error_code=error.code)
    return call.work(_in_steps(call, request, call.pace(ENTRIES_PER_STEP)))


def _group(call: Call, group_id: str) -> tuple[Shard, Group]:
    """The group, if offsets of it may be deleted. Raises KafkaError."""
    if not group_id:
        raise KafkaError(ErrorCode.INVALID_GROUP_ID)
    shard = call.shard(group_id)
    group = shard.group(group_id)
    code = ErrorCode.GROUP_ID_NOT_FOUND if group is None else group.error_for_offset_delete()
    if group is None or code:
        raise KafkaError(code)
    return shard, group


def _in_steps(call: Call, request: OffsetDeleteRequest, pace: Pace) -> Steps[OffsetDeleteResponse]:
    """Look up all partitions; then ask the group, which may have changed meanwhile, and delete, at one moment."""
    topics, existing = list[_TopicCodes](), dict[TopicPartition, None]()
    for topic in request.topics:
        codes = _codes_of(call, topic.name, [entry.partition_index for entry in topic.partitions])
        topics.append((topic.name, codes))
        existing.update((TopicPartition(topic.name, index), None) for index, code in codes if not code)
        if pace.is_over(1 + len(codes)):
            yield
    try:
        shard, group = _group(call, request.group_id)
    except KafkaError as error:
        return OffsetDeleteResponse(error_code=error.code)
    subscribed = {name for name in dict.fromkeys(key.topic for key in existing) if group.is_subscribed(name)}
    to_delete = {key: None for key in existing if key.topic not in subscribed}
    if to_delete:
        shard.delete_offsets(group, to_delete, call.now)
    listed = yield from _listed(call, topics, pace)
    response = yield from _response(listed, subscribed, pace)
    return when_replicated(call, shard, response, lambda code: OffsetDeleteResponse(error_code=code))


def _codes_of(call: Call, name: str, indexes: Iterable[int]) -> list[tuple[int, ErrorCode]]:
    """Whether these partitions exist (OD-1, OD-3)."""
    topic = call.cluster.topics.get(name)
    existing = range(0 if topic is None else len(topic.partitions))
    none, unknown = ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return [(index, none if index in existing else unknown) for index in indexes]


def _response(
    topics: list[_TopicCodes], subscribed: Collection[str], pace: Pace
) -> Generator[None, None, OffsetDeleteResponse]:
    """No member may subscribe to a topic of which offsets are deleted (OD-4)."""
    response = OffsetDeleteResponse()
    for name, codes in topics:
        deleted = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if name in subscribed else ErrorCode.NONE
        partitions = [
            OffsetDeleteResponsePartition(partition_index=index, error_code=code or deleted) for index, code in codes
        ]
        response.topics.append(OffsetDeleteResponseTopic(name=name, partitions=partitions))
        if pace.is_over(1 + len(codes)):
            yield
    return response


def _listed(call: Call, topics: list[_TopicCodes], pace: Pace) -> Generator[None, None, list[_TopicCodes]]:
    """The topics as Kafka lists them: as they came; but if anything is unknown, one entry for each topic (OD-8).

    Known topics without partitions are left out. Up to 3.9.1 there always is one entry for each topic, and each
    partition that exists is listed once.
    """
    once = not call.cluster.behaviours.commits_answer_duplicates
    listed, merged, is_unknown = list[_TopicCodes](), dict[str, list[tuple[int, ErrorCode]]](), False
    for name, codes in topics:
        is_known = name in call.cluster.topics
        if codes or not is_known:
            listed.append((name, codes))
            merged.setdefault(name, []).extend(codes)
            is_unknown = is_unknown or not is_known or any(map(_is_unknown, codes))
        if pace.is_over(1 + len(codes)):
            yield
    if not once and not is_unknown:
        return listed
    return [(name, _once(codes) if once else codes) for name, codes in merged.items()]


def _once(codes: list[tuple[int, ErrorCode]]) -> list[tuple[int, ErrorCode]]:
    """Each partition that exists once; those that do not, first, as often as they were asked for."""
    unknown = [each for each in codes if _is_unknown(each)]
    return [*unknown, *dict.fromkeys(each for each in codes if not _is_unknown(each))]


def _is_unknown(partition: tuple[int, ErrorCode]) -> bool:
    return partition[1] is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

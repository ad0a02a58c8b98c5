"""OffsetDelete, key 47, v0: delete committed offsets of a group (KIP-496, OD).

An error of the group is the top-level error, and then no partition is listed (OD-2).
"""

from collections.abc import Collection, Generator
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
_UNKNOWN: Final = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

_TopicCodes = tuple[str, list[tuple[int, ErrorCode]]]  # a topic and its partitions with their codes


def handle(call: Call, request: OffsetDeleteRequest) -> OffsetDeleteResponse | None:
    """Check the group first, then each partition; delete what may be deleted."""
    try:
        group_of(call, request.group_id)
    except KafkaError as error:
        return OffsetDeleteResponse(error_code=error.code)
    return call.work(_in_steps(call, request, call.pace(ENTRIES_PER_STEP)))


def group_of(call: Call, group_id: str) -> tuple[Shard, Group]:
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
    for entry in request.topics:
        topic, codes = call.cluster.topics.get(entry.name), list[tuple[int, ErrorCode]]()
        indexes = range(0 if topic is None else len(topic.partitions))
        for partition in entry.partitions:
            index = partition.partition_index
            if index in indexes:
                codes.append((index, ErrorCode.NONE))
                existing[TopicPartition(entry.name, index)] = None
            else:
                codes.append((index, _UNKNOWN))  # OD-1, OD-3
            if pace.is_over():
                yield
        topics.append((entry.name, codes))
        if pace.is_over():
            yield
    try:
        shard, group = group_of(call, request.group_id)
    except KafkaError as error:
        return OffsetDeleteResponse(error_code=error.code)
    subscribed = {name for name in dict.fromkeys(key.topic for key in existing) if group.is_subscribed(name)}
    to_delete = {key: None for key in existing if key.topic not in subscribed}
    if to_delete:
        shard.delete_offsets(group, to_delete, call.now)
    listed = yield from _listed(call, topics, pace)
    response = yield from _response(listed, subscribed, pace)
    return when_replicated(call, shard, response, lambda code: OffsetDeleteResponse(error_code=code))


def _response(
    topics: list[_TopicCodes], subscribed: Collection[str], pace: Pace
) -> Generator[None, None, OffsetDeleteResponse]:
    """No member may subscribe to a topic of which offsets are deleted (OD-4)."""
    response = OffsetDeleteResponse()
    for name, codes in topics:
        deleted = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if name in subscribed else ErrorCode.NONE
        partitions = list[OffsetDeleteResponsePartition]()
        for index, code in codes:
            partitions.append(OffsetDeleteResponsePartition(partition_index=index, error_code=code or deleted))
            if pace.is_over():
                yield
        response.topics.append(OffsetDeleteResponseTopic(name=name, partitions=partitions))
        if pace.is_over():
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
            is_unknown = is_unknown or not is_known or _UNKNOWN in [code for _, code in codes]
        if pace.is_over(1 + len(codes)):
            yield
    if not once and not is_unknown:
        return listed
    return [(name, _once(codes) if once else codes) for name, codes in merged.items()]


def _once(codes: list[tuple[int, ErrorCode]]) -> list[tuple[int, ErrorCode]]:
    """Each partition that exists once; those that do not, first, as often as they were asked for."""
    unknown = [each for each in codes if each[1] is _UNKNOWN]
    return [*unknown, *dict.fromkeys([each for each in codes if each[1] is not _UNKNOWN])]

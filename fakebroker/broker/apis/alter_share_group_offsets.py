"""AlterShareGroupOffsets, key 91, v0: give partitions of a share group other start offsets (KIP-932, SGO-4)."""

from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.core.groups.share.initialization import Codes
from fakebroker.broker.core.groups.share.offsets import alter_offsets
from fakebroker.broker.core.share_state.states import SharePartition
from fakebroker.broker.core.topics import Topic
from fakebroker.protocol.errors import ErrorCode, KafkaError, cut
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.pace import Pace
from fakebroker.protocol.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponseTopic,
)
from fakebroker.protocol.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsResponsePartition as _Answered,
)

PARTITIONS_PER_STEP = 2_000  # and topics
_NO_TOPIC_ID = bytes(16)

_Entry = tuple[AlterShareGroupOffsetsRequestTopic, Topic | None]


def handle(call: Call, request: AlterShareGroupOffsetsRequest) -> AlterShareGroupOffsetsResponse | None:
    """Alter what exists, and answer when the share coordinator has done so.

    Of a partition that is named twice the last offset counts.
    """
    if not request.group_id:
        return AlterShareGroupOffsetsResponse(error_code=ErrorCode.INVALID_GROUP_ID, error_message="no group id")
    return call.work(_in_steps(call, request), must_finish=True)


def _in_steps(call: Call, request: AlterShareGroupOffsetsRequest) -> Steps[AlterShareGroupOffsetsResponse]:
    """A frame of 1 MB may name 77,000 partitions."""
    topics, start_offsets, pace = list[_Entry](), dict[SharePartition, int](), call.pace(PARTITIONS_PER_STEP)
    for entry in request.topics:
        topic = call.cluster.topics.get(entry.topic_name)
        topics.append((entry, topic))
        for partition in entry.partitions if topic is not None else ():
            if topic is not None and topic.partition(partition.partition_index) is not None:
                key = SharePartition(request.group_id, topic.id, partition.partition_index)
                start_offsets[key] = partition.start_offset
            if pace.is_over():
                yield
        if pace.is_over():
            yield

    def altered(codes: Codes, _now: Instant) -> None:
        response = call.work(_response(request.group_id, topics, codes, pace))
        if response is not None:
            call.reply(response)

    try:
        alter_offsets(call.shard(request.group_id), request.group_id, start_offsets, altered, call.now)
    except KafkaError as error:
        return AlterShareGroupOffsetsResponse(error_code=error.code, error_message=error.message)
    return None


def _response(group_id: str, topics: list[_Entry], codes: Codes, pace: Pace) -> Steps[AlterShareGroupOffsetsResponse]:
    response = AlterShareGroupOffsetsResponse()
    for entry, topic in topics:
        topic_id, partitions = (_NO_TOPIC_ID if topic is None else topic.id), list[_Answered]()
        for partition in entry.partitions:
            index = partition.partition_index
            code = codes.get(SharePartition(group_id, topic_id, index), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            message = f"{cut(entry.topic_name)}-{index}: {code.name}" if code else None
            partitions.append(_Answered(partition_index=index, error_code=code, error_message=message))
            if pace.is_over():
                yield
        response.responses.append(
            AlterShareGroupOffsetsResponseTopic(topic_name=entry.topic_name, topic_id=topic_id, partitions=partitions)
        )
        if pace.is_over():
            yield
    return response

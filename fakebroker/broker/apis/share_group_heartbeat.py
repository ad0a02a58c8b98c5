"""ShareGroupHeartbeat, key 76, v1: a member of a share group joins, goes on or leaves (KIP-932, SGH)."""

from functools import partial
from typing import Any

from fakebroker.broker.apis.call import Call, Repeat
from fakebroker.broker.apis.replicated import when_replicated
from fakebroker.broker.core.groups.modern.heartbeats import JOIN_EPOCH
from fakebroker.broker.core.groups.share.heartbeat import heartbeat
from fakebroker.broker.core.groups.share.messages import LEAVE_EPOCH, HeartbeatAnswer, HeartbeatRequest
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.wire.messages.share_group_heartbeat import (
    Assignment,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
    TopicPartitions,
)

_LONGEST_MEMBER_ID = 36  # characters


def handle(call: Call, request: ShareGroupHeartbeatRequest) -> ShareGroupHeartbeatResponse | None:
    """Check the fields, then let the group serve the heartbeat. While others wait, a join has its own turn."""
    answer = partial(_answer, call, request)
    return answer() if request.member_epoch > 0 else call.in_own_turn(answer)


def _answer(call: Call, request: ShareGroupHeartbeatRequest) -> ShareGroupHeartbeatResponse | None:
    if not has_member_id(request):
        return ShareGroupHeartbeatResponse(error_code=ErrorCode.INVALID_REQUEST)  # without a text, as Kafka
    problem = _problem(request)
    if problem:
        return ShareGroupHeartbeatResponse(error_code=ErrorCode.INVALID_REQUEST, error_message=problem)
    try:
        shard = call.shard(request.group_id)
    except KafkaError as error:
        return ShareGroupHeartbeatResponse(error_code=error.code)
    response = _response(heartbeat(shard, _core_request(call, request), call.now))
    if response.error_code:
        return response
    return when_replicated(call, shard, response, lambda code: ShareGroupHeartbeatResponse(error_code=code))


def has_member_id(request: ShareGroupHeartbeatRequest) -> bool:
    """Whether there is one that is not too long: Kafka looks at that first."""
    return 0 < len(request.member_id) <= _LONGEST_MEMBER_ID


def repeat(call: Call, request: ShareGroupHeartbeatRequest, response: ShareGroupHeartbeatResponse) -> Repeat | None:
    """The next heartbeats of a member that has nothing to tell: what is new, only its group knows."""
    if response.error_code or response.assignment is not None or request.member_epoch <= JOIN_EPOCH:
        return None
    group_id, usual, version = request.group_id, _core_request(call, request), call.version
    loaded_shard = call.node.coordinator.loaded_shard
    known = HeartbeatAnswer(
        ErrorCode.NONE, None, response.member_id, response.member_epoch, response.heartbeat_interval_ms
    )
    welcome = response.encode(version)

    def answer(call: Call, _values: tuple[Any, ...]) -> bytes | None:
        shard = loaded_shard(group_id)
        if shard is None or not shard.is_replicated:
            return None
        answer = heartbeat(shard, usual, call.now)
        return welcome if answer == known else _response(answer).encode(version)

    return answer


def _problem(request: ShareGroupHeartbeatRequest) -> str | None:
    """What is wrong with the request, None: nothing (SGH-1)."""
    if not request.member_id.strip():
        return "the member id is blank"
    if not request.group_id.strip():
        return "the group id is blank"
    if request.rack_id is not None and not request.rack_id.strip():
        return "the rack id is blank"
    if request.member_epoch == 0 and not request.subscribed_topic_names:
        return "a joining member must send its subscribed topics"
    if request.member_epoch < LEAVE_EPOCH:
        return f"member epoch {request.member_epoch} is invalid"
    return None


def _core_request(call: Call, request: ShareGroupHeartbeatRequest) -> HeartbeatRequest:
    return HeartbeatRequest(
        request.group_id,
        request.member_id,
        request.member_epoch,
        request.rack_id,
        request.subscribed_topic_names,
        call.client_id or "",
        call.client_host,
    )


def _response(answer: HeartbeatAnswer) -> ShareGroupHeartbeatResponse:
    assignment = None
    if answer.assignment is not None:
        assignment = Assignment(
            topic_partitions=[
                TopicPartitions(topic_id=topic_id, partitions=list(partitions))
                for topic_id, partitions in answer.assignment.items()
            ]
        )
    return ShareGroupHeartbeatResponse(
        error_code=answer.code,
        error_message=answer.message,
        member_id=answer.member_id,
        member_epoch=answer.member_epoch,
        heartbeat_interval_ms=answer.heartbeat_interval_ms,
        assignment=assignment,
    )

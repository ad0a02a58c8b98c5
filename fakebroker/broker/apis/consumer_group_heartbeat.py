"""ConsumerGroupHeartbeat, key 68, v0-v1: a member of a consumer group joins, reconciles and leaves (KIP-848, CGH).

v1 a regular expression for topics; the member id is made by the client (KIP-1082).
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from fakebroker.broker.apis.call import Call, Repeat
from fakebroker.broker.apis.replicated import when_replicated
from fakebroker.broker.core.groups.consumer.heartbeat import heartbeat
from fakebroker.broker.core.groups.consumer.messages import (
    LEAVE_EPOCH,
    STATIC_LEAVE_EPOCH,
    HeartbeatAnswer,
    HeartbeatRequest,
    TopicPartitions,
)
from fakebroker.broker.core.groups.kinds import GroupKind
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.wire.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from fakebroker.protocol.wire.messages.consumer_group_heartbeat import TopicPartitions as WireTopicPartitions

_FIRST_CLIENT_MADE_ID = 1
_JOIN_EPOCH = 0


def handle(
    call: Call, request: ConsumerGroupHeartbeatRequest, may_describe: Callable[[str], bool] | None = None
) -> ConsumerGroupHeartbeatResponse | None:
    """Check the fields, then let the group answer (CGH-1 to CGH-6).

    `may_describe` says of topics whether the client has a right to know of them; None: it may know of all.
    The assignment of a member that joins may be long: while others wait it is made in its own turn.
    """
    answer = partial(_answer, call, request, may_describe)
    return answer() if request.member_epoch > 0 else call.in_own_turn(answer)


def _answer(
    call: Call, request: ConsumerGroupHeartbeatRequest, may_describe: Callable[[str], bool] | None
) -> ConsumerGroupHeartbeatResponse | None:
    try:
        check_is_served(call)
        _check_fields(call.version, request)
        _check_assignor(call, request.server_assignor)
    except KafkaError as error:
        return _response(HeartbeatAnswer(error.code, error.message))
    try:
        shard = call.shard(request.group_id)
    except KafkaError as error:
        return _response(HeartbeatAnswer(error.code))
    asked = _to_core(call, request)
    if may_describe is not None:
        asked = asked._replace(may_describe=may_describe)
    answer = heartbeat(shard, asked, call.now)
    response = _response(answer)
    if shard.is_replicated or answer.code:
        return response
    return when_replicated(call, shard, response, lambda code: _response(HeartbeatAnswer(code)))


def repeat(
    call: Call, request: ConsumerGroupHeartbeatRequest, response: ConsumerGroupHeartbeatResponse
) -> Repeat | None:
    """The next heartbeats of a member that has nothing to tell: what is new, only its group knows."""
    if response.error_code or response.assignment is not None or request.member_epoch <= _JOIN_EPOCH:
        return None
    group_id, usual = request.group_id, _to_core(call, request)
    loaded_shard = call.node.coordinator.loaded_shard
    version, known = call.version, _answer_of(response)
    welcome = response.encode(version)

    def answer(call: Call, _values: tuple[Any, ...]) -> bytes | None:
        shard = loaded_shard(group_id)
        if shard is None or not shard.is_replicated:
            return None
        answer = heartbeat(shard, usual, call.now)
        return welcome if answer == known else _response(answer).encode(version)

    return answer


# -- checks of the fields ----------------------------------------------------------------------------------------------


def check_is_served(call: Call) -> None:
    """Raises KafkaError UNSUPPORTED_VERSION unless the broker serves consumer groups (CGH-1)."""
    if GroupKind.CONSUMER not in call.node.settings.get_list("group.coordinator.rebalance.protocols"):
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)


def _check_fields(version: int, request: ConsumerGroupHeartbeatRequest) -> None:
    """Raises KafkaError INVALID_REQUEST with a text for the first field that is wrong (CGH-2)."""
    epoch = request.member_epoch
    if version >= _FIRST_CLIENT_MADE_ID or epoch > _JOIN_EPOCH or epoch == LEAVE_EPOCH:
        _check_not_blank("MemberId", request.member_id)
    _check_not_blank("GroupId", request.group_id)
    _check_not_blank("InstanceId", request.instance_id)
    _check_not_blank("RackId", request.rack_id)
    if epoch == _JOIN_EPOCH:
        _check_join(request)
    elif epoch == STATIC_LEAVE_EPOCH and request.instance_id is None:
        raise _invalid("InstanceId can't be null.")
    elif epoch < STATIC_LEAVE_EPOCH:
        raise _invalid("MemberEpoch is invalid.")


def _check_not_blank(name: str, value: str | None) -> None:
    """Null is fine. As Java's `trim` has it, all characters up to the space are blank."""
    if value is not None and all(character <= " " for character in value):
        raise _invalid(f"{name} can't be empty.")


def _check_join(request: ConsumerGroupHeartbeatRequest) -> None:
    """A member that joins says how long it may take to revoke, that it owns nothing, and what it wants to read."""
    if request.rebalance_timeout_ms == -1:
        raise _invalid("RebalanceTimeoutMs must be provided in first request.")
    if request.topic_partitions is None or request.topic_partitions:
        raise _invalid("TopicPartitions must be empty when (re-)joining.")
    if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
        raise _invalid("Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.")


def _check_assignor(call: Call, name: str | None) -> None:
    """Raises KafkaError UNSUPPORTED_ASSIGNOR unless it is null or one of the broker's (CGH-3)."""
    served = call.node.settings.get_list("group.consumer.assignors")
    if name is not None and name not in served:
        text = f"ServerAssignor {name} is not supported. Supported assignors: {', '.join(served)}."
        raise KafkaError(ErrorCode.UNSUPPORTED_ASSIGNOR, text)


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)


# -- in and out --------------------------------------------------------------------------------------------------------


def _to_core(call: Call, request: ConsumerGroupHeartbeatRequest) -> HeartbeatRequest:
    """The request without its version; in v0 a member that joins without an id is given one (CGH-4)."""
    owned = request.topic_partitions
    member_id = request.member_id
    if not member_id and request.member_epoch == _JOIN_EPOCH:
        member_id = call.cluster.new_base64_id()
    return HeartbeatRequest(
        request.group_id,
        member_id,
        request.member_epoch,
        request.instance_id,
        request.rack_id,
        request.rebalance_timeout_ms,
        request.subscribed_topic_names,
        request.subscribed_topic_regex,
        request.server_assignor,
        None if owned is None else _partitions_of(owned),
        call.client_id or "",
        call.client_host,
    )


def _partitions_of(owned: list[WireTopicPartitions]) -> TopicPartitions:
    """By topic id; one that is named twice counts with all its partitions."""
    partitions: dict[bytes, list[int]] = {}
    for entry in owned:
        partitions.setdefault(entry.topic_id, []).extend(entry.partitions)
    return partitions


def _response(answer: HeartbeatAnswer) -> ConsumerGroupHeartbeatResponse:
    """The answer on the wire (CGH-5, CGH-40)."""
    assignment = None
    if answer.assignment is not None:
        assignment = Assignment(
            topic_partitions=[
                WireTopicPartitions(topic_id=topic_id, partitions=list(partitions))
                for topic_id, partitions in answer.assignment.items()
            ]
        )
    return ConsumerGroupHeartbeatResponse(
        error_code=answer.code,
        error_message=answer.message,
        member_id=answer.member_id,
        member_epoch=answer.member_epoch,
        heartbeat_interval_ms=answer.heartbeat_interval_ms,
        assignment=assignment,
    )


def _answer_of(response: ConsumerGroupHeartbeatResponse) -> HeartbeatAnswer:
    """What the group had answered when it was `response`, which has neither error nor assignment."""
    return HeartbeatAnswer(
        member_id=response.member_id,
        member_epoch=response.member_epoch,
        heartbeat_interval_ms=response.heartbeat_interval_ms,
    )

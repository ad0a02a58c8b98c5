"""Members of a streams group leave, or are removed by their timers (STH-31, STM-1, STM-2)."""

from fakebroker.broker.core.groups.host import GroupsHost
from fakebroker.broker.core.groups.modern.heartbeats import group_for_heartbeat, unknown_member
from fakebroker.broker.core.groups.streams.group_step import GroupStep
from fakebroker.broker.core.groups.streams.messages import HeartbeatAnswer, HeartbeatRequest
from fakebroker.broker.core.groups.streams.streams_group import StreamsGroup
from fakebroker.protocol.instant import Instant


def leave(host: GroupsHost, request: HeartbeatRequest, now: Instant) -> HeartbeatAnswer:
    """A heartbeat with epoch -1. Raises KafkaError; the epoch that the member had is not checked."""
    group = group_for_heartbeat(host, StreamsGroup, request.group_id, now, may_create=False, may_replace_classic=False)
    if request.shutdown_application and group.shutdown_member_id is None:
        group.shutdown_member_id = request.member_id
    if request.member_id not in group.members:
        raise unknown_member(group, request.member_id)
    remove_member(group, request.member_id, now, f"member {request.member_id} left")
    return HeartbeatAnswer(member_id=request.member_id, member_epoch=request.member_epoch)


def remove_member(group: StreamsGroup, member_id: str, now: Instant, reason: str) -> None:
    """Remove a member with a bump of the group epoch. What it had is free at once.

    Nothing is assigned anew before somebody's next heartbeat. Raises KafkaError if it cannot be stored.
    """
    step = GroupStep(group, now)
    step.remove(member_id)
    step.write(reason)

"""Members of a consumer group leave, or are removed by their timers (CGH-30 to CGH-32, CGS-2, CGT-2)."""

from collections.abc import Sequence

from fakebroker.broker.core.groups.consumer.consumer_group import ConsumerGroup
from fakebroker.broker.core.groups.consumer.group_step import GroupStep
from fakebroker.broker.core.groups.consumer.member import ConsumerMember
from fakebroker.broker.core.groups.consumer.messages import STATIC_LEAVE_EPOCH, HeartbeatAnswer, HeartbeatRequest
from fakebroker.broker.core.groups.consumer.static_members import away, check_holder
from fakebroker.broker.core.groups.host import GroupsHost
from fakebroker.broker.core.groups.modern.heartbeats import group_for_heartbeat, unknown_member
from fakebroker.protocol.instant import Instant


def leave(host: GroupsHost, request: HeartbeatRequest, now: Instant) -> HeartbeatAnswer:
    """A heartbeat with epoch -1 or -2. Raises KafkaError; the epoch that the member had is not checked."""
    group = group_for_heartbeat(host, ConsumerGroup, request.group_id, now, may_create=False, may_replace_classic=False)
    member = _leaver(group, request)
    if request.member_epoch == STATIC_LEAVE_EPOCH:
        step = GroupStep(group, now)
        step.set_current(member, away(member.current))
        step.write(f"static member {member.instance_id} left and may come back")
    else:
        remove_members(group, [member.member_id], now, f"member {member.member_id} left")
    return HeartbeatAnswer(member_id=member.member_id, member_epoch=request.member_epoch)


def _leaver(group: ConsumerGroup, request: HeartbeatRequest) -> ConsumerMember:
    if request.instance_id is not None:
        return check_holder(group.static_member(request.instance_id), request.member_id, request.instance_id)
    member = group.members.get(request.member_id)
    if member is None:
        raise unknown_member(group, request.member_id)
    return member


def remove_members(group: ConsumerGroup, member_ids: Sequence[str], now: Instant, reason: str) -> None:
    """Remove members with one bump of the group epoch (CGE-2, CGB-2). What they had is free at once.

    Nothing is assigned anew before somebody's next heartbeat. If they were the last that speak the consumer protocol,
    the group becomes classic (CGM-10). Raises KafkaError if it cannot be stored.
    """
    from fakebroker.broker.core.groups.consumer.migration import becomes_classic, downgrade

    gone = frozenset(member_ids)
    if becomes_classic(group, gone):
        downgrade(group, gone, now, reason)
        return
    step = GroupStep(group, now)
    step.remove(member_ids)
    step.bump()
    step.write(reason)

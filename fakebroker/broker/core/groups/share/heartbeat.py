"""A heartbeat to a share group: joins, goes on, leaves (SGH). Kafka: `GroupMetadataManager.shareGroupHeartbeat`.

All records of a heartbeat are one batch. What it is answered follows from the group as it is after them.
"""

from fakebroker.broker.core.events import AssignmentComputed
from fakebroker.broker.core.groups.modern.assignments import same_partitions
from fakebroker.broker.core.groups.modern.heartbeats import (
    JOIN_EPOCH,
    check_epoch,
    check_fits,
    check_room,
    group_for_heartbeat,
    unknown_member,
)
from fakebroker.broker.core.groups.share.heartbeat_step import HeartbeatStep
from fakebroker.broker.core.groups.share.initialization import ShareGroupHost, begin_initialization
from fakebroker.broker.core.groups.share.member import MemberMetadata, ShareMember
from fakebroker.broker.core.groups.share.messages import LEAVE_EPOCH, HeartbeatAnswer, HeartbeatRequest
from fakebroker.broker.core.groups.share.share_group import ASSIGNOR_NAME, ShareGroup
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.instant import Instant


def heartbeat(shard: ShareGroupHost, request: HeartbeatRequest, now: Instant) -> HeartbeatAnswer:
    """Serve a heartbeat; its records are written when this returns.

    Answers GROUP_ID_NOT_FOUND, UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH, GROUP_MAX_SIZE_REACHED, or what a failed write
    is answered with. States of share partitions are asked for after the answer (SGH-10).
    """
    try:
        if request.member_epoch == LEAVE_EPOCH:
            return _leave(shard, request, now)
        check_fits(shard, request.topic_names)
        return _join_or_go_on(shard, request, now)
    except KafkaError as error:
        return HeartbeatAnswer(error.code, error.message)


def _leave(shard: ShareGroupHost, request: HeartbeatRequest, now: Instant) -> HeartbeatAnswer:
    group = group_for_heartbeat(shard, ShareGroup, request.group_id, now, may_create=False, may_replace_classic=False)
    if request.member_id not in group.members:
        raise unknown_member(group, request.member_id)
    group.remove_member(request.member_id, now, f"member {request.member_id} left")
    return HeartbeatAnswer(member_id=request.member_id, member_epoch=LEAVE_EPOCH)


def _join_or_go_on(shard: ShareGroupHost, request: HeartbeatRequest, now: Instant) -> HeartbeatAnswer:
    joins = request.member_epoch == JOIN_EPOCH
    group = group_for_heartbeat(shard, ShareGroup, request.group_id, now, may_create=joins, may_replace_classic=False)
    before = _member(shard, group, request)
    step = HeartbeatStep(group, before, before._replace(metadata=_updated_metadata(before.metadata, request)))
    changes = shard.topics.changes
    group = group.write(step.records(now), now, step.reason)
    group.seen_changes = changes
    group.renew_session(request.member_id, now)
    if step.target is not None:
        group.host.emit(AssignmentComputed(group.group_id, step.epoch, ASSIGNOR_NAME, len(group.members)))
    if step.is_target_put_off:
        group.long_target.start(now)
    begin_initialization(shard, group, step.to_initialize, now)
    current = group.members[request.member_id].current
    sends_assignment = joins or request.topic_names is not None
    sends_assignment = sends_assignment or not same_partitions(before.current.partitions, current.partitions)
    return HeartbeatAnswer(
        member_id=request.member_id,
        member_epoch=current.epoch,
        heartbeat_interval_ms=group.config_ms("share.heartbeat.interval.ms"),
        assignment=current.partitions if sends_assignment else None,
    )


def _member(shard: ShareGroupHost, group: ShareGroup, request: HeartbeatRequest) -> ShareMember:
    """The member as it was before the heartbeat; a new one without metadata. Raises KafkaError."""
    member = group.members.get(request.member_id)
    most = shard.settings.get_int("group.share.max.size")
    check_room(group, len(group.members), most, is_member=member is not None)
    if member is None:
        if request.member_epoch != JOIN_EPOCH:
            raise unknown_member(group, request.member_id)
        return ShareMember(request.member_id)
    current = member.current
    check_epoch(request.member_epoch, current.epoch, current.previous_epoch, lambda: True)
    return member


def _updated_metadata(before: MemberMetadata, request: HeartbeatRequest) -> MemberMetadata:
    """The member's metadata after the heartbeat."""
    names = before.topic_names if request.topic_names is None else tuple(sorted(dict.fromkeys(request.topic_names)))
    rack_id = before.rack_id if request.rack_id is None else request.rack_id
    return MemberMetadata(rack_id, request.client_id, request.client_host, names)

"""StreamsGroupHeartbeat: members join, report what changed, and learn which tasks they may own (STH).

Kafka: `GroupMetadataManager.streamsGroupHeartbeat`.
"""

from itertools import chain

from fakebroker.broker.core.groups.host import GroupsHost
from fakebroker.broker.core.groups.modern.config import group_config_int
from fakebroker.broker.core.groups.modern.heartbeats import (
    JOIN_EPOCH,
    check_epoch,
    check_fits,
    check_room,
    group_for_heartbeat,
    tombstone_of_classic,
    unknown_member,
)
from fakebroker.broker.core.groups.streams.endpoints import endpoints_of
from fakebroker.broker.core.groups.streams.group_step import GroupStep
from fakebroker.broker.core.groups.streams.internal_topics import ConfiguredTopology, Status
from fakebroker.broker.core.groups.streams.leaving import leave
from fakebroker.broker.core.groups.streams.member import MemberMetadata, StreamsMember
from fakebroker.broker.core.groups.streams.messages import LEAVE_EPOCH, HeartbeatAnswer, HeartbeatRequest
from fakebroker.broker.core.groups.streams.states import StatusCode
from fakebroker.broker.core.groups.streams.streams_group import StreamsGroup
from fakebroker.broker.core.groups.streams.tasks import Tasks
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.instant import Instant


def heartbeat(host: GroupsHost, request: HeartbeatRequest, now: Instant) -> HeartbeatAnswer:
    """Answer a heartbeat whose fields are good; `host` coordinates the group.

    Raises KafkaError: GROUP_ID_NOT_FOUND, UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH, GROUP_MAX_SIZE_REACHED,
    INVALID_REQUEST, STREAMS_INVALID_TOPOLOGY; then nothing has changed.
    """
    if request.member_epoch == LEAVE_EPOCH:
        return leave(host, request, now)
    check_fits(host, tuple(chain.from_iterable((request.client_tags or {}).items())))
    joins = request.member_epoch == JOIN_EPOCH
    was_there = host.group(request.group_id) is not None
    group = group_for_heartbeat(host, StreamsGroup, request.group_id, now, may_create=joins, may_replace_classic=True)
    if joins:  # also one that is a member already finds the group full (STH-15)
        check_room(group, len(group.members), host.settings.get_int("group.streams.max.size"), is_member=False)
    before = _member_before(group, request)
    step = GroupStep(group, now, tombstone_of_classic(host, group))
    configured = _advance(step, before, request)
    after = step.expect(request.member_id)
    answer = HeartbeatAnswer(
        member_id=request.member_id,
        member_epoch=after.epoch,
        heartbeat_interval_ms=group_config_int(host, group.group_id, "streams.heartbeat.interval.ms"),
        status=_status(step, configured, request),
        tasks=after.current.assigned if joins or _has_other_tasks(before, after) else None,
        missing_topics=configured.missing,
    )
    answer = _with_endpoints(answer, group, configured, after, request.endpoint_epoch)
    stored = step.write(_reason(step, request, before, after))
    stored.restart_session(request.member_id, stored.session_timeout_ms(after), now)
    return answer if was_there else answer._replace(endpoint_epoch=0)


def _member_before(group: StreamsGroup, request: HeartbeatRequest) -> StreamsMember:
    """The member that sends the heartbeat as it was; one that joins has no metadata and no tasks.

    Raises KafkaError for one that may not go on (STH-11, STH-12).
    """
    member = group.members.get(request.member_id)
    if member is None:
        if request.member_epoch != JOIN_EPOCH:
            raise unknown_member(group, request.member_id)
        return StreamsMember(request.member_id)
    owned, assigned = request.owned, member.current.assigned
    check_epoch(
        request.member_epoch,
        member.epoch,
        member.current.previous_epoch,
        lambda: owned is not None and owned.are_within(assigned),
    )
    return member


def _advance(step: GroupStep, before: StreamsMember, request: HeartbeatRequest) -> ConfiguredTopology:
    """Everything between finding the member and writing, in Kafka's order."""
    step.tell(request.member_id, _metadata_after(before.metadata, request))
    step.take_topology(request.topology)
    step.note_stale_topology(request.member_id)
    configured = step.look_at_topics()
    _check_owned(configured, request.owned)
    step.bump_if_needed()
    step.update_target(request.member_id)
    step.reconcile(request.member_id, request.owned)
    return configured


def _metadata_after(before: MemberMetadata, request: HeartbeatRequest) -> MemberMetadata:
    """What a member reported about itself so far, with what is in this heartbeat."""
    tags, timeout_ms = request.client_tags, request.rebalance_timeout_ms
    return MemberMetadata(
        before.instance_id,
        before.rack_id if request.rack_id is None else request.rack_id,
        request.client_id,
        request.client_host,
        before.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        before.topology_epoch if request.topology is None else request.topology.epoch,
        before.process_id if request.process_id is None else request.process_id,
        before.endpoint if request.endpoint is None else request.endpoint,
        before.client_tags if tags is None else tuple(sorted(tags.items())),
    )


def _check_owned(configured: ConfiguredTopology, owned: Tasks | None) -> None:
    """Raise KafkaError INVALID_REQUEST if the member owns tasks that there cannot be (STH-14)."""
    if owned is None or not configured.is_ready or configured.subtopologies is None:
        return
    for task in (*owned.active, *owned.standby, *owned.warmup):
        subtopology = configured.subtopologies.get(task.subtopology_id)
        if subtopology is None:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"unknown subtopology {task.subtopology_id!r}")
        if not 0 <= task.partition < subtopology.tasks:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                f"subtopology {task.subtopology_id} has {subtopology.tasks} tasks, so task "
                f"{task.partition} does not exist",
            )


def _has_other_tasks(before: StreamsMember, after: StreamsMember) -> bool:
    """Whether the member may own other tasks than before, or tasks anew."""
    old, new = before.current, after.current
    return old.assigned != new.assigned or any(
        old.stamps.get(task) != new.stamps.get(task) for task in new.assigned.active
    )


def _status(step: GroupStep, configured: ConfiguredTopology, request: HeartbeatRequest) -> tuple[Status, ...]:
    """All statuses of the group that the member gets, in Kafka's order (STH-30, STH-33)."""
    group = step.group
    if request.shutdown_application and group.shutdown_member_id is None:
        group.shutdown_member_id = request.member_id
    status = [*step.status]
    if configured.problem is not None:
        status.append(configured.problem)
    if group.shutdown_member_id is not None:
        detail = f"member {group.shutdown_member_id} asked to shut down the application"
        status.append(Status(StatusCode.SHUTDOWN_APPLICATION, detail))
    return tuple(status)


def _with_endpoints(
    answer: HeartbeatAnswer,
    group: StreamsGroup,
    configured: ConfiguredTopology,
    member: StreamsMember,
    known_epoch: int,
) -> HeartbeatAnswer:
    """Say where each partition is processed if the member, as it will be, does not know the latest.

    The epoch rises when it has an endpoint and gets its tasks (STP-1). That is not undone if the heartbeat fails, as
    it does in Kafka while a member has an endpoint and nobody can say what is processed there: UNKNOWN_SERVER_ERROR.
    """
    if answer.tasks is not None and member.metadata.endpoint is not None:
        group.endpoint_epoch += 1
    if group.endpoint_epoch == known_epoch:
        return answer._replace(endpoint_epoch=group.endpoint_epoch)
    others = (group.members[each] for each in group.member_ids() if each != member.member_id)
    members = [*others, member]  # the one that gets the answer comes last
    if configured.subtopologies is None and any(each.metadata.endpoint is not None for each in members):
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "the partitions of the endpoints are not known yet")
    endpoints = endpoints_of(members, configured.subtopologies or {}, group.existing_count)
    return answer._replace(endpoint_epoch=group.endpoint_epoch, endpoints=endpoints)


def _reason(step: GroupStep, request: HeartbeatRequest, before: StreamsMember, after: StreamsMember) -> str:
    """Why the group is another one after the heartbeat, for the journal."""
    member_id = request.member_id
    if request.member_epoch == JOIN_EPOCH:
        return f"member {member_id} joined{' again' if member_id in step.group.members else ''}"
    if after.metadata != before.metadata:
        return f"member {member_id} changed its metadata"
    if step.group_epoch != step.group.group_epoch:
        return "its topics or settings changed"
    return f"member {member_id} sent a heartbeat"

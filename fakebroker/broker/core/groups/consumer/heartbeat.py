"""ConsumerGroupHeartbeat: members join, report what changed, and learn what they may own (CGH, CGE-1).

Kafka: `GroupMetadataManager.consumerGroupHeartbeat`.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fakebroker.broker.core.groups.consumer.consumer_group import ConsumerGroup
from fakebroker.broker.core.groups.consumer.group_step import GroupStep
from fakebroker.broker.core.groups.consumer.leaving import leave
from fakebroker.broker.core.groups.consumer.member import ConsumerMember, MemberMetadata, StampedPartitions
from fakebroker.broker.core.groups.consumer.messages import (
    LEAVE_EPOCH,
    STATIC_LEAVE_EPOCH,
    HeartbeatAnswer,
    HeartbeatRequest,
    TopicPartitions,
)
from fakebroker.broker.core.groups.consumer.migration import upgrade_of
from fakebroker.broker.core.groups.consumer.patterns import resolved_ms
from fakebroker.broker.core.groups.consumer.static_members import check_holder, check_released
from fakebroker.broker.core.groups.host import GroupsHost
from fakebroker.broker.core.groups.modern.config import group_config_int
from fakebroker.broker.core.groups.modern.heartbeats import (
    JOIN_EPOCH,
    check_epoch,
    check_fits,
    check_room,
    group_for_heartbeat,
    metadata_may_have_changed,
    tombstone_of_classic,
    unknown_member,
)
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.records.offsets_topic import GroupEntry

if TYPE_CHECKING:
    from fakebroker.protocol.records.group_records import GroupRecord

_METADATA_FIELDS = slice(HeartbeatRequest._fields.index("rack_id"), HeartbeatRequest._fields.index("assignor") + 1)
_NO_METADATA = HeartbeatRequest("", "", 0)[_METADATA_FIELDS]


def heartbeat(host: GroupsHost, request: HeartbeatRequest, now: Instant) -> HeartbeatAnswer:
    """Answer a heartbeat whose fields are good; `host` coordinates the group."""
    try:
        if request.member_epoch in (LEAVE_EPOCH, STATIC_LEAVE_EPOCH):
            return leave(host, request, now)
        group = host.group(request.group_id)
        if isinstance(group, ConsumerGroup) and _changes_nothing(group, request):
            return _answer(group, group.members[request.member_id], None, now)
        check_fits(host, request.topic_names)
        return _heartbeat(host, request, now)
    except KafkaError as error:
        return HeartbeatAnswer(error.code, error.message)


def _changes_nothing(group: ConsumerGroup, request: HeartbeatRequest) -> bool:
    """Whether the heartbeat only keeps its member alive, as nearly all do: then no step has to be taken.

    The member has what the group wants, the group has seen all topics, and the request tells nothing.
    """
    member = group.members.get(request.member_id)
    if member is None or not member.current.is_reconciled_to(request.member_epoch):
        return False
    metadata, epochs = member.metadata, (group.group_epoch, group.assignment_epoch)
    return (
        epochs == (request.member_epoch, request.member_epoch)
        and request[_METADATA_FIELDS] == _NO_METADATA
        and request.instance_id in (None, metadata.instance_id)
        and request.client_id == metadata.client_id
        and request.client_host == metadata.client_host
        and metadata.classic is None
        and not group.subscriptions.patterns
        and not metadata_may_have_changed(group)
    )


def _heartbeat(host: GroupsHost, request: HeartbeatRequest, now: Instant) -> HeartbeatAnswer:
    upgrade = upgrade_of(host, request.group_id, now) if request.member_epoch == JOIN_EPOCH else None
    if upgrade is not None:
        return upgrade.during(lambda: _take_step(upgrade.group, upgrade.records, request, now))
    group = _group_of(host, request, now)
    return _take_step(group, tombstone_of_classic(host, group), request, now)


def _take_step(
    group: ConsumerGroup, first: "Sequence[GroupRecord | GroupEntry]", request: HeartbeatRequest, now: Instant
) -> HeartbeatAnswer:
    """Let the member go on in the group as it is after the records `first`, which are stored with its own."""
    is_member = request.member_id in group.members
    max_size = group.host.settings.get_int("group.consumer.max.size")
    check_room(group, len(group.members), max_size, is_member=is_member)
    step = GroupStep(group, now, first)
    before = _member_before(step, request)
    after = _advance(step, before, request)
    last_resolved_ms = resolved_ms(group.patterns)
    reason = _reason(step, request, before, after)
    stored = step.write(reason)
    if stored.subscriptions.patterns:
        stored.resolver.start_if_due(last_resolved_ms, now, request.may_describe)
    return _answer(stored, after, _assignment_for(before, after, request), now)


def _answer(
    group: ConsumerGroup, member: ConsumerMember, assignment: TopicPartitions | None, now: Instant
) -> HeartbeatAnswer:
    """The answer to a heartbeat that was accepted, which restarts the member's session (CGT-1)."""
    group.restart_session(member.member_id, group.session_timeout_ms(member), now)
    interval_ms = group_config_int(group.host, group.group_id, "consumer.heartbeat.interval.ms")
    return HeartbeatAnswer(
        member_id=member.member_id,
        member_epoch=member.epoch,
        heartbeat_interval_ms=interval_ms,
        assignment=assignment,
    )


def _group_of(host: GroupsHost, request: HeartbeatRequest, now: Instant) -> ConsumerGroup:
    return group_for_heartbeat(
        host,
        ConsumerGroup,
        request.group_id,
        now,
        may_create=request.member_epoch == JOIN_EPOCH,
        may_replace_classic=True,
    )


def _member_before(step: GroupStep, request: HeartbeatRequest) -> ConsumerMember:
    """The member that sends the heartbeat as it was; one that joins has no metadata and no partitions.

    A static member that comes back has what it had (CGS-3). Raises KafkaError for one that may not go on.
    """
    group = step.group
    if request.instance_id is not None:
        holder = group.static_member(request.instance_id)
        if request.member_epoch != JOIN_EPOCH:
            member = check_holder(holder, request.member_id, request.instance_id)
            _check_epoch(member, request)
            return member
        if holder is not None:
            check_released(holder, request)
            step.replace_static(holder, request.member_id, JOIN_EPOCH)
            return step.expect(request.member_id)
    member_or_none = group.members.get(request.member_id)
    if member_or_none is None:
        if request.member_epoch != JOIN_EPOCH:
            raise unknown_member(group, request.member_id)
        return ConsumerMember(request.member_id)
    _check_epoch(member_or_none, request)
    return member_or_none


def _check_epoch(member: ConsumerMember, request: HeartbeatRequest) -> None:
    check_epoch(
        request.member_epoch,
        member.epoch,
        member.current.previous_epoch,
        lambda: request.owned is not None and _are_within(request.owned, member.current.assigned),
    )


def _are_within(owned: TopicPartitions, assigned: StampedPartitions) -> bool:
    return all(
        partition in assigned.get(topic_id, ()) for topic_id, partitions in owned.items() for partition in partitions
    )


def _advance(step: GroupStep, before: ConsumerMember, request: HeartbeatRequest) -> ConsumerMember:
    """Everything between finding the member and writing, in Kafka's order (CGE-1); returns the member as it will be."""
    metadata = metadata_after(before.metadata, request)
    is_bump_needed = step.tell(request.member_id, metadata)
    step.bump_if_needed(is_needed=is_bump_needed)
    step.update_target(request.member_id)
    step.reconcile(request.member_id, request.owned, subscription_changed=not metadata.subscribes_as(before.metadata))
    return step.expect(request.member_id)


def metadata_after(before: MemberMetadata, request: HeartbeatRequest) -> MemberMetadata:
    """The metadata of a member after this heartbeat (CGH-11)."""

    def latest(sent: str | None, known: str | None) -> str | None:
        return known if sent is None else sent

    names, timeout_ms = request.topic_names, request.rebalance_timeout_ms
    return MemberMetadata(
        latest(request.instance_id, before.instance_id),
        latest(request.rack_id, before.rack_id),
        request.client_id,
        request.client_host,
        before.topic_names if names is None else tuple(sorted(dict.fromkeys(names))),
        before.pattern if request.pattern is None else request.pattern,
        before.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        latest(request.assignor, before.assignor),
    )


def _assignment_for(before: ConsumerMember, after: ConsumerMember, request: HeartbeatRequest) -> TopicPartitions | None:
    """What the member may own now, if the answer has to contain it (CGH-40, CGH-41)."""
    if not request.is_full and after.current.assigned == before.current.assigned:
        return None
    assigned: Mapping[bytes, Mapping[int, int]] = after.current.assigned
    return {topic_id: sorted(partitions) for topic_id, partitions in assigned.items()}


def _reason(step: GroupStep, request: HeartbeatRequest, before: ConsumerMember, after: ConsumerMember) -> str:
    """Why the group is another one after the heartbeat, for the journal."""
    member_id = request.member_id
    if request.member_epoch == JOIN_EPOCH:
        again = " again" if member_id in step.group.members else ""
        return f"member {member_id} joined{again}"
    if not after.metadata.subscribes_as(before.metadata):
        return f"member {member_id} changed its subscription"
    if step.group_epoch != step.group.group_epoch:
        return "subscribed topics changed"
    if after.current.pending:
        return f"member {member_id} must give up partitions"
    if before.current.pending:
        return f"member {member_id} gave up partitions"
    return f"member {member_id} sent a heartbeat"

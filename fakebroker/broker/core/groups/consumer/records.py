"""The records of a consumer group (CGB), made from the group's values and turned back into them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from fakebroker.broker.core.groups.consumer.member import (
    ClassicMetadata,
    CurrentAssignment,
    MemberMetadata,
    StampedPartitions,
)
from fakebroker.broker.core.groups.consumer.states import MemberState
from fakebroker.broker.core.groups.consumer.subscriptions import ResolvedPattern
from fakebroker.broker.core.groups.modern.assignments import Assignment
from fakebroker.protocol.records import consumer_group_schema as schema
from fakebroker.protocol.records.group_records import GroupRecord

METADATA, PARTITION_METADATA, MEMBER, TARGET_METADATA, TARGET_MEMBER, CURRENT, PATTERN = 3, 4, 5, 6, 7, 8, 16
_MEMBER_KEYS: Mapping[int, Callable[..., Any]] = {
    MEMBER: schema.ConsumerGroupMemberMetadataKey,
    TARGET_MEMBER: schema.ConsumerGroupTargetAssignmentMemberKey,
    CURRENT: schema.ConsumerGroupCurrentMemberAssignmentKey,
}


# -- made --------------------------------------------------------------------------------------------------------------


def epoch_record(group_id: str, epoch: int, metadata_hash: int) -> GroupRecord:
    """The group has this group epoch, and its topics this hash (type 3)."""
    value = schema.ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash)
    return GroupRecord(METADATA, schema.ConsumerGroupMetadataKey(group_id=group_id), value)


def member_record(group_id: str, member_id: str, metadata: MemberMetadata) -> GroupRecord:
    """What a member reported about itself (type 5)."""
    classic = None
    if metadata.classic is not None:
        classic = schema.ClassicMemberMetadata(
            session_timeout_ms=metadata.classic.session_timeout_ms,
            supported_protocols=[
                schema.ClassicProtocol(name=name, metadata=subscription)
                for name, subscription in metadata.classic.protocols
            ],
        )
    value = schema.ConsumerGroupMemberMetadataValue(
        instance_id=metadata.instance_id,
        rack_id=metadata.rack_id,
        client_id=metadata.client_id,
        client_host=metadata.client_host,
        subscribed_topic_names=list(metadata.topic_names),
        subscribed_topic_regex=metadata.pattern,
        rebalance_timeout_ms=metadata.rebalance_timeout_ms,
        server_assignor=metadata.assignor,
        classic_member_metadata=classic,
    )
    return GroupRecord(MEMBER, schema.ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member_id), value)


def target_metadata_record(group_id: str, epoch: int, assignment_ms: int) -> GroupRecord:
    """The target assignment is that of this epoch, computed at this wall time (type 6)."""
    value = schema.ConsumerGroupTargetAssignmentMetadataValue(
        assignment_epoch=epoch, assignment_timestamp=assignment_ms
    )
    return GroupRecord(TARGET_METADATA, schema.ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), value)


def target_record(group_id: str, member_id: str, target: Assignment) -> GroupRecord:
    """What a member shall have (type 7)."""
    value = schema.ConsumerGroupTargetAssignmentMemberValue(
        topic_partitions=[
            schema.TargetPartitions(topic_id=topic_id, partitions=list(partitions))
            for topic_id, partitions in target.items()
        ]
    )
    key = schema.ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)
    return GroupRecord(TARGET_MEMBER, key, value)


def current_record(group_id: str, member_id: str, current: CurrentAssignment) -> GroupRecord:
    """What a member has (type 8)."""
    value = schema.ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=current.epoch,
        previous_member_epoch=current.previous_epoch,
        state=current.state,
        assigned_partitions=_stamped_structs(current.assigned),
        partitions_pending_revocation=_stamped_structs(current.pending),
    )
    key = schema.ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id)
    return GroupRecord(CURRENT, key, value)


def pattern_record(group_id: str, pattern: str, resolved: ResolvedPattern | None) -> GroupRecord:
    """What a pattern was resolved to; None: nobody uses it any more (type 16)."""
    key = schema.ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=pattern)
    if resolved is None:
        return GroupRecord(PATTERN, key, None)
    value = schema.ConsumerGroupRegularExpressionValue(
        topics=list(resolved.topics), version=resolved.version, timestamp=resolved.resolved_ms
    )
    return GroupRecord(PATTERN, key, value)


def member_tombstones(group_id: str, member_id: str) -> list[GroupRecord]:
    """The tombstones of a member that is removed or replaced (CGB-2)."""
    return [_tombstone(record_type, group_id, member_id) for record_type in (CURRENT, TARGET_MEMBER, MEMBER)]


def group_tombstones(group_id: str, member_ids: Sequence[str], patterns: Iterable[str]) -> list[GroupRecord]:
    """The tombstones of a whole group (CGB-5), with members in the order in which they are described."""
    return [
        *(_tombstone(CURRENT, group_id, member_id) for member_id in member_ids),
        *(_tombstone(TARGET_MEMBER, group_id, member_id) for member_id in member_ids),
        GroupRecord(TARGET_METADATA, schema.ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), None),
        *(_tombstone(MEMBER, group_id, member_id) for member_id in member_ids),
        *(pattern_record(group_id, pattern, None) for pattern in patterns),
        GroupRecord(PARTITION_METADATA, schema.ConsumerGroupPartitionMetadataKey(group_id=group_id), None),
        GroupRecord(METADATA, schema.ConsumerGroupMetadataKey(group_id=group_id), None),
    ]


def _tombstone(record_type: int, group_id: str, member_id: str) -> GroupRecord:
    return GroupRecord(record_type, _MEMBER_KEYS[record_type](group_id=group_id, member_id=member_id), None)


def _stamped_structs(partitions: StampedPartitions) -> list[schema.AssignedPartitions]:
    return [
        schema.AssignedPartitions(topic_id=topic_id, partitions=list(stamped), assignment_epochs=list(stamped.values()))
        for topic_id, stamped in partitions.items()
    ]


# -- read --------------------------------------------------------------------------------------------------------------


def metadata_of(value: schema.ConsumerGroupMemberMetadataValue) -> MemberMetadata:
    """What a record of type 5 says."""
    classic = value.classic_member_metadata
    return MemberMetadata(
        value.instance_id,
        value.rack_id,
        value.client_id,
        value.client_host,
        tuple(value.subscribed_topic_names),
        value.subscribed_topic_regex or "",
        value.rebalance_timeout_ms,
        value.server_assignor,
        None
        if classic is None
        else ClassicMetadata(
            classic.session_timeout_ms, tuple((each.name, each.metadata) for each in classic.supported_protocols)
        ),
    )


def target_of(value: schema.ConsumerGroupTargetAssignmentMemberValue) -> Assignment:
    """What a record of type 7 says."""
    return {each.topic_id: tuple(each.partitions) for each in value.topic_partitions}


def current_of(value: schema.ConsumerGroupCurrentMemberAssignmentValue) -> CurrentAssignment:
    """What a record of type 8 says. Partitions without stamps have the member epoch as theirs."""
    return CurrentAssignment(
        value.member_epoch,
        value.previous_member_epoch,
        MemberState(value.state),
        _stamped_of(value.assigned_partitions, value.member_epoch),
        _stamped_of(value.partitions_pending_revocation, value.member_epoch),
    )


def resolved_of(value: schema.ConsumerGroupRegularExpressionValue) -> ResolvedPattern:
    """What a record of type 16 says."""
    return ResolvedPattern(tuple(value.topics), value.version, value.timestamp)


def _stamped_of(structs: Iterable[schema.AssignedPartitions], member_epoch: int) -> Mapping[bytes, Mapping[int, int]]:
    return {
        each.topic_id: dict(
            zip(each.partitions, each.assignment_epochs or [member_epoch] * len(each.partitions), strict=True)
        )
        for each in structs
    }

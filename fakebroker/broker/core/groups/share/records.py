"""The records of a share group in `__consumer_offsets` (SGB-1), made from values and read into them.

Kafka: `GroupCoordinatorRecordHelpers`.
"""

from collections.abc import Iterable
from typing import Any, Final

from fakebroker.broker.core.groups.modern.assignments import Assignment
from fakebroker.broker.core.groups.share.member import CurrentAssignment, MemberMetadata
from fakebroker.broker.core.groups.share.state_partitions import Partitions, StatePartitions, TopicPartitions
from fakebroker.protocol.records.consumer_group_schema import TargetPartitions
from fakebroker.protocol.records.group_records import GroupRecord
from fakebroker.protocol.records.share_group_schema import (
    DeletingTopic,
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupCurrentMemberAssignmentValue,
    ShareGroupMemberMetadataKey,
    ShareGroupMemberMetadataValue,
    ShareGroupMetadataKey,
    ShareGroupMetadataValue,
    ShareGroupStatePartitionMetadataKey,
    ShareGroupStatePartitionMetadataValue,
    ShareGroupTargetAssignmentMemberKey,
    ShareGroupTargetAssignmentMemberValue,
    ShareGroupTargetAssignmentMetadataKey,
    ShareGroupTargetAssignmentMetadataValue,
    TopicPartitionsInfo,
)

MEMBER: Final = 10
EPOCH: Final = 11
TARGET_EPOCH: Final = 12
TARGET_MEMBER: Final = 13
CURRENT_ASSIGNMENT: Final = 14
STATE_PARTITIONS: Final = 15

_STABLE: Final = 0  # the one state of a member that is written


# -- records from values -----------------------------------------------------------------------------------------------


def member_record(group_id: str, member_id: str, metadata: MemberMetadata | None) -> GroupRecord:
    """Type 10: what a member reported about itself; None: a tombstone."""
    value = metadata and ShareGroupMemberMetadataValue(
        rack_id=metadata.rack_id,
        client_id=metadata.client_id,
        client_host=metadata.client_host,
        subscribed_topic_names=list(metadata.topic_names),
    )
    return GroupRecord(MEMBER, ShareGroupMemberMetadataKey(group_id=group_id, member_id=member_id), value)


def epoch_record(group_id: str, epoch: int, metadata_hash: int) -> GroupRecord:
    """Type 11: the group's epoch and the hash of the topics it reads."""
    value = ShareGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash)
    return GroupRecord(EPOCH, ShareGroupMetadataKey(group_id=group_id), value)


def target_epoch_record(group_id: str, epoch: int, computed_ms: int) -> GroupRecord:
    """Type 12: the epoch of the target assignment, and when it was computed (wall time)."""
    value = ShareGroupTargetAssignmentMetadataValue(assignment_epoch=epoch, assignment_timestamp=computed_ms)
    return GroupRecord(TARGET_EPOCH, ShareGroupTargetAssignmentMetadataKey(group_id=group_id), value)


def target_member_record(group_id: str, member_id: str, target: Assignment | None) -> GroupRecord:
    """Type 13: what a member shall have; None: a tombstone."""
    value = None
    if target is not None:
        value = ShareGroupTargetAssignmentMemberValue(topic_partitions=_written(target))
    key = ShareGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)
    return GroupRecord(TARGET_MEMBER, key, value)


def current_assignment_record(group_id: str, member_id: str, current: CurrentAssignment | None) -> GroupRecord:
    """Type 14: what a member has; None: a tombstone."""
    value = current and ShareGroupCurrentMemberAssignmentValue(
        member_epoch=current.epoch,
        previous_member_epoch=current.previous_epoch,
        state=_STABLE,
        assigned_partitions=_written(current.partitions),
    )
    key = ShareGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id)
    return GroupRecord(CURRENT_ASSIGNMENT, key, value)


def state_partitions_record(group_id: str, known: StatePartitions) -> GroupRecord:
    """Type 15: which share partitions have a state, are being given one, or lose it."""
    value = ShareGroupStatePartitionMetadataValue(
        initializing_topics=_infos(known.initializing),
        initialized_topics=_infos(known.initialized),
        deleting_topics=[
            DeletingTopic(topic_id=topic_id, topic_name=name) for topic_id, name in known.deleting.items()
        ],
    )
    return GroupRecord(STATE_PARTITIONS, ShareGroupStatePartitionMetadataKey(group_id=group_id), value)


def member_tombstones(group_id: str, member_id: str) -> list[GroupRecord]:
    """The records that remove a member (SGB-1)."""
    return [
        current_assignment_record(group_id, member_id, None),
        target_member_record(group_id, member_id, None),
        member_record(group_id, member_id, None),
    ]


def group_tombstones(group_id: str, member_ids: Iterable[str]) -> list[GroupRecord]:
    """The records that remove a group (SGB-1): it is gone with the last one."""
    member_ids = list(member_ids)
    return [
        *(current_assignment_record(group_id, member_id, None) for member_id in member_ids),
        *(target_member_record(group_id, member_id, None) for member_id in member_ids),
        GroupRecord(TARGET_EPOCH, ShareGroupTargetAssignmentMetadataKey(group_id=group_id), None),
        *(member_record(group_id, member_id, None) for member_id in member_ids),
        GroupRecord(STATE_PARTITIONS, ShareGroupStatePartitionMetadataKey(group_id=group_id), None),
        GroupRecord(EPOCH, ShareGroupMetadataKey(group_id=group_id), None),
    ]


# -- values from records -----------------------------------------------------------------------------------------------


def metadata_of(value: Any) -> MemberMetadata:
    """What a record of type 10 says."""
    return MemberMetadata(value.rack_id, value.client_id, value.client_host, tuple(value.subscribed_topic_names))


def target_of(value: Any) -> Assignment:
    """What a record of type 13 says."""
    return {each.topic_id: tuple(each.partitions) for each in value.topic_partitions}


def current_of(value: Any) -> CurrentAssignment:
    """What a record of type 14 says."""
    partitions = {each.topic_id: tuple(each.partitions) for each in value.assigned_partitions}
    return CurrentAssignment(value.member_epoch, value.previous_member_epoch, partitions)


def state_partitions_of(value: Any, now_ms: int) -> StatePartitions:
    """What a record of type 15 says, which was applied at `now_ms`, wall time."""
    return StatePartitions(
        _partitions_of(value.initializing_topics),
        _partitions_of(value.initialized_topics),
        {each.topic_id: each.topic_name for each in value.deleting_topics},
        now_ms,
    )


def _written(assignment: Assignment) -> list[TargetPartitions]:
    return [
        TargetPartitions(topic_id=topic_id, partitions=list(partitions)) for topic_id, partitions in assignment.items()
    ]


def _infos(partitions: Partitions) -> list[TopicPartitionsInfo]:
    return [
        TopicPartitionsInfo(topic_id=topic_id, topic_name=each.name, partitions=list(each.partitions))
        for topic_id, each in partitions.items()
    ]


def _partitions_of(infos: Iterable[Any]) -> Partitions:
    return {each.topic_id: TopicPartitions(each.topic_name, tuple(sorted(each.partitions))) for each in infos}

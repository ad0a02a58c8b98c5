"""Who may commit and fetch the offsets of a consumer group (CGO). Kafka: `ConsumerGroup.validateOffsetCommit`."""

from typing import TYPE_CHECKING

from fakebroker.core.groups.consumer.member import ConsumerMember
from fakebroker.errors import ErrorCode

if TYPE_CHECKING:
    from fakebroker.core.groups.consumer.consumer_group import ConsumerGroup

_FIRST_VERSION = 9  # of OffsetCommit, in which a member of the consumer protocol may commit (CGO-4)


def error_for_commit(group: "ConsumerGroup", member_id: str, epoch: int, version: int) -> ErrorCode:
    """The error that an OffsetCommit is answered with, or NONE (CGO-1 to CGO-4)."""
    if epoch < 0 and not group.members:
        return ErrorCode.NONE
    member = group.members.get(member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if not member.is_classic and version < _FIRST_VERSION:
        return ErrorCode.UNSUPPORTED_VERSION
    return ErrorCode.NONE if epoch == member.epoch else stale(member)


def error_for_txn_commit(group: "ConsumerGroup", member_id: str, instance_id: str | None, epoch: int) -> ErrorCode:
    """The error that a TxnOffsetCommit is answered with, or NONE (CGO-4); it need not name a member."""
    if epoch < 0 and not member_id and instance_id is None:
        return ErrorCode.NONE
    code = error_for_commit(group, member_id, epoch, _FIRST_VERSION)
    return ErrorCode.ILLEGAL_GENERATION if code is ErrorCode.STALE_MEMBER_EPOCH else code


def is_late_commit(group: "ConsumerGroup", member_id: str, epoch: int) -> bool:
    """Whether a commit that `error_for_commit` refuses is of a member whose epoch has moved on since (CGO-5)."""
    member = group.members.get(member_id)
    return member is not None and epoch < member.epoch


def had_at(group: "ConsumerGroup", member_id: str, epoch: int, topic: str, partition: int) -> bool:
    """Whether the partition is assigned to the member, or pending revocation, and was at that epoch (CGO-5)."""
    found = group.host.topics.get(topic)
    if found is None:
        return False
    current = group.members[member_id].current
    stamps = (each.get(found.id, {}).get(partition) for each in (current.assigned, current.pending))
    return any(stamp is not None and stamp <= epoch for stamp in stamps)


def error_for_fetch(group: "ConsumerGroup", member_id: str | None, epoch: int) -> ErrorCode:
    """The error that an OffsetFetch is answered with, or NONE (CGO-7).

    An epoch without a member id is UNKNOWN_SERVER_ERROR: Kafka fails to look up the null.
    """
    if member_id is None:
        return ErrorCode.NONE if epoch < 0 else ErrorCode.UNKNOWN_SERVER_ERROR
    member = group.members.get(member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return ErrorCode.NONE if epoch == member.epoch else stale(member)


def stale(member: ConsumerMember) -> ErrorCode:
    """What a member is answered that has another epoch than it says (CGO-2)."""
    return ErrorCode.ILLEGAL_GENERATION if member.is_classic else ErrorCode.STALE_MEMBER_EPOCH

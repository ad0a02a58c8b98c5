"""Who may commit and fetch the offsets of a consumer or streams group (CGO, STO).

Kafka: `ConsumerGroup.validateOffsetCommit`, `StreamsGroup.validateOffsetCommit`.
"""

from typing import TYPE_CHECKING, Any

from fakebroker.errors import ErrorCode

if TYPE_CHECKING:
    from fakebroker.core.groups.modern.reconciling_group import ReconcilingGroup

_FIRST_VERSION = 9  # of OffsetCommit, in which a member of a newer protocol may commit (CGO-4)


def error_for_commit(group: "ReconcilingGroup", member_id: str, epoch: int, version: int) -> ErrorCode:
    """The error that an OffsetCommit is answered with, or NONE (CGO-1 to CGO-4, STO-1)."""
    if epoch < 0 and group.is_empty:
        return ErrorCode.NONE
    member = group.members.get(member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if version < _FIRST_VERSION and not group.is_classic(member):
        return ErrorCode.UNSUPPORTED_VERSION
    return error_for_epoch(group, member, epoch)


def error_for_txn_commit(group: "ReconcilingGroup", member_id: str, instance_id: str | None, epoch: int) -> ErrorCode:
    """The error that a TxnOffsetCommit is answered with, or NONE (CGO-4); it need not name a member."""
    if epoch == -1 and not member_id and instance_id is None:
        return ErrorCode.NONE
    code = error_for_commit(group, member_id, epoch, _FIRST_VERSION)
    return ErrorCode.ILLEGAL_GENERATION if code is ErrorCode.STALE_MEMBER_EPOCH else code


def is_late_commit(group: "ReconcilingGroup", member_id: str, epoch: int) -> bool:
    """Whether a commit that `error_for_commit` refuses is of a member whose epoch has moved on since (CGO-5)."""
    member = group.members.get(member_id)
    return member is not None and epoch < member.epoch


def error_for_fetch(group: "ReconcilingGroup", member_id: str | None, epoch: int) -> ErrorCode:
    """The error that an OffsetFetch is answered with, or NONE (CGO-7, STO-1).

    An epoch without a member id is UNKNOWN_SERVER_ERROR: Kafka fails to look up the null.
    """
    if member_id is None:
        return ErrorCode.NONE if epoch < 0 else ErrorCode.UNKNOWN_SERVER_ERROR
    member = group.members.get(member_id)
    return ErrorCode.UNKNOWN_MEMBER_ID if member is None else error_for_epoch(group, member, epoch)


def error_for_epoch(group: "ReconcilingGroup", member: Any, epoch: int) -> ErrorCode:
    """NONE if the member has that epoch, else what it is answered in its protocol (CGO-2)."""
    if epoch == member.epoch:
        return ErrorCode.NONE
    return ErrorCode.ILLEGAL_GENERATION if group.is_classic(member) else ErrorCode.STALE_MEMBER_EPOCH

"""Who may commit and fetch the offsets of a streams group (STO). Kafka: `StreamsGroup.validateOffsetCommit`."""

from typing import TYPE_CHECKING

from fakebroker.core.groups.streams.tasks import Task
from fakebroker.errors import ErrorCode

if TYPE_CHECKING:
    from fakebroker.core.groups.streams.streams_group import StreamsGroup

_FIRST_VERSION = 9  # of OffsetCommit, in which a member of a streams group may commit


def error_for_commit(group: "StreamsGroup", member_id: str, epoch: int, version: int) -> ErrorCode:
    """The error that an OffsetCommit is answered with, or NONE (STO-1, CGO-1 to CGO-4)."""
    if epoch < 0 and not group.members:
        return ErrorCode.NONE
    member = group.members.get(member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if version < _FIRST_VERSION:
        return ErrorCode.UNSUPPORTED_VERSION
    return ErrorCode.NONE if epoch == member.epoch else ErrorCode.STALE_MEMBER_EPOCH


def error_for_txn_commit(group: "StreamsGroup", member_id: str, instance_id: str | None, epoch: int) -> ErrorCode:
    """The error that a TxnOffsetCommit is answered with, or NONE (CGO-4); it need not name a member."""
    if epoch == -1 and not member_id and instance_id is None:
        return ErrorCode.NONE
    code = error_for_commit(group, member_id, epoch, _FIRST_VERSION)
    return ErrorCode.ILLEGAL_GENERATION if code is ErrorCode.STALE_MEMBER_EPOCH else code


def is_late_commit(group: "StreamsGroup", member_id: str, epoch: int) -> bool:
    """Whether a commit that `error_for_commit` refuses is of a member whose epoch has moved on since (CGO-5)."""
    member = group.members.get(member_id)
    return member is not None and epoch < member.epoch


def had_at(group: "StreamsGroup", member_id: str, epoch: int, topic: str, partition: int) -> bool:
    """Whether the member holds the active task that reads the partition since that epoch or before (STO-1).

    A task that it has to give up counts; a topic that no task reads does not.
    """
    subtopology_id = None if group.topology is None else group.topology.source_topics.get(topic)
    if subtopology_id is None:
        return False
    stamp = group.members[member_id].current.stamps.get(Task(subtopology_id, partition))
    return stamp is not None and stamp <= epoch


def error_for_fetch(group: "StreamsGroup", member_id: str | None, epoch: int) -> ErrorCode:
    """The error that an OffsetFetch is answered with, or NONE (STO-1, CGO-7).

    An epoch without a member id is UNKNOWN_SERVER_ERROR: Kafka fails to look up the null.
    """
    if member_id is None:
        return ErrorCode.NONE if epoch < 0 else ErrorCode.UNKNOWN_SERVER_ERROR
    member = group.members.get(member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return ErrorCode.NONE if epoch == member.epoch else ErrorCode.STALE_MEMBER_EPOCH

"""Checks and steps that the heartbeats of consumer, share and streams groups have in common.

Kafka repeats them for each kind in `GroupMetadataManager`.
"""

from collections.abc import Callable, Collection, Iterable
from typing import TypeVar

from fakebroker.broker.core.groups.classic.classic_group import ClassicGroup
from fakebroker.broker.core.groups.host import GroupsHost, may_be_stored
from fakebroker.broker.core.groups.modern.modern_group import ModernGroup, failed_write
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.records.offsets_topic import GroupEntry

JOIN_EPOCH = 0  # a heartbeat with this epoch joins, or joins again

GroupT = TypeVar("GroupT", bound=ModernGroup)


def group_for_heartbeat(
    host: GroupsHost, kind: type[GroupT], group_id: str, now: Instant, *, may_create: bool, may_replace_classic: bool
) -> GroupT:
    """The group that a heartbeat is for (CGH-10, CGH-13, CGH-14, SGH-2, STH-10).

    With `may_create` (the heartbeat joins) a group that is not there is made, but not stored: it becomes a group with
    the records of the step (`ModernGroup.write`). With `may_replace_classic`, too, an Empty classic group counts as
    none; its tombstone has to come first among these records.

    Raises KafkaError GROUP_ID_NOT_FOUND.
    """
    found = host.group(group_id)
    if isinstance(found, kind):
        return found
    if found is None and may_create:
        return kind(group_id, host, now)
    if isinstance(found, ClassicGroup) and found.is_empty and may_create and may_replace_classic:
        return kind(group_id, host, now)
    what = "it does not exist" if found is None else f"it is a {found.kind} group"
    raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"group {group_id!r} is not a {kind.kind} group: {what}")


def check_fits(host: GroupsHost, texts: Collection[str] | None) -> None:
    """Raise KafkaError for what a member tells of itself if it is too long to be stored.

    The write would be refused alike, but after work that takes seconds for a few megabytes of names.
    """
    if texts and not is_storable(host, [texts]):
        raise failed_write(ErrorCode.MESSAGE_TOO_LARGE)


def is_storable(host: GroupsHost, lists: Iterable[Collection[str]]) -> bool:
    """Whether these names are not too long for one batch of `__consumer_offsets` by themselves."""
    return may_be_stored(host, sum(len(names) + sum(map(len, names)) for names in lists))


def tombstone_of_classic(host: GroupsHost, group: ModernGroup) -> "list[GroupEntry]":
    """What comes first if the group takes the place of an Empty classic one (CGH-13, STH-10); else nothing."""
    found = host.group(group.group_id)
    return [] if found is None or found is group else [GroupEntry(group.group_id, None)]


def check_room(group: ModernGroup, member_count: int, max_size: int, *, is_member: bool) -> None:
    """Raise KafkaError GROUP_MAX_SIZE_REACHED if the group takes no further member (CGH-15, SGH-6).

    `is_member` says whether the heartbeat is of one that it has: it is served.
    """
    if member_count >= max_size and not is_member:
        raise KafkaError(
            ErrorCode.GROUP_MAX_SIZE_REACHED, f"group {group.group_id!r} already has its maximum of {max_size} members"
        )


def unknown_member(group: ModernGroup, member_id: str) -> KafkaError:
    """UNKNOWN_MEMBER_ID for a heartbeat of somebody who is not a member (CGH-20, SGH-3, STH-11)."""
    return KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"group {group.group_id!r} has no member {member_id!r}")


def check_epoch(received: int, known: int, previous: int, is_repetition: Callable[[], bool]) -> None:
    """Raise KafkaError FENCED_MEMBER_EPOCH unless a known member may go on with the epoch that it sent.

    An epoch that is smaller than the known one is good only if it is the one before and `is_repetition()`: then the
    member may not have seen the last answer (CGH-22, CGH-23, SGH-5, STH-12). To join again is always allowed (CGH-21).
    """
    if received in (known, JOIN_EPOCH):
        return
    if received > known or received != previous or not is_repetition():
        comparison = "greater" if received > known else "smaller"
        raise KafkaError(
            ErrorCode.FENCED_MEMBER_EPOCH,
            f"the member epoch {received} is {comparison} than the one the coordinator knows, {known}; "
            "give up all partitions and join again",
        )


def metadata_may_have_changed(group: ModernGroup) -> bool:
    """Whether topics were made, deleted or given partitions since the group last looked (CGE-4, CGE-6).

    Whoever looks sets `group.seen_changes` when its step was written.
    """
    return group.seen_changes != group.host.topics.changes


def is_target_due(group: ModernGroup, group_epoch: int, interval_ms: int, now: Instant) -> bool:
    """Whether a target assignment is to be computed for `group_epoch` now (CGE-10).

    `interval_ms` is the shortest time between two assignments of the group.
    """
    if group_epoch <= group.assignment_epoch:
        return False
    return interval_ms == 0 or group.assignment_ms < 0 or now.wall_ms >= group.assignment_ms + interval_ms

"""What the members of a share group shall have: who gets what, and the records that say so (SGA, SGH-13).

Kafka: `TargetAssignmentBuilder`, `ShareGroupAssignmentBuilder`.
"""

from collections import Counter
from collections.abc import Generator, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from fakebroker.broker.core.groups.modern.assignments import (
    NOTHING,
    Assignment,
    AssignorGroup,
    AssignorMember,
    members_in_order,
    same_partitions,
    topic_ids_of,
)
from fakebroker.broker.core.groups.share import records
from fakebroker.broker.core.groups.share.member import CurrentAssignment, ShareMember
from fakebroker.broker.core.groups.share.share_group import ShareGroup
from fakebroker.broker.core.groups.share.simple_assignor import assign
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.pace import in_parts

if TYPE_CHECKING:
    from fakebroker.broker.core.topics import Topics
    from fakebroker.protocol.pace import Pace
    from fakebroker.protocol.records.group_records import GroupRecord


def new_target(group: ShareGroup, member: ShareMember, pace: "Pace") -> "Generator[None, None, dict[str, Assignment]]":
    """What every member shall have, in steps: `member` is as it is after this heartbeat, and may be new.

    A new member is in the table of members already, otherwise than in consumer groups (`getOrMaybeCreateMember`).
    Members and their targets are as they were when the steps began.
    """
    member_ids = members_in_order(group.members.in_order_with(member.member_id), member.member_id)
    members = [member if each == member.member_id else group.members[each] for each in member_ids]
    targets = [group.target.get(each, NOTHING) for each in member_ids]
    initialized = group.state_partitions.initialized
    alike = Counter([each.topic_names for each in members])  # few: most members have the same
    readers = yield from _readers(alike, pace)
    topics = yield from _existing(readers, group.host.topics, pace)
    topic_ids: dict[tuple[str, ...], tuple[bytes, ...]] = {}
    for names in alike:
        topic_ids[names] = topic_ids_of(names, lambda name: topics[name].id if name in topics else None)
        if pace.is_over(len(names)):
            yield
    asked = [AssignorMember(topic_ids[each.topic_names], had) for each, had in zip(members, targets, strict=True)]
    spec = AssignorGroup(
        dict(zip(member_ids, asked, strict=True)),
        {topic.id: topic.partitions for topic in topics.values()},
        set(readers.values()) <= {len(members)},
        {topic_id: each.partitions for topic_id, each in initialized.items()},
    )
    return (yield from assign(spec, pace))


def _readers(alike: Mapping[tuple[str, ...], int], pace: "Pace") -> "Generator[None, None, dict[str, int]]":
    """How many members read each topic; `alike` is how many have each subscription."""
    readers: dict[str, int] = {}
    for names, members in alike.items():
        for part in in_parts(names):
            for name in part:
                readers[name] = readers.get(name, 0) + members
            if pace.is_over(len(part)):
                yield
        if pace.is_over():
            yield
    return readers


class _Existing(NamedTuple):
    """A topic that exists, with its number of partitions."""

    id: bytes
    partitions: int


def _existing(names: Iterable[str], topics: "Topics", pace: "Pace") -> "Generator[None, None, dict[str, _Existing]]":
    existing: dict[str, _Existing] = {}
    for name in names:
        topic = topics.get(name)
        if topic is not None:
            existing[name] = _Existing(topic.id, len(topic.partitions))
        if pace.is_over():
            yield
    return existing


def target_records(
    group: ShareGroup, target: Mapping[str, Assignment], epoch: int, now: Instant
) -> "Iterable[GroupRecord]":
    """The records of a new target: of each member whose target changed, and its epoch (SGB-1)."""
    for member_id, assignment in target.items():
        if member_id not in group.target or not same_partitions(group.target[member_id], assignment):
            yield records.target_member_record(group.group_id, member_id, assignment)
    yield records.target_epoch_record(group.group_id, epoch, now.wall_ms)


def reconciled(
    member: ShareMember, epoch: int, target: Assignment, topics: "Topics", *, changed_topics: bool
) -> CurrentAssignment:
    """What the member has after this heartbeat: its target, but for topics that it does not read or that are gone.

    `epoch` is that of the target. A member that is there already keeps what it has, unless it changed its topics.
    """
    current = member.current
    if current.epoch != epoch:
        return CurrentAssignment(epoch, current.epoch, _readable(target, member, topics))
    if changed_topics:
        return current._replace(partitions=_readable(current.partitions, member, topics))
    return current


def _readable(assignment: Assignment, member: ShareMember, topics: "Topics") -> Assignment:
    readable, names = {}, frozenset(member.topic_names)
    for topic_id, partitions in assignment.items():
        topic = topics.by_id(topic_id)
        if topic is not None and topic.name in names:
            readable[topic_id] = partitions
    return readable or NOTHING

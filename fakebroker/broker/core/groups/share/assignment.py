"""What the members of a share group shall have: who gets what, and the records that say so (SGA, SGH-13).

Kafka: `TargetAssignmentBuilder`, `ShareGroupAssignmentBuilder`.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from fakebroker.broker.core.groups.modern.assignments import (
    NOTHING,
    Assignment,
    AssignorGroup,
    AssignorMember,
    is_homogeneous,
    members_in_order,
    same_partitions,
    topic_ids_of,
)
from fakebroker.broker.core.groups.share import records
from fakebroker.broker.core.groups.share.member import CurrentAssignment, ShareMember
from fakebroker.broker.core.groups.share.share_group import ShareGroup
from fakebroker.broker.core.groups.share.simple_assignor import assign
from fakebroker.protocol.instant import Instant

if TYPE_CHECKING:
    from fakebroker.broker.core.topics import Topics
    from fakebroker.protocol.records.group_records import GroupRecord


def new_target(group: ShareGroup, member: ShareMember) -> dict[str, Assignment]:
    """What every member shall have: `member` is as it is after this heartbeat, and may be new.

    A new member is in the table of members already, otherwise than in consumer groups (`getOrMaybeCreateMember`).
    """
    topics = group.host.topics
    member_ids = members_in_order(group.members.in_order_with(member.member_id), member.member_id)
    members = [member if each == member.member_id else group.members[each] for each in member_ids]
    names = dict.fromkeys(name for each in members for name in each.topic_names)
    subscribed = [topic for topic in map(topics.get, names) if topic is not None]
    initialized = group.state_partitions.initialized
    subscriptions = dict.fromkeys(each.topic_names for each in members)  # few: most members have the same
    topic_ids = {each: topic_ids_of(each, lambda name: _id_of(topics, name)) for each in subscriptions}
    return assign(
        AssignorGroup(
            {
                each.member_id: AssignorMember(topic_ids[each.topic_names], group.target_of(each.member_id))
                for each in members
            },
            {topic.id: len(topic.partitions) for topic in subscribed},
            is_homogeneous((each.topic_names, None) for each in members),
            {topic.id: initialized[topic.id].partitions for topic in subscribed if topic.id in initialized},
        )
    )


def target_records(
    group: ShareGroup, target: dict[str, Assignment], epoch: int, now: Instant
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


def _id_of(topics: "Topics", name: str) -> bytes | None:
    topic = topics.get(name)
    return None if topic is None else topic.id

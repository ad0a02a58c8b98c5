"""ConsumerGroupDescribe, key 69, v0-v1: consumer groups with epochs, members and their assignments (KIP-848, CGD).

v1 the protocol that each member speaks (KIP-1099).

MOCK: groups are answered in request order, members in the order of the coordinator's table (GEN-9).
"""

from collections.abc import Generator, Iterable, Mapping
from typing import TYPE_CHECKING

from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.apis.consumer_group_heartbeat import check_is_served
from fakebroker.broker.apis.described_groups import describe_group, describe_groups, describe_members
from fakebroker.broker.core.groups.consumer.consumer_group import ConsumerGroup
from fakebroker.broker.core.groups.group import Group
from fakebroker.broker.core.java_hash_map import JavaHashSet
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.pace import Pace
from fakebroker.protocol.wire.messages.consumer_group_describe import (
    Assignment,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
    Member,
    TopicPartitions,
)

if TYPE_CHECKING:
    from fakebroker.broker.core.groups.consumer.member import ConsumerMember
    from fakebroker.broker.core.topics import Topics

_CLASSIC, _CONSUMER = 0, 1  # member types


def handle(call: Call, request: ConsumerGroupDescribeRequest) -> ConsumerGroupDescribeResponse | None:
    """Describe each group by itself; empty group ids come first (CGD-1). Raises KafkaError UNSUPPORTED_VERSION."""
    check_is_served(call)
    return call.work(_in_steps(call, request), may_begin_later=True)


def _in_steps(call: Call, request: ConsumerGroupDescribeRequest) -> Steps[ConsumerGroupDescribeResponse]:
    group_ids = sorted(request.group_ids, key=bool)
    groups = yield from describe_groups(call, request, group_ids, lambda *args: _group(call, *args))
    return ConsumerGroupDescribeResponse(groups=groups)


def _group(call: Call, group_id: str, pace: Pace) -> Generator[None, None, DescribedGroup]:
    def refused(code: ErrorCode, other: Group | None) -> DescribedGroup:
        why = "not found" if other is None else "is not a consumer group"
        message = f"Group {group_id} {why}." if code == ErrorCode.GROUP_ID_NOT_FOUND else None
        return DescribedGroup(group_id=group_id, error_code=code, error_message=message)

    return describe_group(call, group_id, ConsumerGroup, lambda group: _described(group, pace), refused)


def _described(group: ConsumerGroup, pace: Pace) -> Generator[None, None, DescribedGroup]:
    """A consumer group; the assignor is the one that it would use now (CGD-6)."""
    members = yield from describe_members(group, group.members, lambda member: _member(group, member), pace)
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state,
        group_epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=group.assignor,
        members=members,
    )


def _member(group: ConsumerGroup, member: "ConsumerMember") -> tuple[Member, int]:
    """A member with all that it may still own, also what it is to give up (CGD-4), and how many topics these are."""
    metadata, current, topics = member.metadata, member.current, group.host.topics
    held: dict[bytes, list[int]] = {}
    for topic_id, partition in current.partitions():
        held.setdefault(topic_id, []).append(partition)
    target = group.target_of(member.member_id)
    entry = Member(
        member_id=member.member_id,
        instance_id=metadata.instance_id,
        rack_id=metadata.rack_id,
        member_epoch=member.epoch,
        client_id=metadata.client_id,
        client_host=metadata.client_host,
        subscribed_topic_names=JavaHashSet.copy_of(metadata.topic_names).keys_in_order(),
        subscribed_topic_regex=metadata.pattern,
        assignment=_assignment(topics, held),
        target_assignment=_assignment(topics, target),
        member_type=_CLASSIC if member.is_classic else _CONSUMER,
    )
    return entry, len(metadata.topic_names) + len(held) + len(target)


def _assignment(topics: "Topics", partitions: Mapping[bytes, Iterable[int]]) -> Assignment:
    """Partitions by topic, without topics that are gone (CGD-5)."""
    found = ((topics.by_id(topic_id), indexes) for topic_id, indexes in partitions.items())
    return Assignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic.id, topic_name=topic.name, partitions=sorted(indexes))
            for topic, indexes in found
            if topic is not None
        ]
    )

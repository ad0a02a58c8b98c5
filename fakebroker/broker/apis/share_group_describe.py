"""ShareGroupDescribe, key 77, v1: state, epochs and members of share groups (KIP-932, SGL-1).

MOCK: groups are answered in request order (GEN-9).
"""

from collections.abc import Generator

from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.apis.described_groups import describe_group, describe_groups, describe_members
from fakebroker.broker.core.groups.group import Group
from fakebroker.broker.core.groups.modern.assignments import opened
from fakebroker.broker.core.groups.share.member import ShareMember
from fakebroker.broker.core.groups.share.share_group import ASSIGNOR_NAME, ShareGroup
from fakebroker.broker.core.java_hash import hash_map_order
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.pace import Pace
from fakebroker.protocol.wire.messages.share_group_describe import (
    Assignment,
    DescribedGroup,
    Member,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
    TopicPartitions,
)


def handle(call: Call, request: ShareGroupDescribeRequest) -> ShareGroupDescribeResponse | None:
    """Describe each group by itself."""
    return call.work(_in_steps(call, request), may_begin_later=True)


def _in_steps(call: Call, request: ShareGroupDescribeRequest) -> Steps[ShareGroupDescribeResponse]:
    group_ids = request.group_ids
    groups = yield from describe_groups(call, request, group_ids, lambda *args: _group(call, *args))
    return ShareGroupDescribeResponse(groups=groups)


def _group(call: Call, group_id: str, pace: Pace) -> Generator[None, None, DescribedGroup]:
    def refused(code: ErrorCode, other: Group | None) -> DescribedGroup:
        why = "it does not exist" if other is None else f"it is a {other.kind} group"
        is_unknown = code == ErrorCode.GROUP_ID_NOT_FOUND
        message = f"group {group_id!r} is not a share group: {why}" if is_unknown else None
        return DescribedGroup(group_id=group_id, error_code=code, error_message=message)

    return describe_group(call, group_id, ShareGroup, lambda group: _described(group, pace), refused)


def _described(group: ShareGroup, pace: Pace) -> Generator[None, None, DescribedGroup]:
    members = yield from describe_members(group, group.members, lambda member: _member(group, member), pace)
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state,
        group_epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=ASSIGNOR_NAME,
        members=members,
    )


def _member(group: ShareGroup, member: ShareMember) -> tuple[Member, int]:
    entry = Member(
        member_id=member.member_id,
        rack_id=member.metadata.rack_id,
        member_epoch=member.current.epoch,
        client_id=member.metadata.client_id,
        client_host=member.metadata.client_host,
        subscribed_topic_names=hash_map_order(member.topic_names),
        assignment=_assignment(group, member),
    )
    return entry, len(member.topic_names) + len(member.current.partitions)


def _assignment(group: ShareGroup, member: ShareMember) -> Assignment:
    """What the member has, without topics that are gone."""
    partitions = opened(member.current.partitions)
    described = []
    for topic_id in partitions.keys_in_order():
        topic = group.host.topics.by_id(topic_id)
        if topic is not None:
            indexes = partitions[topic_id].keys_in_order()
            described.append(TopicPartitions(topic_id=topic_id, topic_name=topic.name, partitions=indexes))
    return Assignment(topic_partitions=described)

"""ShareGroupDescribe, key 77, v1: state, epochs and members of share groups (KIP-932, SGL-1).

MOCK: groups are answered in request order (GEN-9).
"""

from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.core.groups.modern.assignments import opened
from fakebroker.broker.core.groups.share.member import ShareMember
from fakebroker.broker.core.groups.share.share_group import ASSIGNOR_NAME, ShareGroup
from fakebroker.broker.core.java_hash import hash_map_order
from fakebroker.broker.core.pace import Pace
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.wire.messages.share_group_describe import (
    Assignment,
    DescribedGroup,
    Member,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
    TopicPartitions,
)

MEMBERS_PER_STEP = 1_000  # and groups, which cost about as much


def handle(call: Call, request: ShareGroupDescribeRequest) -> ShareGroupDescribeResponse | None:
    """Describe each group by itself."""
    return call.work(_in_steps(call, request))


def _in_steps(call: Call, request: ShareGroupDescribeRequest) -> Steps[ShareGroupDescribeResponse]:
    response, pace = ShareGroupDescribeResponse(), Pace(MEMBERS_PER_STEP)
    for group_id in request.group_ids:
        group = _describe(call, group_id)
        if request.include_authorized_operations and not group.error_code:
            group.authorized_operations = call.cluster.behaviours.group_authorized_operations
        response.groups.append(group)
        if pace.is_over(1 + len(group.members)):
            yield
    return response


def _describe(call: Call, group_id: str) -> DescribedGroup:
    """One group, or why it is not shown."""
    if not group_id:
        return DescribedGroup(group_id=group_id, error_code=ErrorCode.INVALID_GROUP_ID)
    try:
        group = call.shard(group_id).group(group_id)
    except KafkaError as error:
        return DescribedGroup(group_id=group_id, error_code=error.code)
    if not isinstance(group, ShareGroup):
        what = "there is no such group" if group is None else f"it is a {group.kind} group"
        message = f"group {group_id!r} is not a share group: {what}"
        return DescribedGroup(group_id=group_id, error_code=ErrorCode.GROUP_ID_NOT_FOUND, error_message=message)
    return DescribedGroup(
        group_id=group_id,
        group_state=group.state,
        group_epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=ASSIGNOR_NAME,
        members=[_member(call, group.members[member_id]) for member_id in group.member_ids()],
    )


def _member(call: Call, member: ShareMember) -> Member:
    return Member(
        member_id=member.member_id,
        rack_id=member.metadata.rack_id,
        member_epoch=member.current.epoch,
        client_id=member.metadata.client_id,
        client_host=member.metadata.client_host,
        subscribed_topic_names=hash_map_order(member.topic_names),
        assignment=_assignment(call, member),
    )


def _assignment(call: Call, member: ShareMember) -> Assignment:
    """What the member has, without topics that are gone."""
    partitions = opened(member.current.partitions)
    described = []
    for topic_id in partitions.keys_in_order():
        topic = call.cluster.topics.by_id(topic_id)
        if topic is not None:
            indexes = partitions[topic_id].keys_in_order()
            described.append(TopicPartitions(topic_id=topic_id, topic_name=topic.name, partitions=indexes))
    return Assignment(topic_partitions=described)

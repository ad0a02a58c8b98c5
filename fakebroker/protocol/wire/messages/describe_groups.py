"""DescribeGroups, key 15.

v1: throttle time. v3: authorized operations, on request. v4: static members. v5: flexible. v6: error texts, and an
error for groups that do not exist. v2: nothing new on the wire.
"""

from fakebroker.protocol.schema import Bool, Bytes, Int16, Int32, Message, Str, Struct, field


class DescribeGroupsRequest(Message, api_key=15, versions="0-6", flexible="5+"):
    groups: list[Str] = field("0+", entity="groupId")
    include_authorized_operations: Bool = field("3+")


class DescribedGroupMember(Struct):
    member_id: Str = field("0+", entity="memberId")
    group_instance_id: Str | None = field("4+", nullable="4+", default=None, ignorable=True, entity="groupInstanceId")
    client_id: Str = field("0+")
    client_host: Str = field("0+")
    member_metadata: Bytes = field("0+", entity="subscription")
    member_assignment: Bytes = field("0+", entity="assignment")


class DescribedGroup(Struct):
    error_code: Int16 = field("0+", entity="errorCode")
    error_message: Str | None = field("6+", nullable="6+", default=None)
    group_id: Str = field("0+", entity="groupId")
    group_state: Str = field("0+")
    protocol_type: Str = field("0+")
    protocol_data: Str = field("0+")
    members: list[DescribedGroupMember] = field("0+")
    authorized_operations: Int32 = field("3+", default=-(2**31))


class DescribeGroupsResponse(Message, api_key=15, versions="0-6", flexible="5+"):
    throttle_time_ms: Int32 = field("1+", ignorable=True)
    groups: list[DescribedGroup] = field("0+")

"""ListGroups, key 16.

v1: throttle time. v3: flexible. v4: states, and a filter by them. v5: types, and a filter by them. v2: nothing new
on the wire.
"""

from fakebroker.protocol.schema import Int16, Int32, Message, Str, Struct, field


class ListGroupsRequest(Message, api_key=16, versions="0-5", flexible="3+"):
    states_filter: list[Str] = field("4+")
    types_filter: list[Str] = field("5+")


class ListedGroup(Struct):
    group_id: Str = field("0+", entity="groupId")
    protocol_type: Str = field("0+")
    group_state: Str = field("4+", ignorable=True)
    group_type: Str = field("5+", ignorable=True)


class ListGroupsResponse(Message, api_key=16, versions="0-5", flexible="3+"):
    throttle_time_ms: Int32 = field("1+", ignorable=True)
    error_code: Int16 = field("0+", entity="errorCode")
    groups: list[ListedGroup] = field("0+")

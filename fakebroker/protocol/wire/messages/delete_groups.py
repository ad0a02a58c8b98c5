"""DeleteGroups, key 42.

v2: flexible. v1: nothing new on the wire.
"""

from fakebroker.protocol.schema import Int16, Int32, Message, Str, Struct, field


class DeleteGroupsRequest(Message, api_key=42, versions="0-2", flexible="2+"):
    groups_names: list[Str] = field("0+", entity="groupId")


class DeletableGroupResult(Struct):
    group_id: Str = field("0+", map_key=True, entity="groupId")
    error_code: Int16 = field("0+", entity="errorCode")


class DeleteGroupsResponse(Message, api_key=42, versions="0-2", flexible="2+"):
    throttle_time_ms: Int32 = field("0+")
    results: list[DeletableGroupResult] = field("0+")

"""DescribeAcls, key 29: the ACLs that match a filter (KIP-140).

v1 pattern types (KIP-290); v2 flexible; v3 the resource type of users (KIP-373).
"""

from fakebroker.protocol.schema import Int8, Int16, Int32, Message, Str, Struct, field

LITERAL = 3


class DescribeAclsRequest(Message, api_key=29, versions="0-3", flexible="2+"):
    resource_type_filter: Int8 = field("0+")
    resource_name_filter: Str | None = field("0+", nullable="0+")
    pattern_type_filter: Int8 = field("1+", default=LITERAL)
    principal_filter: Str | None = field("0+", nullable="0+")
    host_filter: Str | None = field("0+", nullable="0+")
    operation: Int8 = field("0+")
    permission_type: Int8 = field("0+")


class AclDescription(Struct):
    principal: Str = field("0+")
    host: Str = field("0+")
    operation: Int8 = field("0+")
    permission_type: Int8 = field("0+")


class DescribeAclsResource(Struct):
    resource_type: Int8 = field("0+")
    resource_name: Str = field("0+")
    pattern_type: Int8 = field("1+", default=LITERAL)
    acls: list[AclDescription] = field("0+")


class DescribeAclsResponse(Message, api_key=29, versions="0-3", flexible="2+"):
    throttle_time_ms: Int32 = field("0+")
    error_code: Int16 = field("0+", entity="errorCode")
    error_message: Str | None = field("0+", nullable="0+")
    resources: list[DescribeAclsResource] = field("0+")

"""DeleteAcls, key 31: remove the ACLs that match filters (KIP-140).

v1 pattern types (KIP-290); v2 flexible; v3 the resource type of users (KIP-373).
"""

from fakebroker.protocol.schema import Int8, Int16, Int32, Message, Str, Struct, field

LITERAL = 3


class DeleteAclsFilter(Struct):
    resource_type_filter: Int8 = field("0+")
    resource_name_filter: Str | None = field("0+", nullable="0+")
    pattern_type_filter: Int8 = field("1+", default=LITERAL)
    principal_filter: Str | None = field("0+", nullable="0+")
    host_filter: Str | None = field("0+", nullable="0+")
    operation: Int8 = field("0+")
    permission_type: Int8 = field("0+")


class DeleteAclsRequest(Message, api_key=31, versions="0-3", flexible="2+"):
    filters: list[DeleteAclsFilter] = field("0+")


class DeleteAclsMatchingAcl(Struct):
    error_code: Int16 = field("0+", entity="errorCode")
    error_message: Str | None = field("0+", nullable="0+")
    resource_type: Int8 = field("0+")
    resource_name: Str = field("0+")
    pattern_type: Int8 = field("1+", default=LITERAL)
    principal: Str = field("0+")
    host: Str = field("0+")
    operation: Int8 = field("0+")
    permission_type: Int8 = field("0+")


class DeleteAclsFilterResult(Struct):
    error_code: Int16 = field("0+", entity="errorCode")
    error_message: Str | None = field("0+", nullable="0+")
    matching_acls: list[DeleteAclsMatchingAcl] = field("0+")


class DeleteAclsResponse(Message, api_key=31, versions="0-3", flexible="2+"):
    throttle_time_ms: Int32 = field("0+")
    filter_results: list[DeleteAclsFilterResult] = field("0+")

"""CreateAcls, key 30: add ACLs (KIP-140).

v1 pattern types (KIP-290); v2 flexible; v3 the resource type of users (KIP-373).
"""

from fakebroker.protocol.schema import Int8, Int16, Int32, Message, Str, Struct, field

LITERAL = 3


class AclCreation(Struct):
    resource_type: Int8 = field("0+")
    resource_name: Str = field("0+")
    resource_pattern_type: Int8 = field("1+", default=LITERAL)
    principal: Str = field("0+")
    host: Str = field("0+")
    operation: Int8 = field("0+")
    permission_type: Int8 = field("0+")


class CreateAclsRequest(Message, api_key=30, versions="0-3", flexible="2+"):
    creations: list[AclCreation] = field("0+")


class AclCreationResult(Struct):
    error_code: Int16 = field("0+", entity="errorCode")
    error_message: Str | None = field("0+", nullable="0+")


class CreateAclsResponse(Message, api_key=30, versions="0-3", flexible="2+"):
    throttle_time_ms: Int32 = field("0+")
    results: list[AclCreationResult] = field("0+")

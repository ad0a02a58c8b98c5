"""CreateAcls, key 30, v0-v3: add ACLs (KIP-140, AU). Left out: there is no authorizer."""

from fakebroker.apis.acl_requests import NO_AUTHORIZER, refuse_unknown
from fakebroker.apis.call import Call
from fakebroker.errors import ErrorCode
from fakebroker.wire.messages.create_acls import AclCreationResult, CreateAclsRequest, CreateAclsResponse


def handle(_call: Call, request: CreateAclsRequest) -> CreateAclsResponse:
    """SECURITY_DISABLED for each entry (AU-1). Raises CloseConnection if one of them has an unknown code."""
    for each in request.creations:
        refuse_unknown(each.resource_type, each.resource_pattern_type, each.operation, each.permission_type)
    code, text = ErrorCode.SECURITY_DISABLED, f"{NO_AUTHORIZER}."
    return CreateAclsResponse(
        results=[AclCreationResult(error_code=code, error_message=text) for _ in request.creations]
    )

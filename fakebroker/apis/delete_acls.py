"""DeleteAcls, key 31, v0-v3: remove the ACLs that match filters (KIP-140, AU). Left out: there is no authorizer."""

from fakebroker.apis.acl_requests import NO_AUTHORIZER, refuse_unknown
from fakebroker.apis.call import Call
from fakebroker.errors import ErrorCode
from fakebroker.wire.messages.delete_acls import DeleteAclsFilterResult, DeleteAclsRequest, DeleteAclsResponse


def handle(_call: Call, request: DeleteAclsRequest) -> DeleteAclsResponse:
    """SECURITY_DISABLED for each filter (AU-1). Raises CloseConnection if one of them has an unknown code."""
    for each in request.filters:
        refuse_unknown(each.resource_type_filter, each.pattern_type_filter, each.operation, each.permission_type)
    code, text = ErrorCode.SECURITY_DISABLED, f"{NO_AUTHORIZER}."
    results = [DeleteAclsFilterResult(error_code=code, error_message=text) for _ in request.filters]
    return DeleteAclsResponse(filter_results=results)

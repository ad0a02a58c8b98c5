"""DescribeAcls, key 29, v0-v3: the ACLs that match a filter (KIP-140, AU). Left out: there is no authorizer."""

from fakebroker.apis.acl_requests import NO_AUTHORIZER, refuse_unknown
from fakebroker.apis.call import Call
from fakebroker.errors import ErrorCode
from fakebroker.wire.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse


def handle(_call: Call, request: DescribeAclsRequest) -> DescribeAclsResponse:
    """SECURITY_DISABLED (AU-1). Raises CloseConnection for a filter with an unknown code."""
    refuse_unknown(
        request.resource_type_filter, request.pattern_type_filter, request.operation, request.permission_type
    )
    return DescribeAclsResponse(error_code=ErrorCode.SECURITY_DISABLED, error_message=f"{NO_AUTHORIZER} on the broker")

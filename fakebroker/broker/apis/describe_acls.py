"""DescribeAcls, key 29, v0-v3: the ACLs that match a filter (KIP-140, AU-10, AU-11)."""

from fakebroker.broker.apis.acl_requests import NO_AUTHORIZER, filter_of, refuse_unknown_filter
from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.core.security.acls import AclFilter, Acls, ResourcePattern
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.pace import Pace, kept
from fakebroker.protocol.wire.messages.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)

ENTRIES_PER_STEP = 10_000


def handle(call: Call, request: DescribeAclsRequest) -> DescribeAclsResponse | None:
    """The entries, by the resource pattern that they are for; SECURITY_DISABLED without an authorizer (AU-1).

    A code that nobody knows matches nothing. Raises CloseConnection for a filter with an unknown code, 0.
    """
    refuse_unknown_filter(request)
    authorizer = call.cluster.authorizer
    if authorizer is None:
        text = f"{NO_AUTHORIZER} on the broker"
        return DescribeAclsResponse(error_code=ErrorCode.SECURITY_DISABLED, error_message=text)
    wanted = filter_of(request)
    if wanted is None:
        return DescribeAclsResponse(error_message="")
    return call.work(_in_steps(authorizer.acls, wanted, call.pace(ENTRIES_PER_STEP)), may_begin_later=True)


def _in_steps(acls: Acls, wanted: AclFilter, pace: Pace) -> Steps[DescribeAclsResponse]:
    """The entries that there are at the beginning."""
    resources: dict[ResourcePattern, DescribeAclsResource] = {}
    for acl in (yield from kept(list(acls), wanted.matches, pace)):
        resource = resources.get(acl.pattern)
        if resource is None:
            resource = resources[acl.pattern] = DescribeAclsResource(
                resource_type=acl.pattern.resource_type,
                resource_name=acl.pattern.name,
                pattern_type=acl.pattern.pattern_type,
            )
        resource.acls.append(
            AclDescription(
                principal=acl.principal, host=acl.host, operation=acl.operation, permission_type=acl.permission
            )
        )
        if pace.is_over():
            yield
    return DescribeAclsResponse(error_message="", resources=list(resources.values()))

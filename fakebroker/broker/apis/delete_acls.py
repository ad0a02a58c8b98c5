"""DeleteAcls, key 31, v0-v3: remove the ACLs that match filters (KIP-140, AU-13)."""

from fakebroker.broker.apis.acl_requests import NO_AUTHORIZER, filter_of, refuse_unknown_filter
from fakebroker.broker.apis.call import Call
from fakebroker.broker.core.events import AclChanged
from fakebroker.broker.core.security.acls import Acl
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.delete_acls import (
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)


def handle(call: Call, request: DeleteAclsRequest) -> DeleteAclsResponse:
    """For each filter the entries that it means, which are gone then; SECURITY_DISABLED without an authorizer (AU-1).

    All filters look at the entries of the beginning. A code that nobody knows is INVALID_REQUEST. Raises
    CloseConnection for a filter with an unknown code, 0.
    """
    for each in request.filters:
        refuse_unknown_filter(each)
    authorizer = call.cluster.authorizer
    if authorizer is None:
        code, text = ErrorCode.SECURITY_DISABLED, f"{NO_AUTHORIZER}."
        results = [DeleteAclsFilterResult(error_code=code, error_message=text) for _ in request.filters]
        return DeleteAclsResponse(filter_results=results)
    results, found = [], list[Acl]()
    for each in request.filters:
        wanted = filter_of(each)
        if wanted is None:
            text = "the filter has a code that does not exist"
            results.append(DeleteAclsFilterResult(error_code=ErrorCode.INVALID_REQUEST, error_message=text))
            continue
        matching = authorizer.acls.find(wanted)
        found += matching
        results.append(DeleteAclsFilterResult(error_message=None, matching_acls=[_removed(acl) for acl in matching]))
    for acl in found:
        if authorizer.acls.remove(acl):
            call.cluster.outbox.append(AclChanged("removed", str(acl)))
    return DeleteAclsResponse(filter_results=results)


def _removed(acl: Acl) -> DeleteAclsMatchingAcl:
    return DeleteAclsMatchingAcl(
        error_message=None,
        resource_type=acl.pattern.resource_type,
        resource_name=acl.pattern.name,
        pattern_type=acl.pattern.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission,
    )

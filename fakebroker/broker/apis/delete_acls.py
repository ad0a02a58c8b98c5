"""DeleteAcls, key 31, v0-v3: remove the ACLs that match filters (KIP-140, AU-13)."""

from fakebroker.broker.apis.acl_requests import NO_AUTHORIZER, filter_of, refuse_unknown_filter
from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.apis.written_entries import WrittenEntries
from fakebroker.broker.core.events import AclChanged
from fakebroker.broker.core.security.acls import Acl, AclFilter, Acls
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.pace import kept, listed
from fakebroker.protocol.wire.messages.delete_acls import (
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)

FILTERS_PER_STEP = 2_000
ENTRIES_PER_STEP = 20_000  # that are looked at
_REMOVAL_COSTS_ENTRIES = 10


def handle(call: Call, request: DeleteAclsRequest) -> DeleteAclsResponse | None:
    """For each filter the entries that it means, which are gone then; SECURITY_DISABLED without an authorizer (AU-1).

    All filters look at the entries of the beginning. A code that nobody knows is INVALID_REQUEST. Raises
    CloseConnection for a filter with an unknown code, 0.
    """
    return call.work(_in_steps(call, request), must_finish=True)


def _in_steps(call: Call, request: DeleteAclsRequest) -> Steps[DeleteAclsResponse]:
    authorizer, pace = call.cluster.authorizer, call.pace(FILTERS_PER_STEP)
    for each in request.filters:
        refuse_unknown_filter(each)
        if pace.is_over():
            yield
    if authorizer is not None:
        return (yield from _deleted(call, request, authorizer.acls))
    refused = (_error_result(ErrorCode.SECURITY_DISABLED, f"{NO_AUTHORIZER}.") for _ in request.filters)
    return DeleteAclsResponse(filter_results=(yield from listed(refused, pace)))


def _error_result(code: ErrorCode, text: str) -> DeleteAclsFilterResult:
    return DeleteAclsFilterResult(error_code=code, error_message=text)


def _deleted(call: Call, request: DeleteAclsRequest, acls: Acls) -> Steps[DeleteAclsResponse]:
    """All filters are looked at before the first entry goes.

    A filter that comes again has the same result, and an entry that several mean is one: 1 MB holds 125,000 filters.
    """
    pace = call.pace(ENTRIES_PER_STEP)
    results, known = list[DeleteAclsFilterResult](), dict[AclFilter, DeleteAclsFilterResult]()
    found, entries, written = dict[Acl, DeleteAclsMatchingAcl](), list(acls), WrittenEntries(call)
    for each in request.filters:
        wanted = filter_of(each)
        if wanted is None:
            results.append(_error_result(ErrorCode.INVALID_REQUEST, "the filter has an unknown code"))
            if pace.is_over(_REMOVAL_COSTS_ENTRIES):
                yield
            continue
        result = known.get(wanted)
        if result is None:
            meant = yield from kept(entries, wanted.matches, pace)
            removed = [found.get(acl) or found.setdefault(acl, _removed(acl)) for acl in meant]
            result = known[wanted] = DeleteAclsFilterResult(error_message=None, matching_acls=removed)
        results.append(result)
        if written.is_over(result):  # other filters may mean the same entries
            yield
        if pace.is_over(len(result.matching_acls) + _REMOVAL_COSTS_ENTRIES):
            yield
    for acl in found:
        if acls.remove(acl):
            call.cluster.outbox.append(AclChanged("removed", str(acl)))
        if pace.is_over(_REMOVAL_COSTS_ENTRIES):
            yield
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

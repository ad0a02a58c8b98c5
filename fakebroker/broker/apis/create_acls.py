"""CreateAcls, key 30, v0-v3: add ACLs (KIP-140, AU-11, AU-12)."""

from fakebroker.broker.apis.acl_requests import NO_AUTHORIZER, refuse_unknown
from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.core.events import AclChanged
from fakebroker.broker.core.security.acls import (
    CLUSTER_NAME,
    Acl,
    Acls,
    Operation,
    PatternType,
    Permission,
    ResourceType,
    acl_of,
)
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.pace import Pace, listed
from fakebroker.protocol.wire.messages.create_acls import (
    AclCreation,
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)

ENTRIES_PER_STEP = 2_000


def handle(call: Call, request: CreateAclsRequest) -> CreateAclsResponse | None:
    """Each entry by itself; SECURITY_DISABLED for each without an authorizer (AU-1).

    A code that only filters have, in one entry, is UNKNOWN_SERVER_ERROR for all. Raises CloseConnection if an entry has
    an unknown code, 0.
    """
    return call.work(_in_steps(call, request), must_finish=True)


def _in_steps(call: Call, request: CreateAclsRequest) -> Steps[CreateAclsResponse]:
    authorizer, pace, are_filters = call.cluster.authorizer, call.pace(ENTRIES_PER_STEP), False
    for each in request.creations:
        refuse_unknown(each.resource_type, each.resource_pattern_type, each.operation, each.permission_type)
        are_filters = are_filters or _is_filter(each)
        if pace.is_over():
            yield
    if authorizer is None:
        return (yield from _all(request, ErrorCode.SECURITY_DISABLED, f"{NO_AUTHORIZER}.", pace))
    if are_filters:
        return (yield from _all(request, ErrorCode.UNKNOWN_SERVER_ERROR, None, pace))
    return (yield from _added(call, request, authorizer.acls, pace))


def _added(call: Call, request: CreateAclsRequest, acls: Acls, pace: Pace) -> Steps[CreateAclsResponse]:
    """All entries are checked before the first one counts."""
    results, wanted = [], list[Acl]()
    for each in request.creations:
        result = AclCreationResult(error_message="")
        try:
            wanted.append(_checked(each))
        except KafkaError as error:
            result.error_code, result.error_message = error.code, error.message
        results.append(result)
        if pace.is_over():
            yield
    for acl in wanted:
        if acls.add(acl):
            call.cluster.outbox.append(AclChanged("added", str(acl)))
        if pace.is_over():
            yield
    return CreateAclsResponse(results=results)


def _all(request: CreateAclsRequest, code: ErrorCode, text: str | None, pace: Pace) -> Steps[CreateAclsResponse]:
    results = (AclCreationResult(error_code=code, error_message=text) for _ in request.creations)
    return CreateAclsResponse(results=(yield from listed(results, pace)))


def _is_filter(each: AclCreation) -> bool:
    return (
        each.resource_type == ResourceType.ANY
        or each.resource_pattern_type in (PatternType.ANY, PatternType.MATCH)
        or each.operation == Operation.ANY
        or each.permission_type == Permission.ANY
    )


def _checked(each: AclCreation) -> Acl:
    """An entry that may be stored. Raises KafkaError INVALID_REQUEST (AU-12)."""
    try:
        acl = acl_of(
            each.resource_type,
            each.resource_name,
            each.resource_pattern_type,
            each.principal,
            each.host,
            each.operation,
            each.permission_type,
        )
    except ValueError as error:
        raise KafkaError(ErrorCode.INVALID_REQUEST, str(error)) from None
    if not each.resource_name:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "the resource has no name")
    if acl.pattern.resource_type is ResourceType.CLUSTER and each.resource_name != CLUSTER_NAME:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"the only resource of type CLUSTER is {CLUSTER_NAME}")
    if ":" not in each.principal:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"the principal {each.principal!r} has no type; write User:NAME")
    return acl

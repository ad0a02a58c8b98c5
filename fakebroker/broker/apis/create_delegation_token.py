"""CreateDelegationToken, key 38, v0-v3: a token by which others log in as its owner (KIP-48, TK-2)."""

from fakebroker.broker.apis.call import Call
from fakebroker.broker.apis.tokens import check_requester, limits, secret_key
from fakebroker.broker.core.security.principals import USER, Principal
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.schema.runtime import MAX_STRING_BYTES
from fakebroker.protocol.wire.messages.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)

_FIRST_WITH_OWNER = 3


def handle(call: Call, request: CreateDelegationTokenRequest, *, may_own: bool = True) -> CreateDelegationTokenResponse:
    """The token; without one the times are -1, and owner and requester are named all the same.

    An owner other than the requester is KIP-373's. `may_own`: the requester has the right that this needs.
    """
    requester = call.connection.principal
    owner = requester
    if call.version >= _FIRST_WITH_OWNER and request.owner_principal_name:
        owner = Principal(request.owner_principal_name, request.owner_principal_type or USER)
    response = CreateDelegationTokenResponse(
        principal_type=owner.type,
        principal_name=owner.name,
        issue_timestamp_ms=-1,
        expiry_timestamp_ms=-1,
        max_timestamp_ms=-1,
    )
    if call.version >= _FIRST_WITH_OWNER:
        response.token_requester_principal_type = requester.type
        response.token_requester_principal_name = requester.name
    try:
        check_requester(call)
        if any(renewer.principal_type != USER for renewer in request.renewers):
            raise KafkaError(ErrorCode.INVALID_PRINCIPAL_TYPE)
        _check_lengths(owner, requester, *(Principal(each.principal_name) for each in request.renewers))
        if not may_own:
            raise KafkaError(ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED)
    except KafkaError as error:
        response.error_code = error.code
        return response
    _create(call, request, owner, response)
    return response


def _check_lengths(*principals: Principal) -> None:
    """Raises KafkaError(INVALID_REQUEST) for a principal that no record of the metadata log can hold as a text."""
    if any(len(str(each).encode()) > MAX_STRING_BYTES for each in principals):
        raise KafkaError(ErrorCode.INVALID_REQUEST)


def _create(
    call: Call, request: CreateDelegationTokenRequest, owner: Principal, response: CreateDelegationTokenResponse
) -> None:
    token = call.cluster.credentials.tokens.create(
        call.cluster.new_base64_id(),
        secret_key(call),
        owner,
        call.connection.principal,
        [(renewer.principal_type, renewer.principal_name) for renewer in request.renewers],
        request.max_lifetime_ms,
        limits(call),
        call.now.wall_ms,
    )
    response.token_id, response.hmac = token.token_id, token.hmac
    response.issue_timestamp_ms, response.expiry_timestamp_ms = token.issued_ms, token.expires_ms
    response.max_timestamp_ms = token.max_ms

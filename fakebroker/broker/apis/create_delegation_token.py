"""CreateDelegationToken, key 38, v0-v3: a token by which others log in as its owner (KIP-48, TK-2).

MOCK: a token has at most 1,000 renewers, and all tokens together take at most 64 MiB; Kafka bounds what one record of
the metadata log holds, which takes it seconds.
"""

from collections.abc import Sequence

from fakebroker.broker.apis.call import Call
from fakebroker.broker.apis.tokens import check_requester, limits, secret_key
from fakebroker.broker.core.security.principals import ANONYMOUS, USER, Principal
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.schema.runtime import MAX_STRING_BYTES
from fakebroker.protocol.wire.messages.create_delegation_token import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)

MAX_RENEWERS = 1_000
MAX_RECORD_BYTES = 8 << 20  # of the metadata log
_FIRST_WITH_OWNER = 3


def handle(call: Call, request: CreateDelegationTokenRequest, *, may_own: bool = True) -> CreateDelegationTokenResponse:
    """The token; without one the times are -1, and owner and requester are named all the same.

    An owner other than the requester is KIP-373's. `may_own`: the requester has the right that this needs.
    """
    owner = requester = call.connection.principal
    if call.version >= _FIRST_WITH_OWNER and request.owner_principal_name:
        if request.owner_principal_type is None:  # Kafka fails, and its answer names neither of the two
            failed = _without_token(call, ANONYMOUS, ANONYMOUS)
            failed.error_code = ErrorCode.UNKNOWN_SERVER_ERROR
            return failed
        owner = Principal(request.owner_principal_name, request.owner_principal_type)
    response = _without_token(call, owner, requester)
    try:
        check_requester(call)
        if not may_own:
            raise KafkaError(ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED)
        _check_renewers(request.renewers)
        _check_lengths(owner, requester, *(Principal(each.principal_name) for each in request.renewers))
        _create(call, request, owner, response)
    except KafkaError as error:
        response.error_code = error.code
    return response


def _without_token(call: Call, owner: Principal, requester: Principal) -> CreateDelegationTokenResponse:
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
    return response


def _check_renewers(renewers: Sequence[CreatableRenewers]) -> None:
    """Raises KafkaError for too many, which are not looked at, and if one is no user."""
    if len(renewers) > MAX_RENEWERS:
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    if any(renewer.principal_type != USER for renewer in renewers):
        raise KafkaError(ErrorCode.INVALID_PRINCIPAL_TYPE)


def _check_lengths(*principals: Principal) -> None:
    """Raises KafkaError for principals that no record of the metadata log can hold: for one, or for all of them."""
    lengths = [len(str(each).encode()) for each in principals]
    if max(lengths) > MAX_STRING_BYTES:
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    if sum(lengths) > MAX_RECORD_BYTES:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)


def _create(
    call: Call, request: CreateDelegationTokenRequest, owner: Principal, response: CreateDelegationTokenResponse
) -> None:
    """Raises KafkaError."""
    token = call.cluster.credentials.tokens.create(
        call.cluster.new_base64_id(),
        secret_key(call),
        owner,
        call.connection.principal,
        [(USER, renewer.principal_name) for renewer in request.renewers],
        request.max_lifetime_ms,
        limits(call),
        call.now.wall_ms,
    )
    response.token_id, response.hmac = token.token_id, token.hmac
    response.issue_timestamp_ms, response.expiry_timestamp_ms = token.issued_ms, token.expires_ms
    response.max_timestamp_ms = token.max_ms

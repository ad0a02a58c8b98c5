"""RenewDelegationToken, key 39, v0-v2: a delegation token lives on (KIP-48, TK-3)."""

from fakebroker.broker.apis.call import Call
from fakebroker.broker.apis.tokens import check_requester, limits
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.wire.messages.renew_delegation_token import (
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)


def handle(call: Call, request: RenewDelegationTokenRequest) -> RenewDelegationTokenResponse:
    """Until when it lives; the time is 0 for a token that there is not, and -1 for who may not ask."""
    try:
        check_requester(call)
    except KafkaError as error:
        return RenewDelegationTokenResponse(error_code=error.code, expiry_timestamp_ms=-1)
    tokens, who = call.cluster.credentials.tokens, call.connection.principal
    try:
        ends_ms = tokens.renew(bytes(request.hmac), who, request.renew_period_ms, limits(call), call.now.wall_ms)
    except KafkaError as error:
        return RenewDelegationTokenResponse(error_code=error.code)
    return RenewDelegationTokenResponse(error_code=ErrorCode.NONE, expiry_timestamp_ms=ends_ms)

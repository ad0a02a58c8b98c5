"""ExpireDelegationToken, key 40, v0-v2: a delegation token ends sooner, or at once (KIP-48, TK-3)."""

from fakebroker.broker.apis.call import Call
from fakebroker.broker.apis.tokens import check_requester, limits
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.wire.messages.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)


def handle(call: Call, request: ExpireDelegationTokenRequest) -> ExpireDelegationTokenResponse:
    """When it ends; the time is 0 for a token that there is not, and -1 for who may not ask."""
    try:
        check_requester(call)
    except KafkaError as error:
        return ExpireDelegationTokenResponse(error_code=error.code, expiry_timestamp_ms=-1)
    tokens, who = call.cluster.credentials.tokens, call.connection.principal
    try:
        ends_ms = tokens.expire(bytes(request.hmac), who, request.expiry_time_period_ms, limits(call), call.now.wall_ms)
    except KafkaError as error:
        return ExpireDelegationTokenResponse(error_code=error.code)
    return ExpireDelegationTokenResponse(error_code=ErrorCode.NONE, expiry_timestamp_ms=ends_ms)

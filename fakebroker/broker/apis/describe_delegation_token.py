"""DescribeDelegationToken, key 41, v0-v3: the delegation tokens that a client may see (KIP-48, TK-4)."""

from collections.abc import Callable

from fakebroker.broker.apis.call import Call
from fakebroker.broker.apis.tokens import check_requester
from fakebroker.broker.core.security.delegation_tokens import Token
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.wire.messages.describe_delegation_token import (
    DescribedDelegationToken,
    DescribedDelegationTokenRenewer,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)

_FIRST_WITH_REQUESTER = 3


def handle(
    call: Call, request: DescribeDelegationTokenRequest, may_see: Callable[[Token], bool] = lambda _token: False
) -> DescribeDelegationTokenResponse:
    """The tokens that it manages, as far as one of these `owners` does so, too; null means all, an empty list none.

    `may_see` says which tokens of others it has a right to see.
    """
    try:
        check_requester(call)
    except KafkaError as error:
        return DescribeDelegationTokenResponse(error_code=error.code)
    tokens = call.cluster.credentials.tokens
    tokens.forget_expired(call.now.wall_ms)
    owners = None if request.owners is None else {(each.principal_type, each.principal_name) for each in request.owners}
    return DescribeDelegationTokenResponse(
        tokens=[
            _described(token, call.version)
            for token in tokens
            if (owners is None or token.managers & owners)
            and (token.is_managed_by(call.connection.principal) or may_see(token))
        ]
    )


def _described(token: Token, version: int) -> DescribedDelegationToken:
    described = DescribedDelegationToken(
        principal_type=token.owner[0],
        principal_name=token.owner[1],
        issue_timestamp=token.issued_ms,
        expiry_timestamp=token.expires_ms,
        max_timestamp=token.max_ms,
        token_id=token.token_id,
        hmac=token.hmac,
        renewers=[
            DescribedDelegationTokenRenewer(principal_type=kind, principal_name=name) for kind, name in token.renewers
        ],
    )
    if version >= _FIRST_WITH_REQUESTER:
        described.token_requester_principal_type, described.token_requester_principal_name = token.requester
    return described

"""DescribeDelegationToken, key 41, v0-v3: the delegation tokens that a client may see (KIP-48, TK-4)."""

from collections.abc import Callable
from typing import cast

from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.apis.tokens import check_requester, limits
from fakebroker.broker.core.security.delegation_tokens import Token
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.wire.messages.describe_delegation_token import (
    DescribedDelegationToken,
    DescribedDelegationTokenRenewer,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)

_FIRST_WITH_REQUESTER = 3
RENEWERS_PER_STEP = 10_000


def handle(
    call: Call, request: DescribeDelegationTokenRequest, may_see: Callable[[Token], bool] = lambda _token: False
) -> DescribeDelegationTokenResponse | None:
    """The tokens that it manages, as far as one of these `owners` does so, too; null means all, an empty list none.

    `may_see` says which tokens of others it has a right to see.
    """
    try:
        check_requester(call)
    except KafkaError as error:
        return DescribeDelegationTokenResponse(error_code=error.code)
    return call.work(_in_steps(call, request, may_see))


def _in_steps(
    call: Call, request: DescribeDelegationTokenRequest, may_see: Callable[[Token], bool]
) -> Steps[DescribeDelegationTokenResponse]:
    pace = call.pace(RENEWERS_PER_STEP)
    owners = None if request.owners is None else set[tuple[str, str]]()
    for each in request.owners or ():
        cast("set[tuple[str, str]]", owners).add((each.principal_type, each.principal_name))
        if pace.is_over():
            yield
    tokens, principal = call.cluster.credentials.tokens, call.connection.principal
    tokens.forget_expired(call.now.wall_ms - limits(call).expired_kept_ms)
    described = []
    for token_id in [token.token_id for token in tokens]:
        token = tokens.get(token_id)
        if token is None:  # it has ended between the steps
            continue
        is_wanted = owners is None or any(reader in owners for reader in token.readers)
        if is_wanted and (token.is_read_by(principal) or may_see(token)):
            described.append(_described(token, tokens.described_renewers(token, _described_renewers), call.version))
        if pace.is_over(10 + len(token.renewers)):  # judging one takes as long as showing some renewers
            yield
    return DescribeDelegationTokenResponse(tokens=described)


def _described_renewers(token: Token) -> list[DescribedDelegationTokenRenewer]:
    return [DescribedDelegationTokenRenewer(principal_type=kind, principal_name=name) for kind, name in token.renewers]


def _described(token: Token, renewers: list[DescribedDelegationTokenRenewer], version: int) -> DescribedDelegationToken:
    described = DescribedDelegationToken(
        principal_type=token.owner[0],
        principal_name=token.owner[1],
        issue_timestamp=token.issued_ms,
        expiry_timestamp=token.expires_ms,
        max_timestamp=token.max_ms,
        token_id=token.token_id,
        hmac=token.hmac,
        renewers=renewers,
    )
    if version >= _FIRST_WITH_REQUESTER:
        described.token_requester_principal_type, described.token_requester_principal_name = token.requester
    return described

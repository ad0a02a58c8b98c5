"""RenewDelegationToken for those who may ask, and those who may not."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.core.cluster import Cluster
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.renew_delegation_token import RenewDelegationTokenRequest
from tests.support.logins import lab_with_tokens, logged_in

ASKED: dict[str, Any] = {"hmac": b"x", "renew_period_ms": 1}


@pytest.mark.rules("TK-1")
@pytest.mark.parametrize("version", [1, 2])
def test_nobody_has_tokens_without_a_login(ask: Callable[..., Any], cluster: Cluster, version: int) -> None:
    """DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, and nothing else in the answer."""
    answer = ask(cluster, RenewDelegationTokenRequest(**ASKED), version)

    assert answer.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    assert answer.expiry_timestamp_ms == -1


@pytest.mark.rules("TK-1")
def test_without_a_secret_key_there_are_no_tokens() -> None:
    """DELEGATION_TOKEN_AUTH_DISABLED."""
    assert (
        logged_in(lab_with_tokens(key=None)).ask("RenewDelegationToken", 2, **ASKED).error_code
        == ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
    )


@pytest.mark.rules("TK-3")
def test_a_token_lives_on() -> None:
    """Until the time that is asked for; for an unknown token the time is 0."""
    lab = lab_with_tokens()
    client = logged_in(lab)
    token = client.ask("CreateDelegationToken", 3, renewers=[], max_lifetime_ms=-1)

    renewed = client.ask("RenewDelegationToken", 2, hmac=token.hmac, renew_period_ms=1000)
    assert (renewed.error_code, renewed.expiry_timestamp_ms) == (0, lab.engine.now.wall_ms + 1000)
    unknown = client.ask("RenewDelegationToken", 2, **ASKED)
    assert (unknown.error_code, unknown.expiry_timestamp_ms) == (ErrorCode.DELEGATION_TOKEN_NOT_FOUND, 0)

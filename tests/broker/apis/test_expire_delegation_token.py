"""ExpireDelegationToken for those who may ask, and those who may not."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.core.cluster import Cluster
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.expire_delegation_token import ExpireDelegationTokenRequest
from tests.support.logins import lab_with_tokens, logged_in

ASKED: dict[str, Any] = {"hmac": b"x", "expiry_time_period_ms": 1}


@pytest.mark.rules("TK-1")
@pytest.mark.parametrize("version", [1, 2])
def test_nobody_has_tokens_without_a_login(ask: Callable[..., Any], cluster: Cluster, version: int) -> None:
    """DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, and nothing else in the answer."""
    answer = ask(cluster, ExpireDelegationTokenRequest(**ASKED), version)

    assert answer.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    assert answer.expiry_timestamp_ms == -1


@pytest.mark.rules("TK-1")
def test_without_a_secret_key_there_are_no_tokens() -> None:
    """DELEGATION_TOKEN_AUTH_DISABLED."""
    assert (
        logged_in(lab_with_tokens(key=None)).ask("ExpireDelegationToken", 2, **ASKED).error_code
        == ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
    )


@pytest.mark.rules("TK-3")
def test_a_token_ends_at_once() -> None:
    """A negative time removes it; after that it is unknown, and the time is 0."""
    client = logged_in(lab_with_tokens())
    token = client.ask("CreateDelegationToken", 3, renewers=[], max_lifetime_ms=-1)

    assert client.ask("ExpireDelegationToken", 2, hmac=token.hmac, expiry_time_period_ms=-1).error_code == 0
    unknown = client.ask("ExpireDelegationToken", 2, hmac=token.hmac, expiry_time_period_ms=-1)
    assert (unknown.error_code, unknown.expiry_timestamp_ms) == (ErrorCode.DELEGATION_TOKEN_NOT_FOUND, 0)

"""SaslAuthenticate where nobody has to log in; logins are in tests/broker/engine/security."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.core.cluster import Cluster
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.sasl_authenticate import SaslAuthenticateRequest


@pytest.mark.rules("SA-12")
@pytest.mark.parametrize("version", [0, 1, 2])
def test_it_is_refused(ask: Callable[..., Any], cluster: Cluster, version: int) -> None:
    """ILLEGAL_SASL_STATE with a text, and no bytes."""
    answer = ask(cluster, SaslAuthenticateRequest(auth_bytes=b"\0alice\0pa"), version)

    assert (answer.error_code, answer.auth_bytes) == (ErrorCode.ILLEGAL_SASL_STATE, b"")
    assert "alice" not in answer.error_message

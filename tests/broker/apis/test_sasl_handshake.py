"""SaslHandshake where nobody has to log in; logins are in tests/broker/engine/security."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.core.cluster import Cluster
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.sasl_handshake import SaslHandshakeRequest


@pytest.mark.rules("SA-12")
@pytest.mark.parametrize("version", [0, 1])
def test_it_is_refused(ask: Callable[..., Any], cluster: Cluster, version: int) -> None:
    """ILLEGAL_SASL_STATE, and no mechanism."""
    answer = ask(cluster, SaslHandshakeRequest(mechanism="PLAIN"), version)

    assert (answer.error_code, answer.mechanisms) == (ErrorCode.ILLEGAL_SASL_STATE, [])

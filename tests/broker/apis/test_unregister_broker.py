"""UnregisterBroker: no broker of ours can be unregistered."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.core.cluster import Cluster
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.unregister_broker import UnregisterBrokerRequest

Ask = Callable[..., Any]


@pytest.mark.rules("DK-3")
def test_unregister_an_unknown_broker(ask: Ask, cluster: Cluster) -> None:
    """102 for an id nobody has; one of ours is refused with a reason."""
    assert ask(cluster, UnregisterBrokerRequest(broker_id=4711), 0).error_code == ErrorCode.BROKER_ID_NOT_REGISTERED
    known = ask(cluster, UnregisterBrokerRequest(broker_id=1), 0)
    assert (known.error_code, bool(known.error_message)) == (ErrorCode.INVALID_REQUEST, True)
    assert 1 in cluster.nodes

"""ListConfigResources: what has settings of its own."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.core.cluster import Cluster
from fakebroker.broker.release import release
from fakebroker.broker.settings import Settings
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.list_config_resources import ListConfigResourcesRequest

Ask = Callable[..., Any]


@pytest.fixture
def cluster() -> Cluster:
    """Three brokers, the third one dead."""
    cluster = Cluster(Settings(profile="test"), release(), node_ids=(1, 2, 3))
    cluster.nodes[3].is_fenced = True
    return cluster


@pytest.mark.rules("LC-1", "LC-2", "LC-3")
def test_config_resources(ask: Ask, cluster: Cluster) -> None:
    """v0 lists client metrics, v1 what is asked for, all five types by default; another type fails the request."""
    cluster.topics.create("t", 1)
    cluster.group_configs["g"] = {"consumer.session.timeout.ms": "50000"}
    cluster.client_metrics["m"] = {"interval.ms": "1000"}

    def listed(version: int, *types: int) -> list[tuple[str, int]]:
        response = ask(cluster, ListConfigResourcesRequest(resource_types=list(types) if version else []), version)
        assert response.error_code == 0
        return [(resource.resource_name, resource.resource_type) for resource in response.config_resources]

    assert listed(0) == [("m", 16)]
    assert set(listed(1)) == {("g", 32), ("m", 16), ("1", 8), ("2", 8), ("1", 4), ("2", 4), ("t", 2)}
    assert set(listed(1, 2, 32, 2)) == {("t", 2), ("g", 32)}
    refused = ask(cluster, ListConfigResourcesRequest(resource_types=[2, 7]), 1)
    assert (refused.error_code, refused.config_resources) == (ErrorCode.UNSUPPORTED_VERSION, [])

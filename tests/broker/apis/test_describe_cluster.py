"""DescribeCluster: the brokers and the cluster's id."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.core.cluster import Cluster
from fakebroker.broker.release import release
from fakebroker.broker.settings import Settings
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.wire.messages.describe_cluster import DescribeClusterRequest

Ask = Callable[..., Any]


@pytest.fixture
def cluster() -> Cluster:
    """Three brokers, the third one dead."""
    cluster = Cluster(Settings(profile="test"), release(), node_ids=(1, 2, 3))
    cluster.stop_node(3, Instant(0, 0))
    return cluster


@pytest.mark.rules("DK-1", "CLU-20", "CLU-21")
@pytest.mark.parametrize("version", range(3))
def test_brokers(ask: Ask, cluster: Cluster, version: int) -> None:
    """Live brokers, the cluster's id, a live controller; dead ones only when asked for, as fenced."""
    response = ask(cluster, DescribeClusterRequest(), version)
    assert (response.error_code, response.cluster_id, response.controller_id) == (0, cluster.cluster_id, 1)
    assert [(broker.broker_id, broker.port) for broker in response.brokers] == [(1, 9092), (2, 9093)]
    if version >= 2:
        response = ask(cluster, DescribeClusterRequest(include_fenced_brokers=True), version)
        assert [(broker.broker_id, broker.is_fenced) for broker in response.brokers] == [
            (1, False),
            (2, False),
            (3, True),
        ]


@pytest.mark.rules("DK-1", "AU-14")
def test_authorized_operations(ask: Ask, cluster: Cluster) -> None:
    """All operations on the cluster when asked, else the smallest number."""
    asked = DescribeClusterRequest(include_cluster_authorized_operations=True)
    assert ask(cluster, asked, 0).cluster_authorized_operations == 8096
    assert ask(cluster, DescribeClusterRequest(), 0).cluster_authorized_operations == -2147483648


@pytest.mark.rules("DK-2")
@pytest.mark.parametrize(
    ("endpoint_type", "code"),
    [
        (2, ErrorCode.MISMATCHED_ENDPOINT_TYPE),
        (3, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE),
        (0, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE),
    ],
)
def test_other_endpoints(ask: Ask, cluster: Cluster, endpoint_type: int, code: int) -> None:
    """This is no controller's listener, and there is no third kind."""
    response = ask(cluster, DescribeClusterRequest(endpoint_type=endpoint_type), 1)
    assert (response.error_code, response.brokers, response.cluster_id) == (code, [], "")
    assert (response.controller_id, response.endpoint_type) == (-1, 1)

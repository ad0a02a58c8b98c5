"""ListPartitionReassignments: none is ever running."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.core.cluster import Cluster
from fakebroker.protocol.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from fakebroker.protocol.wire.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from tests.support.cluster import partition

Ask = Callable[..., Any]


@pytest.mark.rules("RA-3")
def test_no_reassignment_is_ever_running(ask: Ask, cluster: Cluster) -> None:
    """Moves are done before they are answered, so the list is empty."""
    asked = ReassignableTopic(name="t", partitions=[ReassignablePartition(partition_index=0, replicas=[3, 2])])
    ask(cluster, AlterPartitionReassignmentsRequest(topics=[asked]), 1)
    assert partition(cluster).replicas == [3, 2]
    response = ask(cluster, ListPartitionReassignmentsRequest(topics=None), 0)
    assert (response.error_code, response.error_message, response.topics) == (0, None, [])

"""AddRaftVoter: nobody becomes a voter, for the reasons that Kafka gives."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.core.cluster import Cluster
from fakebroker.broker.release import KRAFT_VERSION
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.add_raft_voter import AddRaftVoterRequest, Listener

LISTENERS = [Listener(name="CONTROLLER", host="controller-9", port=9093)]
GOOD: dict[str, Any] = {"cluster_id": None, "voter_id": 9, "voter_directory_id": b"d" * 16, "listeners": LISTENERS}


@pytest.fixture
def code(ask: Callable[..., Any], cluster: Cluster) -> Callable[..., int]:
    """Asks for a good voter but for what is said, and returns the error code."""

    def code(version: int = 1, **changes: Any) -> int:
        answer = ask(cluster, AddRaftVoterRequest(**GOOD | changes), version)
        assert answer.error_message
        return int(answer.error_code)

    return code


@pytest.mark.rules("RV-1")
@pytest.mark.parametrize("version", [0, 1])
def test_cluster_voter_and_listener_are_checked_in_this_order(code: Callable[..., int], version: int) -> None:
    """Another cluster is 104 whatever else is wrong; then the voter and its listener are 42."""
    assert code(version, cluster_id="other", voter_id=-1) == ErrorCode.INCONSISTENT_CLUSTER_ID
    assert code(version, cluster_id="") == ErrorCode.INCONSISTENT_CLUSTER_ID
    assert code(version, voter_id=-1) == ErrorCode.INVALID_REQUEST
    assert code(version, voter_directory_id=bytes(16)) == ErrorCode.INVALID_REQUEST
    assert code(version, listeners=[]) == ErrorCode.INVALID_REQUEST
    assert (
        code(version, listeners=[Listener(name="OTHER", host="controller-9", port=9093)]) == ErrorCode.INVALID_REQUEST
    )


@pytest.mark.rules("RV-2")
def test_the_voters_of_kraft_version_0_are_those_of_the_settings(code: Callable[..., int], cluster: Cluster) -> None:
    """UNSUPPORTED_VERSION, also for one that votes already; the cluster's own id is as good as none."""
    assert [code(), code(voter_id=1), code(cluster_id=cluster.cluster_id)] == [ErrorCode.UNSUPPORTED_VERSION] * 3


@pytest.mark.rules("RV-3")
def test_in_kraft_version_1_it_must_be_new_and_answer(code: Callable[..., int], cluster: Cluster) -> None:
    """A broker's id is a voter's already; nothing else can be reached."""
    cluster.features.change({KRAFT_VERSION: 1})

    assert [code(voter_id=1), code()] == [ErrorCode.DUPLICATE_VOTER, ErrorCode.REQUEST_TIMED_OUT]

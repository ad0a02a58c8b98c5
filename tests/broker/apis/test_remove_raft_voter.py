"""RemoveRaftVoter: every voter stays, for the reasons that Kafka gives."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.core.cluster import Cluster
from fakebroker.broker.release import KRAFT_VERSION
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.remove_raft_voter import RemoveRaftVoterRequest

GOOD: dict[str, Any] = {"cluster_id": None, "voter_id": 1, "voter_directory_id": b"d" * 16}


@pytest.fixture
def code(ask: Callable[..., Any], cluster: Cluster) -> Callable[..., int]:
    """Asks for a voter but for what is said, and returns the error code."""

    def code(**changes: Any) -> int:
        answer = ask(cluster, RemoveRaftVoterRequest(**GOOD | changes), 0)
        assert answer.error_message
        return int(answer.error_code)

    return code


@pytest.mark.rules("RV-1", "RV-2")
def test_cluster_and_voter_are_checked_before_the_version(code: Callable[..., int]) -> None:
    """Another cluster is 104, no voter 42; then kraft.version 0 is 35."""
    assert [code(cluster_id="other", voter_id=-1), code(voter_id=-1), code(voter_directory_id=bytes(16))] == [
        ErrorCode.INCONSISTENT_CLUSTER_ID,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INVALID_REQUEST,
    ]
    assert code() == ErrorCode.UNSUPPORTED_VERSION


@pytest.mark.rules("RV-4")
def test_in_kraft_version_1_nobody_can_be_removed(code: Callable[..., int], cluster: Cluster) -> None:
    """Neither the only voter nor what is none."""
    cluster.features.change({KRAFT_VERSION: 1})

    assert [code(), code(voter_id=9)] == [ErrorCode.VOTER_NOT_FOUND] * 2

"""DescribeUserScramCredentials: who can log in by SCRAM, and no secrets."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.core.cluster import Cluster
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    UserName,
)


def described(ask: Callable[..., Any], cluster: Cluster, names: list[str] | None) -> list[tuple[Any, ...]]:
    users = None if names is None else [UserName(name=name) for name in names]
    answer = ask(cluster, DescribeUserScramCredentialsRequest(users=users), 0)
    assert (answer.error_code, answer.error_message) == (0, "")
    return [
        (each.user, each.error_code, [(info.mechanism, info.iterations) for info in each.credential_infos])
        for each in answer.results
    ]


@pytest.mark.rules("SC-2")
@pytest.mark.parametrize("names", [None, []])
def test_naming_nobody_means_all(ask: Callable[..., Any], cluster: Cluster, names: list[str] | None) -> None:
    """Every user with a credential, with mechanisms and iterations."""
    cluster.credentials.add_user("bob", "pb", 0)
    cluster.credentials.add_user("alice", "pa", 0)

    both = [(1, 4096), (2, 4096)]
    assert described(ask, cluster, names) == [("alice", 0, both), ("bob", 0, both)]


@pytest.mark.rules("SC-2")
def test_unknown_users_and_repetitions_are_refused(ask: Callable[..., Any], cluster: Cluster) -> None:
    """Each user has one entry; an unknown one RESOURCE_NOT_FOUND, one that is named twice DUPLICATE_RESOURCE."""
    cluster.credentials.add_user("alice", "pa", 0)

    assert described(ask, cluster, ["nobody", "alice", "alice"]) == [
        ("nobody", ErrorCode.RESOURCE_NOT_FOUND, []),
        ("alice", ErrorCode.DUPLICATE_RESOURCE, []),
    ]

"""CreateAcls without an authorizer."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.core.cluster import Cluster
from fakebroker.errors import CloseConnection
from fakebroker.wire.messages.create_acls import AclCreation, CreateAclsRequest

Ask = Callable[..., Any]


def entry(**fields: int | str) -> AclCreation:
    """User alice may read topic t, if nothing else is given."""
    codes = {"resource_type": 2, "resource_pattern_type": 3, "operation": 3, "permission_type": 3}
    names = {"resource_name": "t", "principal": "User:alice", "host": "*"}
    return AclCreation(**codes | names | fields)


@pytest.mark.rules("AU-1")
@pytest.mark.parametrize("version", range(4))
def test_security_is_disabled(ask: Ask, cluster: Cluster, version: int) -> None:
    """54 for each entry, also for those that an authorizer would refuse."""
    entries = [entry(), entry(resource_name=""), entry(principal="bad"), entry(operation=77), entry(resource_type=1)]
    answer = ask(cluster, CreateAclsRequest(creations=entries), version)
    assert [each.error_code for each in answer.results] == [54] * 5
    assert all(each.error_message for each in answer.results)
    assert ask(cluster, CreateAclsRequest(), version).results == []


@pytest.mark.rules("AU-1")
@pytest.mark.parametrize("name", ["resource_type", "resource_pattern_type", "operation", "permission_type"])
def test_an_unknown_code_closes_the_connection(ask: Ask, cluster: Cluster, name: str) -> None:
    """One entry with a code of 0 is enough."""
    with pytest.raises(CloseConnection):
        ask(cluster, CreateAclsRequest(creations=[entry(), entry(**{name: 0})]), 3)

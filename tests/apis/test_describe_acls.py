"""DescribeAcls without an authorizer."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.core.cluster import Cluster
from fakebroker.errors import CloseConnection
from fakebroker.wire.messages.describe_acls import DescribeAclsRequest

Ask = Callable[..., Any]
ANY = 1


def request(**fields: int | str) -> DescribeAclsRequest:
    """Everything, if nothing else is given."""
    codes = {"resource_type_filter": ANY, "pattern_type_filter": 3, "operation": ANY, "permission_type": ANY}
    names = {"resource_name_filter": None, "principal_filter": None, "host_filter": None}
    return DescribeAclsRequest(**codes | names | fields)


@pytest.mark.rules("AU-1")
@pytest.mark.parametrize("version", range(4))
def test_security_is_disabled(ask: Ask, cluster: Cluster, version: int) -> None:
    """54 and no ACLs, whatever is asked for; codes that nobody knows are not looked at."""
    odd = request(resource_type_filter=99, operation=77, permission_type=-1, resource_name_filter="")
    for each in (request(), request(principal_filter="no colon"), odd):
        answer = ask(cluster, each, version)
        assert (answer.error_code, answer.resources) == (54, [])
        assert answer.error_message


@pytest.mark.rules("AU-1")
@pytest.mark.parametrize("name", ["resource_type_filter", "pattern_type_filter", "operation", "permission_type"])
def test_an_unknown_code_closes_the_connection(ask: Ask, cluster: Cluster, name: str) -> None:
    """0 stands for unknown, and such a request is not read."""
    with pytest.raises(CloseConnection):
        ask(cluster, request(**{name: 0}), 3)

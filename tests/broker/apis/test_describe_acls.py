"""DescribeAcls with and without an authorizer."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.core.cluster import Cluster
from fakebroker.broker.core.security.acls import acl_of
from fakebroker.protocol.errors import CloseConnection, ErrorCode
from fakebroker.protocol.wire.messages.describe_acls import DescribeAclsRequest

Ask = Callable[..., Any]
ANY = 1


def request(**fields: int | str) -> DescribeAclsRequest:
    """Everything, if nothing else is given."""
    codes: dict[str, Any] = {
        "resource_type_filter": ANY,
        "pattern_type_filter": 3,
        "operation": ANY,
        "permission_type": ANY,
    }
    names = {"resource_name_filter": None, "principal_filter": None, "host_filter": None}
    return DescribeAclsRequest(**codes | names | fields)


@pytest.mark.rules("AU-1")
@pytest.mark.parametrize("version", range(4))
def test_security_is_disabled(ask: Ask, cluster: Cluster, version: int) -> None:
    """54 and no ACLs, whatever is asked for; codes that nobody knows are not looked at."""
    odd = request(resource_type_filter=99, operation=77, permission_type=-1, resource_name_filter="")
    for each in (request(), request(principal_filter="no colon"), odd):
        answer = ask(cluster, each, version)
        assert (answer.error_code, answer.resources) == (ErrorCode.SECURITY_DISABLED, [])
        assert answer.error_message


@pytest.mark.rules("AU-1")
@pytest.mark.parametrize("name", ["resource_type_filter", "pattern_type_filter", "operation", "permission_type"])
def test_an_unknown_code_closes_the_connection(ask: Ask, cluster: Cluster, name: str) -> None:
    """0 stands for unknown, and such a request is not read."""
    with pytest.raises(CloseConnection):
        ask(cluster, request(**{name: 0}), 3)


@pytest.mark.rules("AU-10", "AU-11")
@pytest.mark.parametrize("version", range(1, 4))
def test_entries_by_their_patterns(ask: Ask, guarded: Cluster, version: int) -> None:
    """A pattern stands once, with all its entries; null and ANY leave a field open."""
    assert guarded.authorizer is not None
    for name, pattern_type, operation in [("t", 3, 3), ("u", 4, 3), ("t", 3, 4)]:
        guarded.authorizer.acls.add(acl_of(2, name, pattern_type, "User:alice", "*", operation, 3))
    answer = ask(guarded, request(pattern_type_filter=ANY), version)
    assert (answer.error_code, answer.error_message) == (0, "")
    shown = [
        (each.resource_type, each.resource_name, each.pattern_type, [acl.operation for acl in each.acls])
        for each in answer.resources
    ]
    assert shown == [(2, "t", 3, [3, 4]), (2, "u", 4, [3])]
    entry = answer.resources[0].acls[0]
    assert (entry.principal, entry.host, entry.permission_type) == ("User:alice", "*", 3)
    assert [each.resource_name for each in ask(guarded, request(), version).resources] == ["t"]


@pytest.mark.rules("AU-10")
def test_nothing_found(ask: Ask, guarded: Cluster) -> None:
    """An empty list without an error, also for codes that nobody knows."""
    assert guarded.authorizer is not None
    guarded.authorizer.acls.add(acl_of(2, "t", 3, "User:alice", "*", 3, 3))
    for each in (request(principal_filter="User:bob"), request(operation=77), request(resource_type_filter=9)):
        answer = ask(guarded, each, 3)
        assert (answer.error_code, answer.error_message, answer.resources) == (0, "", [])

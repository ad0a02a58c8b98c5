"""DeleteAcls with and without an authorizer."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.core.cluster import Cluster
from fakebroker.broker.core.events import AclChanged
from fakebroker.broker.core.security.acls import acl_of
from fakebroker.protocol.errors import CloseConnection, ErrorCode
from fakebroker.protocol.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest

Ask = Callable[..., Any]
ANY = 1


def entry(**fields: int | str) -> DeleteAclsFilter:
    """A filter for everything, if nothing else is given."""
    codes: dict[str, Any] = {
        "resource_type_filter": ANY,
        "pattern_type_filter": 3,
        "operation": ANY,
        "permission_type": ANY,
    }
    names = {"resource_name_filter": None, "principal_filter": None, "host_filter": None}
    return DeleteAclsFilter(**codes | names | fields)


@pytest.mark.rules("AU-1")
@pytest.mark.parametrize("version", range(4))
def test_security_is_disabled(ask: Ask, cluster: Cluster, version: int) -> None:
    """54 for each filter, and no ACLs that match."""
    filters = [entry(), entry(operation=99), entry(principal_filter="")]
    answer = ask(cluster, DeleteAclsRequest(filters=filters), version)
    assert [(each.error_code, each.matching_acls) for each in answer.filter_results] == [
        (ErrorCode.SECURITY_DISABLED, [])
    ] * 3
    assert ask(cluster, DeleteAclsRequest(), version).filter_results == []


@pytest.mark.rules("AU-1")
@pytest.mark.parametrize("name", ["resource_type_filter", "pattern_type_filter", "operation", "permission_type"])
def test_an_unknown_code_closes_the_connection(ask: Ask, cluster: Cluster, name: str) -> None:
    """One filter with a code of 0 is enough."""
    with pytest.raises(CloseConnection):
        ask(cluster, DeleteAclsRequest(filters=[entry(), entry(**{name: 0})]), 3)


@pytest.mark.rules("AU-13")
@pytest.mark.parametrize("version", range(1, 4))
def test_what_filters_mean_is_gone(ask: Ask, guarded: Cluster, version: int) -> None:
    """Each filter lists its entries, also those of another; one that cannot be leaves the others alone."""
    assert guarded.authorizer is not None
    for name, operation in [("t", 3), ("t", 4), ("u", 3)]:
        guarded.authorizer.acls.add(acl_of(2, name, 3, "User:alice", "*", operation, 3))
    filters = [entry(resource_name_filter="t"), entry(operation=3), entry(operation=99), entry(principal_filter="")]
    answer = ask(guarded, DeleteAclsRequest(filters=filters), version)
    found = [
        (each.error_code, [(acl.error_code, acl.resource_name, acl.operation) for acl in each.matching_acls])
        for each in answer.filter_results
    ]
    assert found == [
        (0, [(0, "t", 3), (0, "t", 4)]),
        (0, [(0, "t", 3), (0, "u", 3)]),
        (ErrorCode.INVALID_REQUEST, []),
        (0, []),
    ]
    assert not list(guarded.authorizer.acls)
    assert guarded.outbox.count(AclChanged("removed", "ALLOW User:alice READ on TOPIC 't'")) == 1

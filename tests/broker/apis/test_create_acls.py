"""CreateAcls with and without an authorizer."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.core.cluster import Cluster
from fakebroker.broker.core.events import AclChanged
from fakebroker.protocol.errors import CloseConnection, ErrorCode
from fakebroker.protocol.wire.messages.create_acls import AclCreation, CreateAclsRequest

Ask = Callable[..., Any]


def entry(**fields: int | str) -> AclCreation:
    """User alice may read topic t, if nothing else is given."""
    codes: dict[str, Any] = {"resource_type": 2, "resource_pattern_type": 3, "operation": 3, "permission_type": 3}
    names = {"resource_name": "t", "principal": "User:alice", "host": "*"}
    return AclCreation(**codes | names | fields)


@pytest.mark.rules("AU-1")
@pytest.mark.parametrize("version", range(4))
def test_security_is_disabled(ask: Ask, cluster: Cluster, version: int) -> None:
    """54 for each entry, also for those that an authorizer would refuse."""
    entries = [entry(), entry(resource_name=""), entry(principal="bad"), entry(operation=77), entry(resource_type=1)]
    answer = ask(cluster, CreateAclsRequest(creations=entries), version)
    assert [each.error_code for each in answer.results] == [ErrorCode.SECURITY_DISABLED] * 5
    assert all(each.error_message for each in answer.results)
    assert ask(cluster, CreateAclsRequest(), version).results == []


@pytest.mark.rules("AU-1")
@pytest.mark.parametrize("name", ["resource_type", "resource_pattern_type", "operation", "permission_type"])
def test_an_unknown_code_closes_the_connection(ask: Ask, cluster: Cluster, name: str) -> None:
    """One entry with a code of 0 is enough."""
    with pytest.raises(CloseConnection):
        ask(cluster, CreateAclsRequest(creations=[entry(), entry(**{name: 0})]), 3)


@pytest.mark.rules("AU-11", "AU-12")
@pytest.mark.parametrize("version", range(4))
def test_good_entries_are_stored_beside_bad_ones(ask: Ask, guarded: Cluster, version: int) -> None:
    """Names, principals and codes that cannot be are refused one by one; what makes no sense is not asked."""
    cluster_entry: dict[str, Any] = {"resource_type": 4, "resource_name": "kafka-cluster"}
    entries = [
        entry(), entry(), entry(resource_name=""), entry(principal="alice"), entry(**cluster_entry),
        entry(resource_type=4), entry(operation=77), entry(resource_type=99), entry(operation=13, host="nowhere"),
    ]  # fmt: skip
    answer = ask(guarded, CreateAclsRequest(creations=entries), version)
    assert [each.error_code for each in answer.results] == [
        0,
        0,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INVALID_REQUEST,
        0,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INVALID_REQUEST,
        0,
    ]
    assert [bool(each.error_message) for each in answer.results] == [bool(each.error_code) for each in answer.results]
    assert answer.results[0].error_message == ""
    assert guarded.authorizer is not None
    assert len(guarded.authorizer.acls) == 3
    changed = [event for event in guarded.outbox if isinstance(event, AclChanged)]
    assert changed[0] == AclChanged("added", "ALLOW User:alice READ on TOPIC 't'")
    assert len(changed) == 3


@pytest.mark.rules("AU-12")
@pytest.mark.parametrize(
    "bad", [{"resource_type": 1}, {"operation": 1}, {"permission_type": 1}, {"resource_pattern_type": 1},
            {"resource_pattern_type": 2}],
)  # fmt: skip
def test_codes_of_filters_spoil_the_request(ask: Ask, guarded: Cluster, bad: dict[str, int]) -> None:
    """-1 for every entry, and nothing is stored."""
    answer = ask(guarded, CreateAclsRequest(creations=[entry(), entry(**bad)]), 3)
    assert [each.error_code for each in answer.results] == [ErrorCode.UNKNOWN_SERVER_ERROR] * 2
    assert guarded.authorizer is not None
    assert not list(guarded.authorizer.acls)

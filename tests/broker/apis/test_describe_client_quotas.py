"""DescribeClientQuotas: which entities match a filter."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.core.cluster import Cluster
from fakebroker.broker.core.quotas.client_quotas import make_entity
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest

Ask = Callable[..., Any]
Filter = tuple[str, int, str | None]
EXACT, DEFAULT, ANY = 0, 1, 2


@pytest.fixture
def quotas(cluster: Cluster) -> Cluster:
    """Each entity has a quota of its own."""
    for components in (
        {"user": "a"},
        {"user": None},
        {"user": "a", "client-id": "c"},
        {"user": "a", "client-id": None},
        {"client-id": "c"},
        {"ip": "127.0.0.1"},
    ):
        key = "connection_creation_rate" if "ip" in components else "producer_byte_rate"
        cluster.client_quotas.alter(make_entity(components), {key: 1})
    return cluster


def answer_to(ask: Ask, cluster: Cluster, *filters: Filter, is_strict: bool = False, version: int = 1) -> Any:
    components = [ComponentData(entity_type=kind, match_type=how, match=name) for kind, how, name in filters]
    return ask(cluster, DescribeClientQuotasRequest(components=components, strict=is_strict), version)


def found(ask: Ask, cluster: Cluster, *filters: Filter, **options: Any) -> list[dict[str, str | None]]:
    answer = answer_to(ask, cluster, *filters, **options)
    assert (answer.error_code, answer.error_message) == (0, "")
    return [{each.entity_type: each.entity_name for each in entry.entity} for entry in answer.entries]


@pytest.mark.rules("QU-3")
@pytest.mark.parametrize("version", [0, 1])
def test_components_are_anded_and_entities_may_have_more(ask: Ask, quotas: Cluster, version: int) -> None:
    """Unless the filter is strict."""
    user_a: Filter = ("user", EXACT, "a")
    both = {"user": "a", "client-id": "c"}, {"user": "a", "client-id": None}
    assert found(ask, quotas, user_a, version=version) == [{"user": "a"}, *both]
    assert found(ask, quotas, user_a, is_strict=True, version=version) == [{"user": "a"}]
    assert found(ask, quotas, user_a, ("client-id", ANY, None)) == [*both]
    assert found(ask, quotas, user_a, ("client-id", DEFAULT, None)) == [both[1]]


@pytest.mark.rules("QU-3", "QU-4")
def test_without_components_all_or_strictly_none(ask: Ask, quotas: Cluster) -> None:
    """No entity is of no type."""
    assert len(found(ask, quotas)) == 6
    assert found(ask, quotas, is_strict=True) == []


@pytest.mark.rules("QU-3")
def test_default_and_any(ask: Ask, quotas: Cluster) -> None:
    """The default is a name of its own; any name is one that is there."""
    assert found(ask, quotas, ("user", DEFAULT, None)) == [{"user": None}]
    assert found(ask, quotas, ("user", ANY, None), is_strict=True) == [{"user": "a"}, {"user": None}]
    assert found(ask, quotas, ("ip", ANY, None)) == [{"ip": "127.0.0.1"}]


@pytest.mark.rules("QU-6")
@pytest.mark.parametrize(
    ("code", "filters"),
    [
        (ErrorCode.UNSUPPORTED_VERSION, [("planet", EXACT, "x")]),
        (ErrorCode.INVALID_REQUEST, [("", EXACT, "x")]),
        (ErrorCode.INVALID_REQUEST, [("user", EXACT, None)]),
        (ErrorCode.INVALID_REQUEST, [("user", DEFAULT, "x")]),
        (ErrorCode.INVALID_REQUEST, [("user", ANY, "x")]),
        (ErrorCode.INVALID_REQUEST, [("user", 9, "x")]),
        (ErrorCode.INVALID_REQUEST, [("user", EXACT, "x"), ("user", EXACT, "y")]),
        (ErrorCode.INVALID_REQUEST, [("ip", EXACT, "127.0.0.1"), ("user", EXACT, "x")]),
    ],
)
def test_filters_that_cannot_be(ask: Ask, quotas: Cluster, code: int, filters: list[Filter]) -> None:
    """No list, and a text."""
    answer = answer_to(ask, quotas, *filters)
    assert (answer.error_code, answer.entries) == (code, None)
    assert answer.error_message

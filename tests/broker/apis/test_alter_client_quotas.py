"""AlterClientQuotas: each entity as a whole or not at all."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.apis.alter_client_quotas import error_response
from fakebroker.broker.core.cluster import Cluster
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.pace import finished
from fakebroker.protocol.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)

Ask = Callable[..., Any]
Entity = list[tuple[str, str | None]]


def entry(entity: Entity, **values: float | None) -> EntryData:
    """Sets these quotas of an entity; None removes one."""
    return EntryData(
        entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
        ops=[OpData(key=key, value=value or 0.0, remove=value is None) for key, value in values.items()],
    )


def codes(ask: Ask, cluster: Cluster, *entries: EntryData, version: int = 1, **fields: Any) -> list[int]:
    answer = ask(cluster, AlterClientQuotasRequest(entries=list(entries), **fields), version)
    return [each.error_code for each in answer.entries]


def stored(cluster: Cluster) -> dict[Any, Any]:
    return dict(cluster.client_quotas)


@pytest.mark.rules("QU-1", "QU-2")
@pytest.mark.parametrize("version", [0, 1])
def test_set_and_remove(ask: Ask, cluster: Cluster, version: int) -> None:
    """Removing what is not there is fine, also of a key that does not exist."""
    alice: Entity = [("user", "alice"), ("client-id", None)]
    assert codes(ask, cluster, entry(alice, producer_byte_rate=5, request_percentage=0.5), version=version) == [0]
    key = (("client-id", None), ("user", "alice"))
    assert stored(cluster) == {key: {"producer_byte_rate": 5, "request_percentage": 0.5}}

    assert codes(ask, cluster, entry(alice, producer_byte_rate=None, nonsense=None), version=version) == [0]
    assert stored(cluster) == {key: {"request_percentage": 0.5}}


@pytest.mark.rules("QU-2")
def test_all_or_nothing_per_entity(ask: Ask, cluster: Cluster) -> None:
    """One bad value spoils its entity and no other."""
    bad = entry([("user", "a")], producer_byte_rate=5, consumer_byte_rate=0)
    assert codes(ask, cluster, bad, entry([("user", "b")], producer_byte_rate=5)) == [ErrorCode.INVALID_REQUEST, 0]
    assert stored(cluster) == {(("user", "b"),): {"producer_byte_rate": 5}}


@pytest.mark.rules("QU-2")
def test_validate_only_changes_nothing(ask: Ask, cluster: Cluster) -> None:
    """The answers are the same."""
    entries = entry([("user", "a")], producer_byte_rate=5), entry([("user", "b")], producer_byte_rate=0)
    assert codes(ask, cluster, *entries, validate_only=True) == [0, ErrorCode.INVALID_REQUEST]
    assert stored(cluster) == {}


@pytest.mark.rules("QU-5")
def test_what_comes_twice(ask: Ask, cluster: Cluster) -> None:
    """A key twice spoils its entity; of an entity that comes twice the first counts, and the answer says 42, once."""
    twice = entry([("user", "a")], producer_byte_rate=5)
    twice.ops.append(OpData(key="producer_byte_rate", value=6.0))
    assert codes(ask, cluster, twice) == [ErrorCode.INVALID_REQUEST]
    assert stored(cluster) == {}

    first, second = entry([("user", "a")], producer_byte_rate=5), entry([("user", "a")], producer_byte_rate=6)
    assert codes(ask, cluster, first, second) == [ErrorCode.INVALID_REQUEST]
    assert stored(cluster) == {(("user", "a"),): {"producer_byte_rate": 5}}


@pytest.mark.rules("QU-5")
def test_of_a_type_that_comes_twice_the_last_name_counts(ask: Ask, cluster: Cluster) -> None:
    """As in Kafka."""
    assert codes(ask, cluster, entry([("user", "a"), ("user", "b")], producer_byte_rate=5)) == [0]
    assert stored(cluster) == {(("user", "b"),): {"producer_byte_rate": 5}}


def test_a_handler_that_failed_names_every_entity() -> None:
    """With the code."""
    request = AlterClientQuotasRequest(entries=[entry([("user", "a")]), entry([("user", "b")])])
    answer = finished(error_response(request, 1, ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
    assert [(each.error_code, each.entity[0].entity_name) for each in answer.entries] == [
        (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "a"),
        (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "b"),
    ]

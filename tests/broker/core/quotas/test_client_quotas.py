"""Whose quotas there may be, and which of them holds for a client."""

from collections.abc import Mapping

import pytest

from fakebroker.broker.core.quotas.client_quotas import (
    ClientQuotas,
    Entity,
    Scope,
    check_value,
    entity_text,
    make_entity,
)
from fakebroker.protocol.errors import ErrorCode, KafkaError
from tests.support.kept_memory import kept_bytes
from tests.support.work_counter import calls_of

KEY = "producer_byte_rate"
# The most specific first (QU-7).
ORDER: tuple[Mapping[str, str | None], ...] = (
    {"user": "alice", "client-id": "app"},
    {"user": "alice", "client-id": None},
    {"user": "alice"},
    {"user": None, "client-id": "app"},
    {"user": None, "client-id": None},
    {"user": None},
    {"client-id": "app"},
    {"client-id": None},
)


def quotas_of(*entities: Mapping[str, str | None], key: str = KEY) -> ClientQuotas:
    """Each entity has its place in the arguments, from 1 on, as its quota."""
    quotas = ClientQuotas(lambda _entity: None)
    for number, components in enumerate(entities, start=1):
        quotas.alter(make_entity(components), {key: number})
    return quotas


@pytest.mark.rules("QU-7")
@pytest.mark.parametrize("first", range(len(ORDER)))
def test_the_most_specific_quota_holds(first: int) -> None:
    """Of all entities that a client is of, whatever the order in which they were set."""
    applied = quotas_of(*reversed(ORDER[first:])).of_client(KEY, "alice", "app")

    assert applied.entity == make_entity(ORDER[first])
    assert applied.limit == len(ORDER) - first


@pytest.mark.rules("QU-9")
def test_who_is_measured_together() -> None:
    """By what the quota is of: a user's connections whatever their client id, those of a client id of all users."""
    for components, scope in (
        ({"user": None}, Scope("alice", "")),
        ({"client-id": None}, Scope("", "app")),
        ({"user": None, "client-id": "app"}, Scope("alice", "app")),
    ):
        assert quotas_of(components).of_client(KEY, "alice", "app").scope == scope
    assert quotas_of({"user": "bob"}).of_client(KEY, "alice", "app") == (Scope("alice", ""), None, None)
    mixed = quotas_of({"user": "bob"}, {"client-id": "other"})
    assert mixed.of_client(KEY, "alice", "app") == (Scope("", ""), None, None)


def test_a_client_without_an_id_has_its_users_quota() -> None:
    """The default of client ids does not hold for it."""
    quotas = quotas_of({"client-id": None}, {"user": "alice"}, {"user": "alice", "client-id": None})

    assert quotas.of_client(KEY, "alice", "").limit == 2
    assert quotas.of_client(KEY, "bob", "").limit is None


def test_addresses() -> None:
    """An address, the name of the loopback, and the default of all others."""
    quotas = quotas_of({"ip": "10.0.0.1"}, {"ip": "localhost"}, {"ip": None}, key="connection_creation_rate")

    limits = [quotas.of_address(each).limit for each in ("10.0.0.1", "127.0.0.1", "::1", "10.0.0.2", "somewhere")]
    assert limits == [1, 2, 2, 3, 3]


@pytest.mark.parametrize("written", ["2001:DB8::1", "2001:db8:0:0:0:0:0:1", "2001:0db8::0001"])
def test_an_ipv6_address_has_its_quota_in_whatever_form(written: str) -> None:
    """Kafka compares addresses, not texts; what a client is called is Java's long form."""
    quotas = quotas_of({"ip": written}, key="connection_creation_rate")

    assert quotas.of_address("2001:db8:0:0:0:0:0:1").limit == 1
    quotas.alter((("ip", written),), {"connection_creation_rate": None})
    assert quotas.of_address("2001:db8:0:0:0:0:0:1").limit is None


def test_an_ipv4_address_within_ipv6_is_the_ipv4_address() -> None:
    """As Java has it."""
    quotas = quotas_of({"ip": "::ffff:10.0.0.1"}, key="connection_creation_rate")

    assert quotas.of_address("10.0.0.1").limit == 1


@pytest.mark.rules("QU-1", "QU-5")
@pytest.mark.parametrize(
    "components",
    [{}, {"planet": "x"}, {"user": ""}, {"ip": "127.0.0.1", "user": "u"}, {"ip": "no.such.host"}, {"client-id": ""}],
)
def test_entities_that_cannot_be(components: dict[str, str | None]) -> None:
    """INVALID_REQUEST, whatever is wrong."""
    with pytest.raises(KafkaError) as caught:
        make_entity(components)

    assert caught.value.code == ErrorCode.INVALID_REQUEST


@pytest.mark.rules("QU-1", "QU-5")
@pytest.mark.parametrize(
    ("kind", "key", "value"),
    [
        ("user", "no_such", 1),
        ("user", "connection_creation_rate", 1),
        ("ip", "producer_byte_rate", 1),
        ("user", "producer_byte_rate", 0),
        ("user", "request_percentage", -1.5),
        ("user", "consumer_byte_rate", 1.5),
        ("user", "producer_byte_rate", 1e19),
        ("ip", "connection_creation_rate", 2.0**31),
        ("user", "request_percentage", float("nan")),
        ("user", "controller_mutation_rate", float("inf")),
    ],
)
def test_values_that_cannot_be(kind: str, key: str, value: float) -> None:
    """Unknown keys, those of the other family, what is not above zero, fractions of whole numbers, too large ones."""
    with pytest.raises(KafkaError):
        check_value(make_entity({kind: "127.0.0.1"}), key, value)


@pytest.mark.rules("QU-1")
def test_values_that_can_be() -> None:
    """Fractions of percentages, whole numbers that are off by next to nothing, the greatest."""
    for key, value in (("request_percentage", 0.5), (KEY, 1.0000001), (KEY, 2.0**63), ("controller_mutation_rate", 1)):
        check_value(make_entity({"user": None}), key, value)


@pytest.mark.rules("QU-2")
def test_what_was_removed_is_gone() -> None:
    """Also the entity, with its last quota; removing what is not there is nothing."""
    changes: list[Entity] = []
    quotas = ClientQuotas(changes.append)
    entity = make_entity({"user": "alice"})
    quotas.alter(entity, {KEY: 5, "request_percentage": 1})
    quotas.alter(entity, {KEY: None})
    assert list(quotas) == [(entity, {"request_percentage": 1})]
    assert (quotas.has(KEY), quotas.has("request_percentage")) == (False, True)

    quotas.alter(entity, {"request_percentage": None, "consumer_byte_rate": None})
    assert list(quotas) == []
    assert changes == [entity] * 3


@pytest.mark.rules("QU-2")
def test_what_is_not_there_leaves_nothing_behind_when_it_is_removed() -> None:
    """A key that was removed may be any text, and what was set and removed is gone."""
    quotas = quotas_of({"user": "alice"})
    before = kept_bytes(vars(quotas))
    quotas.alter(make_entity({"user": "alice"}), {f"key {number}": None for number in range(1000)})
    quotas.alter(make_entity({"user": "bob"}), dict.fromkeys(["made up", KEY]))
    quotas.alter(make_entity({"user": "bob"}), {"consumer_byte_rate": 1})
    quotas.alter(make_entity({"user": "bob"}), {"consumer_byte_rate": None})
    assert kept_bytes(vars(quotas)) == before
    assert [dict(values) for _, values in quotas] == [{KEY: 1}]


def test_entities_for_people() -> None:
    """The user first."""
    assert entity_text(make_entity({"client-id": "app", "user": None})) == "user <default>, client-id app"


@pytest.mark.rules("QU-7")
def test_what_others_have_costs_a_client_nothing() -> None:
    """Its quota is looked up in as many calls among a thousand users as among one, set once or again, and removed."""

    def calls(users: int) -> int:
        quotas = quotas_of(*[{"user": f"u{number}"} for number in range(users)] * 2)
        found = calls_of(lambda: quotas.of_client(KEY, "alice", "app"))
        assert quotas.of_client(KEY, "alice", "app").scope == Scope("alice", "")
        quotas.alter(make_entity({"client-id": "app"}), {KEY: 1})
        assert quotas.of_client(KEY, "alice", "other").scope == Scope("", "")
        for number in range(users):
            quotas.alter(make_entity({"user": f"u{number}"}), {KEY: None})
        assert quotas.of_client(KEY, "alice", "other").scope == Scope("", "other")
        return found

    assert calls(1_000) == calls(1)

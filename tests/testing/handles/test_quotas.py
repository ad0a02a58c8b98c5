"""Quotas are set, shown and removed by a test."""

import pytest

from fakebroker import FakeBroker
from fakebroker.protocol.errors import InvalidArgument, KafkaError, UnknownThing
from fakebroker.testing.virtual_broker import VirtualBroker


@pytest.mark.rules("QU-1", "QU-2")
def test_set_shown_and_removed() -> None:
    """Some quotas of an entity leave its others as they are."""
    broker = VirtualBroker()
    broker.quotas.set(user="alice", client_id="<default>", producer_byte_rate=1000, request_percentage=0.5)
    broker.quotas.set(user="alice", client_id="<default>", producer_byte_rate=2000)
    (entry,) = broker.quotas.entries
    assert (entry.user, entry.client_id, entry.ip) == ("alice", "<default>", None)
    assert entry.values == {"producer_byte_rate": 2000, "request_percentage": 0.5}

    broker.quotas.remove(user="alice", client_id="<default>", key="producer_byte_rate")
    assert broker.quotas.entries[0].values == {"request_percentage": 0.5}
    broker.quotas.clear()
    assert broker.quotas.entries == []


@pytest.mark.rules("QU-7")
def test_which_hold_for_a_client() -> None:
    """Each with the entity that it is of."""
    broker = VirtualBroker()
    broker.quotas.set(user="<default>", producer_byte_rate=5)
    broker.quotas.set(client_id="app", producer_byte_rate=6, consumer_byte_rate=7)
    broker.quotas.set(ip="<default>", connection_creation_rate=8)

    in_force = {
        each.key: (each.limit, each.user, each.client_id, each.ip) for each in broker.quotas.of_client("x", "app")
    }
    assert in_force == {
        "producer_byte_rate": (5, "<default>", None, None),
        "consumer_byte_rate": (7, None, "app", None),
        "connection_creation_rate": (8, None, None, "<default>"),
    }


def test_what_cannot_be_is_reported() -> None:
    """As Kafka refuses it, or as nobody could mean it."""
    quotas = VirtualBroker().quotas
    with pytest.raises(KafkaError, match="must be greater than 0"):
        quotas.set(user="alice", producer_byte_rate=0)
    with pytest.raises(KafkaError, match="an ip stands alone"):
        quotas.set(user="alice", ip="127.0.0.1", connection_creation_rate=5)
    with pytest.raises(InvalidArgument, match="set at least one of user, client_id, ip"):
        quotas.set(producer_byte_rate=5)
    with pytest.raises(InvalidArgument, match="set at least one of"):
        quotas.set(user="alice")
    with pytest.raises(InvalidArgument, match="should be a number"):
        quotas.set(user="alice", producer_byte_rate="many")  # type: ignore[arg-type]
    with pytest.raises(UnknownThing, match="no quota of user alice"):
        quotas.remove(user="alice")
    with pytest.raises(InvalidArgument, match="key: there is no 'producer_rate'; did you mean 'producer_byte_rate'"):
        quotas.remove(user="alice", key="producer_rate")


def test_a_snapshot_has_the_quotas() -> None:
    """And a broker that is reset has none."""
    broker = VirtualBroker()
    broker.quotas.set(user="alice", producer_byte_rate=1000)
    snapshot = broker.snapshot()
    broker.reset()
    assert broker.quotas.entries == []

    broker.restore(snapshot)
    assert [entry.user for entry in broker.quotas.entries] == ["alice"]
    broker.quotas.set(client_id="<default>", request_percentage=0.00001)
    assert broker.client().request("ApiVersions", 1).throttle_time_ms == 1000


def test_over_sockets() -> None:
    """A client is throttled by the broker's clock, which the machine's time moves."""
    with FakeBroker() as broker:
        broker.quotas.set(client_id="app", request_percentage=0.0005)
        throttles_ms = [broker.client("app").request("ApiVersions", 1).throttle_time_ms for _ in range(3)]

    assert throttles_ms[0] > 0
    assert [each.event.quota for each in broker.journal.events("client_throttled")] == ["request_percentage"] * 3

"""A test asks for metrics of clients, and reads what they push."""

from collections.abc import Callable

import pytest

from fakebroker.broker.core.telemetry import otlp
from fakebroker.broker.core.telemetry.otlp import MetricPoint
from fakebroker.protocol.errors import InvalidArgument, KafkaError, UnknownThing, WaitTimeout
from fakebroker.testing.handles import telemetry
from fakebroker.testing.handles.telemetry import MetricValue
from fakebroker.testing.virtual_broker import VirtualBroker
from tests.support.pushed_metrics import gauge, point, pushed


def push(broker: VirtualBroker, client_id: str, payload: bytes) -> None:
    """A new client asks what is wanted, and pushes."""
    client = broker.client(client_id)
    got = client.request("GetTelemetrySubscriptions", 0)
    client.request(
        "PushTelemetry",
        0,
        client_instance_id=got.client_instance_id,
        subscription_id=got.subscription_id,
        metrics=payload,
    )


@pytest.mark.rules("TE-6")
def test_subscriptions_are_client_metrics_resources() -> None:
    """Set as a whole, shown, and ended."""
    broker = VirtualBroker()
    broker.telemetry.subscribe("lag", ["org.apache.kafka.consumer."], 5000, ["client_id=svc-.*"])
    assert broker.telemetry.subscriptions == {
        "lag": {"metrics": "org.apache.kafka.consumer.", "interval.ms": "5000", "match": "client_id=svc-.*"}
    }
    broker.telemetry.subscribe("lag")
    assert broker.telemetry.subscriptions == {"lag": {"metrics": "*", "interval.ms": "1000"}}

    broker.telemetry.unsubscribe("lag")
    assert broker.telemetry.subscriptions == {}
    with pytest.raises(UnknownThing, match="no subscription 'lag'"):
        broker.telemetry.unsubscribe("lag")


def test_what_came() -> None:
    """The latest value of each metric of each client, and all pushes."""
    broker = VirtualBroker()
    broker.telemetry.subscribe("all")
    push(
        broker,
        "a",
        pushed(gauge("org.n", point(1, {"topic": "t"}), point(2, {"topic": "u"})), gauge("org.m", point(3))),
    )
    push(broker, "b", pushed(gauge("org.n", point(4))))
    push(broker, "c", b"garbage")

    found = [(each.client_id, each.value, each.attributes) for each in broker.telemetry.metrics("org.n")]
    assert found == [("a", 1, {"topic": "t"}), ("a", 2, {"topic": "u"}), ("b", 4, {})]
    (unread,) = broker.telemetry.pushes("c")
    assert (unread.metrics, unread.size_bytes) == ([], 7)
    assert unread.problem
    assert [each.event.client_id for each in broker.journal.events("metrics_pushed")] == ["a", "b", "c"]
    broker.telemetry.clear()
    assert broker.telemetry.pushes() == []


def test_waiting() -> None:
    """For metrics of a name, of a client."""
    broker = VirtualBroker()
    broker.telemetry.subscribe("all")
    push(broker, "a", pushed(gauge("org.n", point(1))))

    assert [each.value for each in broker.telemetry.wait("org.", "a")] == [1]
    with pytest.raises(WaitTimeout, match="metrics 'net'"):
        broker.telemetry.wait("net", timeout_s=0)
    with pytest.raises(WaitTimeout, match="client 'b'"):
        broker.telemetry.wait(client_id="b", timeout_s=0)


def test_what_cannot_be_is_reported() -> None:
    """As Kafka refuses it."""
    telemetry = VirtualBroker().telemetry
    with pytest.raises(KafkaError, match=r"interval\.ms"):
        telemetry.subscribe("a", interval_ms=99)
    with pytest.raises(KafkaError, match="match"):
        telemetry.subscribe("a", match=["planet=x"])
    with pytest.raises(KafkaError, match="Illegal client matching pattern"):
        telemetry.subscribe("a", match=["client_id=(("])
    with pytest.raises(InvalidArgument, match="match: should be a list"):
        telemetry.subscribe("a", match="client_id=a")


def test_what_was_looked_at_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """While somebody waits for metrics that do not come, each push is read once; its name alone reads none."""
    broker = VirtualBroker()
    broker.telemetry.subscribe("all")
    read: list[bytes] = []

    def read_metrics(payload: bytes) -> list[MetricPoint]:
        read.append(payload)
        return otlp.read_metrics(payload)

    monkeypatch.setattr(telemetry, "read_metrics", read_metrics)
    assert repr(broker.telemetry) == "<telemetry, 0 pushes>"
    payloads = [pushed(gauge("org.n", point(number))) for number in range(5)]
    for payload in payloads:
        push(broker, "a", payload)
    assert (repr(broker.telemetry), read) == ("<telemetry, 5 pushes>", [])
    with pytest.raises(WaitTimeout):
        broker.telemetry.wait("org.m", timeout_s=30)
    assert read == payloads
    assert [each.value for each in broker.telemetry.wait("org.n")] == [0, 1, 2, 3, 4]


def test_a_reset_while_somebody_waits_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pushes of the new state count from its beginning."""
    broker = VirtualBroker()
    broker.telemetry.subscribe("all")
    push(broker, "a", pushed(gauge("org.n", point(1))))
    push(broker, "b", pushed(gauge("org.n", point(2))))
    probes: list[Callable[[], list[MetricValue] | None]] = []
    handle = broker.telemetry
    monkeypatch.setattr(handle._access, "wait", lambda probe, *_: probes.append(probe), raising=False)
    handle.wait("org.m")
    (probe,) = probes
    assert probe() is None
    broker.reset()
    broker.telemetry.subscribe("all")
    push(broker, "c", pushed(gauge("org.m", point(3))))
    found = probe()
    assert found
    assert [each.value for each in found] == [3]

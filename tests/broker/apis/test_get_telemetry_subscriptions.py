"""GetTelemetrySubscriptions by itself; with pushes it is in test_push_telemetry.py."""

from typing import Any

import pytest

from fakebroker.broker.apis.get_telemetry_subscriptions import error_response
from fakebroker.broker.core.config_resources import MetricsResource
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.schema import ZERO_UUID
from fakebroker.protocol.wire.messages.get_telemetry_subscriptions import GetTelemetrySubscriptionsRequest
from tests.support.engine import Client, SimEngine
from tests.support.frames import request
from tests.support.kept_memory import kept_bytes
from tests.support.work_counter import calls_of

INTERVAL_MS = 1000
NAMES = [f"org.apache.kafka.{number}" for number in range(1300)]  # about 30 KB; a config has 32 KB at most


@pytest.fixture
def lab() -> SimEngine:
    return SimEngine()


def subscribe(lab: SimEngine, name: str, metrics: list[str], **own: str) -> None:
    """A subscription to metrics."""
    own = {"metrics": ",".join(metrics), "interval.ms": str(INTERVAL_MS)} | own
    resource = MetricsResource(lab.cluster, name)
    resource.check(own)
    resource.store(own)


def ask(client: Client, instance_id: bytes = ZERO_UUID) -> Any:
    return client.ask("GetTelemetrySubscriptions", 0, client_instance_id=instance_id)


def test_a_refusal_says_nothing_but_the_code() -> None:
    """No id, no metrics."""
    answer = error_response(GetTelemetrySubscriptionsRequest(), 0, ErrorCode.THROTTLING_QUOTA_EXCEEDED)

    assert answer.error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert (answer.client_instance_id, answer.requested_metrics, answer.push_interval_ms) == (bytes(16), [], 0)


@pytest.mark.rules("TE-2")
def test_a_client_that_asks_again_learns_the_same(lab: SimEngine) -> None:
    """Whoever asked in between; and what is wanted by then, if that has changed."""
    subscribe(lab, "a", ["a1", "a2"], match="client_id=test")
    client, other = lab.client(), lab.client()
    first = ask(client)
    ask(other)
    lab.network.advance(INTERVAL_MS)
    assert ask(client, first.client_instance_id).requested_metrics == ["a1", "a2"]
    lab.network.advance(INTERVAL_MS)
    subscribe(lab, "b", ["b1"])
    assert ask(client, first.client_instance_id).requested_metrics == ["a1", "a2", "b1"]


def test_clients_that_ask_together_get_what_each_is_asked_for(lab: SimEngine) -> None:
    """Their steps alternate."""
    for number in range(200):
        subscribe(lab, f"{number:03}", [f"{number}.{name}" for name in NAMES[:100]], match=f"client_id=c{number % 2}")
    clients = [lab.client() for _ in range(4)]
    for number, client in enumerate(clients):
        frame = request("GetTelemetrySubscriptions", 0, client_id=f"c{number % 2}", client_instance_id=ZERO_UUID)
        client.socket.connection.receive(frame, lab.network.now)
        assert client.socket.connection.is_parked
    lab.network.flush()
    for number, client in enumerate(clients):
        metrics = client.answer("GetTelemetrySubscriptions", 0).requested_metrics
        assert {int(each.partition(".")[0]) for each in metrics} == set(range(number % 2, 200, 2))
    assert lab.engine.errors == []


def test_what_is_kept_of_a_client_does_not_grow_with_the_metrics(lab: SimEngine) -> None:
    """Its id and its times, however much it is asked for."""
    subscribe(lab, "a", NAMES)
    client = lab.client()
    assert len(ask(client).requested_metrics) == len(NAMES)
    before = kept_bytes(lab.cluster.telemetry)
    for _ in range(50):
        ask(client)
    assert kept_bytes(lab.cluster.telemetry) - before < 50 * 2000


def test_subscriptions_to_many_metrics_take_steps(lab: SimEngine) -> None:
    """Each list is split and checked anew: a step has few of them."""
    count = 60
    for number in range(count):
        subscribe(lab, f"{number}", [f"{number}.{name}" for name in NAMES])
    client = lab.client()
    connection = client.socket.connection
    frame = request("GetTelemetrySubscriptions", 0, client_instance_id=ZERO_UUID)
    turns = [calls_of(lambda: connection.receive(frame, lab.network.now))]
    while lab.engine.works:
        turns.append(calls_of(lambda: lab.engine.step(lab.network.now)))
    assert len(turns) > count / 10
    lab.network.flush()
    assert len(client.answer("GetTelemetrySubscriptions", 0).requested_metrics) == count * len(NAMES)

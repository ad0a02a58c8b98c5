"""Clients push their metrics to the broker by themselves (KIP-714)."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from fakebroker import FakeBroker
from tests.clients.console import JARS, PRODUCER
from tests.clients.java_programs import needs_jars
from tests.support.eventually import eventually

pytestmark = [pytest.mark.clients, pytest.mark.slow, pytest.mark.timeout(240)]

MakeBroker = Callable[..., FakeBroker]


@pytest.fixture
def broker(fakebroker_factory: MakeBroker) -> FakeBroker:
    """A broker that wants all metrics twice a second."""
    broker = fakebroker_factory()
    broker.create_topic("orders")
    broker.telemetry.subscribe("all", interval_ms=500)
    return broker


@pytest.mark.rules("TE-1", "TE-2", "TE-4")
def test_librdkafka_pushes_while_it_runs_and_when_it_closes(broker: FakeBroker) -> None:
    """A producer and a consumer, each its own metrics."""
    producer = Producer({"bootstrap.servers": broker.bootstrap, "client.id": "p"})
    config = {"bootstrap.servers": broker.bootstrap, "client.id": "c", "group.id": "g", "fetch.wait.max.ms": 10}
    consumer = Consumer(config)  # a push waits behind a Fetch on the same connection
    consumer.subscribe(["orders"])
    producer.produce("orders", b"x")
    producer.flush(10)
    consumer.poll(5)
    broker.telemetry.wait("org.apache.kafka.producer.", client_id="p", timeout_s=30)
    broker.telemetry.wait("org.apache.kafka.consumer.", client_id="c", timeout_s=30)
    # librdkafka sends no last push while another one is on its way: none is just after one has come.
    come = len(broker.telemetry.pushes("c"))
    eventually(lambda: len(broker.telemetry.pushes("c")) > come)
    consumer.close()
    del producer

    last = [push.is_terminating for push in broker.telemetry.pushes("c")][-1]
    assert last
    assert [push.problem for push in broker.telemetry.pushes() if push.problem] == []


# Long: a producer may close before its first push, ten times in a row on a busy machine.
@pytest.mark.long
@pytest.mark.java
@needs_jars("kafka-tools", "JAVA'S CLIENT TELEMETRY")
@pytest.mark.rules("TE-1", "TE-2", "TE-4")
def test_java_clients_push(broker: FakeBroker, tmp_path: Path) -> None:
    """Their last metrics at the latest, when they close."""
    config = tmp_path / "client.properties"
    config.write_text("client.id=java\n")
    command = ["java", "-cp", f"{JARS}/*", PRODUCER, "--bootstrap-server", broker.bootstrap, "--topic", "orders"]
    arguments = ["--command-config", str(config)]
    # A producer that closes before it knows what is wanted of it pushes nothing, also to a Kafka.
    for _ in range(10):
        subprocess.run([*command, *arguments], input="a\nb\n", text=True, check=True, timeout=90, capture_output=True)
        if broker.telemetry.pushes("java"):
            break

    assert any(push.is_terminating for push in broker.telemetry.pushes("java"))
    assert [push.problem for push in broker.telemetry.pushes("java") if push.problem] == []
    values = {each.name: each for each in broker.telemetry.metrics("org.apache.kafka.producer.")}
    # Its last push may come before its records do.
    assert values["org.apache.kafka.producer.record.send.total"].value in (0, 2)

"""What a reader of committed records finds in a topic, by librdkafka; and a choice of brokers to ask."""

import importlib
from collections.abc import Mapping
from typing import NamedTuple

import pytest

from fakebroker.client.scripted.scripted_client import ScriptedClients
from fakebroker.client.scripted.tcp_driver import TcpDriver
from tests.support.real_kafka import needs_real_kafka

TIMEOUT_S = 30


class Found(NamedTuple):
    """A record that was read."""

    partition: int
    key: bytes | None
    value: bytes | None


EITHER_BROKER = ["fakebroker", pytest.param("kafka", marks=[*needs_real_kafka, pytest.mark.slow, pytest.mark.long])]


def bootstrap_of(request: pytest.FixtureRequest, settings: Mapping[str, object]) -> str:
    """Where the broker of a fixture's parameter (EITHER_BROKER) listens, with these settings."""
    settings = {"group.initial.rebalance.delay.ms": 0, **settings}
    if request.param == "fakebroker":
        return str(request.getfixturevalue("fakebroker_factory")(config=settings).bootstrap)
    return str(request.getfixturevalue("start_kafka")(settings).bootstrap)


def create_topics(bootstrap: str, **partitions: int) -> None:
    """Make topics of so many partitions."""
    host, port = bootstrap.rsplit(":", 1)
    clients = ScriptedClients(TcpDriver(host, int(port)))
    admin = clients.client("admin")
    for topic, count in partitions.items():
        assert admin.create_topic(topic, count).topics[0].error_code == 0
    clients.close()


def configure_group(bootstrap: str, group_id: str, **settings: object) -> None:
    """Set configurations of a group; `share_isolation_level` is "share.isolation.level"."""
    host, port = bootstrap.split(",")[0].rsplit(":", 1)
    clients = ScriptedClients(TcpDriver(host, int(port)))
    named = {name.replace("_", "."): value for name, value in settings.items()}
    (answer,) = clients.client("admin").alter_configs(group_id, named, kind="group").responses
    assert answer.error_code == 0, answer
    clients.close()


def produce(bootstrap: str, topic: str, values: list[str]) -> None:
    """Send values to a topic, wherever they go; return when they are there."""
    kafka = importlib.import_module("confluent_kafka")
    producer = kafka.Producer({"bootstrap.servers": bootstrap})
    for value in values:
        producer.produce(topic, value, value)
    assert producer.flush(TIMEOUT_S) == 0


def committed(bootstrap: str, topic: str) -> list[Found]:
    """Every committed record of a topic, up to the last stable offset of each partition at some time since the call."""
    kafka = importlib.import_module("confluent_kafka")
    options = {"group.id": "committed", "enable.partition.eof": True, "auto.offset.reset": "earliest", "log_level": 0}
    consumer = kafka.Consumer({"bootstrap.servers": bootstrap, "isolation.level": "read_committed", **options})
    found: list[Found] = []
    try:
        partitions = consumer.list_topics(topic, TIMEOUT_S).topics[topic].partitions
        consumer.assign([kafka.TopicPartition(topic, index, 0) for index in partitions])
        ended: set[int] = set()
        while ended != set(partitions):
            message = consumer.poll(TIMEOUT_S)
            assert message is not None, f"{topic}: no end of {set(partitions) - ended} within {TIMEOUT_S} s"
            if message.error() is None:
                found.append(Found(message.partition(), message.key(), message.value()))
            else:
                assert message.error().code() == kafka.KafkaError._PARTITION_EOF, message.error()
                ended.add(message.partition())
    finally:
        consumer.close()
    return found

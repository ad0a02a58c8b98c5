"""Real clients log in by SASL, and are refused with the error that they document."""

import asyncio
import importlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fakebroker import FakeBroker

pytestmark = [pytest.mark.clients, pytest.mark.filterwarnings("ignore")]
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    """A broker where alice has to log in."""
    with FakeBroker(users={"alice": "pa"}) as broker:
        broker.create_topic("orders")
        yield broker


def confluent(bootstrap: str, mechanism: str, password: str) -> str:
    """The outcome of one record: "" or the name of the error."""
    kafka = importlib.import_module("confluent_kafka")
    errors: list[str] = []
    producer = kafka.Producer(
        {
            "bootstrap.servers": bootstrap,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": mechanism,
            "sasl.username": "alice",
            "sasl.password": password,
            "error_cb": lambda error: errors.append(error.name()),
        }
    )
    producer.produce("orders", b"x")
    for _ in range(100):
        if not producer.flush(0.1):
            return ""
        if errors:
            producer.purge()
            return "refused" if "_AUTHENTICATION" in errors else errors[0]
    return "nothing"


def _options(bootstrap: str, mechanism: str, password: str) -> dict[str, Any]:
    return {
        "bootstrap_servers": bootstrap,
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
        "sasl_plain_username": "alice",
        "sasl_plain_password": password,
    }


def aiokafka(bootstrap: str, mechanism: str, password: str) -> str:
    """The same with aiokafka, which says of a refused login that it could not bootstrap."""
    kafka = importlib.import_module("aiokafka")

    async def send() -> str:
        producer = kafka.AIOKafkaProducer(**_options(bootstrap, mechanism, password))
        try:
            await producer.start()
            await producer.send_and_wait("orders", b"x")
        except kafka.errors.KafkaConnectionError:
            return "refused"
        finally:
            await producer.stop()
        return ""

    return asyncio.run(send())


@pytest.mark.rules("SA-3", "SA-4", "SA-10")
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("client", [confluent, aiokafka])
def test_the_right_password_is_served_and_a_wrong_one_refused(
    broker: FakeBroker, client: Callable[[str, str, str], str], mechanism: str
) -> None:
    """By each mechanism; a changed password counts at once."""
    assert client(broker.bootstrap, mechanism, "pa") == ""
    assert client(broker.bootstrap, mechanism, "px") == "refused"
    broker.users.add("alice", "px")
    assert client(broker.bootstrap, mechanism, "px") == ""


@pytest.mark.rules("SA-3", "SA-10")
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_kafka_python_logs_in(broker: FakeBroker, mechanism: str) -> None:
    """A record of kafka-python arrives."""
    kafka = importlib.import_module("kafka")
    producer = kafka.KafkaProducer(**_options(broker.bootstrap, mechanism, "pa"))

    assert producer.send("orders", b"y").get(10).offset == 0
    producer.close()


@pytest.mark.rules("SA-5", "SA-11")
def test_librdkafka_logs_in_by_an_unsecured_token(broker: FakeBroker) -> None:
    """The principal is the one that the token names."""
    kafka = importlib.import_module("confluent_kafka")
    producer = kafka.Producer(
        {
            "bootstrap.servers": broker.bootstrap,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "OAUTHBEARER",
            "enable.sasl.oauthbearer.unsecure.jwt": True,
            "sasl.oauthbearer.config": "principal=carol",
        }
    )
    producer.produce("orders", b"x")

    assert producer.flush(10) == 0
    connections = broker.call(lambda: list(broker.engine.connections.values()))
    assert {str(connection.principal) for connection in connections} == {"User:carol"}

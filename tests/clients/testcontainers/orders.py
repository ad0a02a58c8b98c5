"""A broker in a container for each run, and in it a broker for each test, in Python."""

from collections.abc import Iterator

import httpx
import pytest
from confluent_kafka import Producer
from testcontainers.core.container import DockerContainer
from testcontainers.core.wait_strategies import LogMessageWaitStrategy


@pytest.fixture(scope="session")
def container() -> Iterator[DockerContainer]:
    """fakebroker with its HTTP API, and a port for a broker."""
    made = DockerContainer("fakebroker").with_env("FAKEBROKER_CONTROL_TOKEN", "test").with_exposed_ports(8092, 19092)
    with made.waiting_for(LogMessageWaitStrategy("control on")) as running:
        yield running


@pytest.fixture
def broker(container: DockerContainer) -> Iterator[tuple[str, httpx.Client]]:
    """The bootstrap of an isolated broker, and its HTTP API."""
    host = container.get_container_host_ip()
    control = f"http://{host}:{container.get_exposed_port(8092)}"
    with httpx.Client(headers={"Authorization": "Bearer test"}) as http:
        address = f"{host}:{container.get_exposed_port(19092)}"
        made = http.post(f"{control}/brokers", json={"listen": "0.0.0.0:19092", "advertise": address}).json()
        http.base_url = f"{control}/brokers/{made['broker_id']}"
        yield made["bootstrap"], http
        http.delete(f"{control}/brokers/{made['broker_id']}").raise_for_status()


def test_records_expire(broker: tuple[str, httpx.Client]) -> None:
    """Eight days later the log is empty."""
    bootstrap, http = broker
    producer = Producer({"bootstrap.servers": bootstrap})
    producer.produce("orders", "first")
    assert producer.flush(10) == 0
    http.post("/clock/advance", json={"days": 8}).raise_for_status()
    assert http.get("/topics/orders/records").json() == []

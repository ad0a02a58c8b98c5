"""Records of 100 KB, 1 MB and 10 MB over sockets: plain and by TLS, with a login, a quota or a fault in between.

tests/broker/apis/test_large_records.py has the same without sockets, in all versions.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from fakebroker import FakeBroker
from fakebroker.client.scripted.scripted_client import ScriptedClient, ScriptedClients
from fakebroker.client.scripted.tcp_driver import TcpDriver
from fakebroker.protocol.errors import FakebrokerError
from fakebroker.protocol.listeners import PLAINTEXT, SASL_PLAINTEXT, SASL_SSL, SSL
from tests.support.tls import authority, client_context

KB = 1000
ROOM = 64 << 20
SIZES = [(100, KB), (1, 1000 * KB), (10, 1000 * KB)]  # batches, and bytes of the value of each
FAULTS: dict[str, dict[str, Any]] = {
    "a delay": {"delay_s": 0.05},
    "a delay of the answer": {"delay_s": 0.05, "after": "applied"},
    "a slow answer": {"action": "slow", "bytes_per_s": 50_000_000},
}


@contextmanager
def broker_with(protocol: str) -> Iterator[FakeBroker]:
    """A broker whose topic "t" takes large batches, with a share group "g" that begins at its start."""
    config = {"message.max.bytes": ROOM, **(authority().broker_config() if protocol in (SSL, SASL_SSL) else {})}
    with FakeBroker(listen=[f"{protocol}://127.0.0.1:0"], users={"alice": "pa"}, config=config) as broker:
        broker.create_topic("t")
        yield broker
        assert broker.errors == []


@contextmanager
def client_of(broker: FakeBroker) -> Iterator[ScriptedClient]:
    """A client that speaks what the listener does, and is logged in where that has to be."""
    (listener,) = broker.listeners
    tls = client_context() if listener.protocol in (SSL, SASL_SSL) else None
    clients = ScriptedClients(TcpDriver("localhost", listener.port, tls=tls))
    try:
        client = clients.client("large")
        if listener.protocol in (SASL_PLAINTEXT, SASL_SSL):
            assert client.login("alice", "pa").error_code == 0
        yield client
    finally:
        clients.close()


def values(batches: int, size: int) -> list[bytes]:
    """Values that differ."""
    return [f"{number}:".encode().ljust(size, b"v") for number in range(batches)]


def produce(broker: FakeBroker, client: ScriptedClient, batches: int, size: int) -> None:
    for value in values(batches, size):
        assert client.produce("t", 0, [value]).responses[0].partition_responses[0].error_code == 0
    assert [each.value for each in broker.topic("t").records()] == values(batches, size)


def fetch(broker: FakeBroker, client: ScriptedClient, batches: int, size: int) -> None:
    for value in values(batches, size):
        broker.topic("t").produce(value)
    assert [each.value for each in client.fetch("t", 0, 0, max_bytes=ROOM)] == values(batches, size)


def share_fetch(broker: FakeBroker, client: ScriptedClient, batches: int, size: int) -> None:
    earliest = {"share.auto.offset.reset": "earliest"}
    assert client.alter_configs("g", earliest, kind="group").responses[0].error_code == 0
    assert client.join_share_group("g", ["t"]).error_code == 0
    for value in values(batches, size):
        broker.topic("t").produce(value)
    found = client.share_fetch([("t", 0)], max_bytes=ROOM, max_wait_ms=5000, min_bytes=batches * size)
    assert [each.value for each in found] == values(batches, size)
    assert client.share_acknowledge("t", 0).error_code == 0


WAYS: dict[str, Callable[[FakeBroker, ScriptedClient, int, int], None]] = {
    "Produce": produce,
    "Fetch": fetch,
    "ShareFetch": share_fetch,
}


def fetched_again(client: ScriptedClient) -> bytes | None:
    """The first record."""
    return client.fetch("t", 0, 0, max_bytes=ROOM)[0].value


def acquired_again(client: ScriptedClient) -> bytes | None:
    """The record that another member had, whose connection is lost."""
    assert client.join_share_group("g", ["t"]).error_code == 0
    (found,) = client.share_fetch([("t", 0)], max_bytes=ROOM, max_wait_ms=5000)
    assert found.delivery_count == 2
    return found.value


AGAIN = {"Fetch": fetched_again, "ShareFetch": acquired_again}


@pytest.mark.parametrize(("batches", "size"), SIZES)
@pytest.mark.parametrize("protocol", [PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL])
@pytest.mark.parametrize("name", WAYS)
def test_every_byte_arrives(name: str, protocol: str, batches: int, size: int) -> None:
    """With and without TLS, before and after a login."""
    with broker_with(protocol) as broker, client_of(broker) as client:
        WAYS[name](broker, client, batches, size)


@pytest.mark.parametrize("protocol", [PLAINTEXT, SASL_SSL])
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", WAYS)
def test_every_byte_arrives_in_spite_of_a_fault(name: str, fault: str, protocol: str) -> None:
    """A fault that only delays changes nothing else."""
    with broker_with(protocol) as broker, client_of(broker) as client:
        broker.fault(api=name, **FAULTS[fault])
        WAYS[name](broker, client, 10, 500 * KB)


@pytest.mark.parametrize("protocol", [PLAINTEXT, SASL_SSL])
@pytest.mark.parametrize("name", WAYS)
def test_every_byte_arrives_above_a_quota(name: str, protocol: str) -> None:
    """A quota that is exceeded throttles the client; a Fetch above it is answered later."""
    with broker_with(protocol) as broker:
        broker.quotas.set(client_id="large", producer_byte_rate=2e6, consumer_byte_rate=2e6, request_percentage=50)
        with client_of(broker) as client:
            WAYS[name](broker, client, 10, 100 * KB)
            broker.topic("t").produce("last")
            assert client.fetch("t", 0, 10)[-1].value == b"last"


@pytest.mark.parametrize("protocol", [PLAINTEXT, SASL_SSL])
@pytest.mark.parametrize("name", ["Fetch", "ShareFetch"])
def test_the_first_part_of_an_answer(name: str, protocol: str) -> None:
    """An answer of which only a part is sent ends its connection; the next client gets all of it."""
    with broker_with(protocol) as broker:
        broker.fault(api=name, action="truncate", bytes=300 * KB, nth=1)
        with client_of(broker) as doomed, pytest.raises(FakebrokerError):
            WAYS[name](broker, doomed, 1, 1000 * KB)
        with client_of(broker) as client:
            assert AGAIN[name](client) == values(1, 1000 * KB)[0]

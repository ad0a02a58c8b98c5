"""Stopping and starting single nodes of a running broker: sockets, real clients, both kinds of broker."""

import asyncio
import importlib
import socket
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from fakebroker.testing.broker import AsyncFakeBroker, FakeBroker
from tests.support.frames import JOIN, frames, request
from tests.support.librdkafka import close

Broker = FakeBroker | AsyncFakeBroker


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    with FakeBroker(nodes=3) as running:
        yield running


def connected(broker: Broker, node_id: int) -> socket.socket:
    """A connection to the node. Raises ConnectionRefusedError."""
    [port] = [listener.port for listener in broker.listeners if listener.node_id == node_id]
    return socket.create_connection(("127.0.0.1", port), timeout=10)


def serving(broker: Broker) -> list[int]:
    """The nodes that accept clients."""
    found = []
    for listener in broker.listeners:
        try:
            connected(broker, listener.node_id).close()
        except ConnectionRefusedError:
            continue
        found.append(listener.node_id)
    return found


def read_all(connection: socket.socket) -> bytes:
    """What comes until the other side closes."""
    pieces = []
    while piece := connection.recv(65536):
        pieces.append(piece)
    return b"".join(pieces)


def test_a_stopped_node_refuses_clients(broker: FakeBroker) -> None:
    """Its connections end, its port is refused and kept; it comes back there. The others do not notice."""
    ports = [listener.port for listener in broker.listeners]
    with closing(connected(broker, 2)) as mine, closing(connected(broker, 3)) as others:
        mine.sendall(request("ApiVersions", 0))
        assert mine.recv(4)
        others.sendall(request("ApiVersions", 0))
        assert others.recv(65536)
        broker.node(2).stop()
        read_all(mine)
        others.sendall(request("ApiVersions", 0))
        assert others.recv(4)
    assert (serving(broker), broker.node(2).is_alive) == ([1, 3], False)
    taken = socket.socket()
    with closing(taken), pytest.raises(OSError, match="Address already in use"):
        taken.bind(("127.0.0.1", ports[1]))
    broker.node(2).start()
    assert (serving(broker), broker.node(2).is_alive) == ([1, 2, 3], True)
    assert [listener.port for listener in broker.listeners] == ports


@pytest.mark.rules("CLU-32")
def test_who_waits_for_the_coordinator_is_answered_first(broker: FakeBroker) -> None:
    """A parked JoinGroup gets its 16 before the connection closes."""
    node_id = broker.coordinator("g").node_id
    with closing(connected(broker, node_id)) as first, closing(connected(broker, node_id)) as second:
        first.sendall(request("JoinGroup", 3, **JOIN))
        assert first.recv(65536)
        second.sendall(request("JoinGroup", 3, **JOIN))
        broker.group("g").wait(members=2)
        broker.node(node_id).stop()
        [answer] = frames(read_all(second))
        assert answer[8:10] == b"\0\x10"
        assert read_all(first) == b""


def test_before_the_start_and_after_a_stop() -> None:
    """A node may be stopped before the broker is started; it stays so over a stop and a start, not over a reset."""
    broker = FakeBroker(nodes=2)
    broker.node(1).stop()
    with broker:
        assert serving(broker) == [2]
    broker.start()
    assert serving(broker) == [2]
    broker.stop()
    broker.node(1).start()
    broker.node(2).stop()
    with broker:
        assert serving(broker) == [1]
        broker.reset()
        assert serving(broker) == [1, 2]
        assert [broker.node(node_id).is_alive for node_id in (1, 2)] == [True, True]


def test_twice_and_all(broker: FakeBroker) -> None:
    """Stopping a stopped node and starting a live one do nothing; the last live one may be stopped, too."""
    broker.node(1).start()
    for node_id in (1, 2, 3, 3):
        broker.node(node_id).stop()
    assert serving(broker) == []
    broker.node(2).start()
    broker.node(2).start()
    assert serving(broker) == [2]
    events = [recorded.event for recorded in broker.journal.events("node_changed")]
    assert [tuple(event) for event in events] == [(1, "stopped"), (2, "stopped"), (3, "stopped"), (2, "started")]
    assert "node 2: started" in broker.story()


def test_a_node_that_does_not_exist(broker: FakeBroker) -> None:
    """The error names those that exist."""
    with pytest.raises(ValueError, match="there is no node 4, only 1, 2, 3"):
        broker.node(4)
    broker.node(2).stop()
    with pytest.raises(ValueError, match="node 2 is stopped"):
        broker.coordinator("g").move(to=2)


def test_a_port_that_was_taken() -> None:
    """Whoever listens there keeps it: the node stays stopped, and starts when the port is free."""
    with FakeBroker(nodes=2) as broker:
        [_, listener] = broker.listeners
        broker.node(2).stop()
        with socket.socket() as thief:
            thief.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            thief.bind(("127.0.0.1", listener.port))
            thief.listen()
            with pytest.raises(OSError, match=f"cannot listen on 127.0.0.1:{listener.port}: "):
                broker.node(2).start()
            assert not broker.node(2).is_alive
        broker.node(2).start()
        assert serving(broker) == [1, 2]


def test_racks(broker: FakeBroker) -> None:
    """Each node has its own."""
    broker.node(2).rack = "b"
    assert [broker.node(node_id).rack for node_id in (1, 2, 3)] == [None, "b", None]


def test_in_the_loop_of_the_caller() -> None:
    """AsyncFakeBroker does the same in its loop."""

    async def story() -> None:
        async with AsyncFakeBroker(nodes=2) as broker:
            [_, listener] = broker.listeners
            reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
            writer.write(request("ApiVersions", 0))
            assert await reader.readexactly(4)
            broker.node(2).stop()
            await reader.read()
            assert serving(broker) == [1]
            broker.node(2).start()
            assert serving(broker) == [1, 2]
            writer.close()

    asyncio.run(story())


@pytest.mark.clients
@pytest.mark.filterwarnings("ignore")
@pytest.mark.rules("CLU-30", "CLU-34", "CLU-57")
def test_real_clients_go_on() -> None:
    """A producer and a group of confluent-kafka go on when their leader and coordinator stops, and when it is back."""
    kafka = importlib.import_module("confluent_kafka")
    with FakeBroker(nodes=3) as broker:
        first = broker.coordinator("billing").node_id
        broker.create_topic("orders", partitions=3, replication_factor=3)
        common = {"bootstrap.servers": broker.bootstrap, "reconnect.backoff.max.ms": 100, "log_level": 0}
        producer = kafka.Producer({**common, "enable.idempotence": True, "retry.backoff.ms": 20})
        consumer = kafka.Consumer({**common, "group.id": "billing", "auto.offset.reset": "earliest"})
        consumer.subscribe(["orders"])
        got: list[bytes] = []
        sent: list[bytes] = []
        for number, change in enumerate((None, broker.node(first).stop, broker.node(first).start)):
            if change is not None:
                change()
            values = [b"%d-%d" % (number, each) for each in range(30)]
            produce(producer, values)
            sent += values
            poll_until(consumer, got, len(sent))
            consumer.commit(asynchronous=False)
        assert sorted(got) == sorted(sent)
        assert broker.coordinator("billing").node_id != first
        assert sum(broker.group("billing").offsets.values()) == len(sent)
        close(consumer)


def produce(producer: Any, values: list[bytes]) -> None:
    failures: list[Any] = []
    for place, value in enumerate(values):
        producer.produce(
            "orders", value, partition=place % 3, on_delivery=lambda error, _: failures.append(error) if error else None
        )
    assert (producer.flush(30), failures) == (0, [])


def poll_until(consumer: Any, got: list[bytes], count: int) -> None:
    for _ in range(300):
        if len(got) >= count:
            return
        message = consumer.poll(0.1)
        if message is not None and message.error() is None:
            got.append(message.value())
    raise AssertionError(f"{len(got)} of {count} records came")


def test_a_reset_that_cannot_have_a_port_changes_nothing(broker: FakeBroker) -> None:
    """Of several stopped nodes none is opened if one cannot be: the broker is as before."""
    for node_id in (2, 3):
        broker.node(node_id).stop()
    [port] = [listener.port for listener in broker.listeners if listener.node_id == 3]
    with socket.socket() as thief:
        thief.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        thief.bind(("127.0.0.1", port))
        thief.listen()
        with pytest.raises(OSError, match=f"cannot listen on 127.0.0.1:{port}: "):
            broker.reset()
        assert not broker._call(lambda: [place for place in (1, 2) if not broker._server.ports.is_refusing(place)])
        with pytest.raises(ConnectionRefusedError):
            connected(broker, 2)

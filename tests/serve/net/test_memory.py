"""Clients on real sockets leave nothing of ours to the cycle collector."""

import gc
import socket
import tracemalloc
from collections.abc import Callable
from contextlib import ExitStack

import pytest

from fakebroker import FakeBroker
from fakebroker.broker.engine.journal import Disconnected
from tests.broker.engine.test_memory import BATCH, REFUSED, collector_off, produce
from tests.support.frames import request

OURS = {"ClientConnection", "Connection", "Call", "Peer", "frame", "AppendError", "WireError"}


def send_and_close(port: int, data: bytes) -> None:
    """Connect, send, read the answer or the end, close."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        client.sendall(data)
        client.recv(1 << 16)


def half_a_frame(port: int, data: bytes) -> None:
    """Connect, send less than a request, close."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        client.sendall(data[: len(data) // 2])


def count_clients() -> int:
    """How many objects of a client's connection there are in this process."""
    return sum(type(each).__name__ in ("ClientConnection", "Connection", "Call") for each in gc.get_objects())


@pytest.mark.parametrize("visit", [send_and_close, half_a_frame])
@pytest.mark.parametrize("data", [produce(BATCH), produce(b"\0" * 100_000), REFUSED["malformed body"]])
def test_clients_that_come_and_go(visit: Callable[[int, bytes], None], data: bytes) -> None:
    """Nothing of a connection is left to the collector."""
    with FakeBroker() as broker:
        broker.create_topic("t", 1)
        port = broker.listeners[0].port
        visit(port, data)
        clients_before = count_clients()  # of brokers that other tests have left
        with collector_off() as found:
            for _ in range(50):
                visit(port, data)
            journal = broker._engine.journal
            broker.wait(lambda: len(journal.events(Disconnected)) == 51 or None, 10, lambda: "a client is still there")
            clients_after = count_clients()
    assert not OURS & set(found)
    assert clients_after - clients_before <= 3  # the last one's, if the loop has it in hand


def test_a_connection_takes_little() -> None:
    """A client that has asked something and stays takes at most 10 KB of the broker, however many there are."""
    count = 300
    frame = request("Heartbeat", 4, group_id="g", generation_id=1, member_id="m")

    def ask(port: int, number: int) -> list[socket.socket]:
        clients = [socket.create_connection(("127.0.0.1", port), timeout=10) for _ in range(number)]
        for client in clients:
            client.sendall(frame)
            assert client.recv(1 << 16)
        return clients

    with FakeBroker() as broker, ExitStack() as stack:
        port = broker.listeners[0].port
        for client in ask(port, 20):
            stack.enter_context(client)
        tracemalloc.start()
        try:
            before_bytes = tracemalloc.get_traced_memory()[0]
            for client in ask(port, count):
                stack.enter_context(client)
            taken_bytes = tracemalloc.get_traced_memory()[0] - before_bytes
        finally:
            tracemalloc.stop()
    assert taken_bytes / count < 10_000  # with the test's own sockets

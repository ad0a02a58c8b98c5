"""Clients that send and read at any pace, on real sockets: each gets all its answers, in any kind of loop."""

import asyncio
import random
import selectors
import socket
from collections.abc import Callable

import pytest

import fakebroker.serve.net.client_connection
import fakebroker.serve.net.thread
from fakebroker.serve.net.client_connection import ClientConnection
from fakebroker.serve.net.loop import new_event_loop
from fakebroker.testing.broker import FakeBroker
from tests.support.chance import IS_SEEDED, SEED
from tests.support.frames import correlation_ids, request

CLIENTS, REQUESTS = (8, 60) if IS_SEEDED else (4, 15)
PARTITIONS = 1_500  # an answer of 40 KB, made in one step


class Client:
    """Sends its requests in pieces, ends its side, and reads when chance will have it."""

    def __init__(self, broker: FakeBroker, chance: random.Random) -> None:
        self._chance, self.sock = chance, socket.socket()
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.sock.connect((broker.listeners[0].host, broker.listeners[0].port))
        self.sock.setblocking(False)
        self._unsent = b"".join(self._request(number) for number in range(REQUESTS))
        self._read = bytearray()
        self.is_done = False

    def _request(self, number: int) -> bytes:
        if self._chance.random() < 0.7:
            return request("Heartbeat", 4, number, group_id="g" * self._chance.randrange(1, 2000), member_id="m")
        return request("Metadata", 1, number, topics=None)

    def step(self) -> None:
        if self._chance.random() < 0.5:
            self._send(self._chance.choice([1, 30, 1000, 70_000, 1_000_000]))
        else:
            self._receive(self._chance.choice([1, 100, 10_000, 1_000_000]))

    def _send(self, max_bytes: int) -> None:
        if not self._unsent:
            return
        try:
            sent_bytes = self.sock.send(self._unsent[:max_bytes])
        except BlockingIOError:
            return
        self._unsent = self._unsent[sent_bytes:]
        if not self._unsent:
            self.sock.shutdown(socket.SHUT_WR)

    def _receive(self, max_bytes: int) -> None:
        try:
            data = self.sock.recv(max_bytes)
        except BlockingIOError:
            return
        self._read += data
        self.is_done = not data

    @property
    def answered(self) -> list[int]:
        return correlation_ids(bytes(self._read))


def uv_loop() -> asyncio.AbstractEventLoop:
    loop: asyncio.AbstractEventLoop = pytest.importorskip("uvloop").new_event_loop()
    return loop


def select_loop() -> asyncio.AbstractEventLoop:
    """Where there is no epoll (macOS, Windows) sockets are watched by another selector."""
    return asyncio.SelectorEventLoop(selectors.SelectSelector())


def noted_writes(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """An entry for each time that a socket had room again for what it had not taken."""
    noted: list[None] = []
    write = ClientConnection.write

    def note(self: ClientConnection) -> None:
        noted.append(None)
        write(self)

    monkeypatch.setattr(ClientConnection, "write", note)
    return noted


@pytest.mark.random
@pytest.mark.parametrize("make_loop", [new_event_loop, asyncio.SelectorEventLoop, select_loop, uv_loop])
@pytest.mark.parametrize("gathers", [True, False])
def test_every_client_gets_all_its_answers(
    make_loop: Callable[[], asyncio.AbstractEventLoop], gathers: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However requests are cut, and however slowly answers are read, all come, in order, and then the end."""
    chance = random.Random(SEED)
    # Sockets of some systems (Windows) take one piece at a time.
    monkeypatch.setattr(fakebroker.serve.net.client_connection, "CAN_GATHER", gathers)
    monkeypatch.setattr(fakebroker.serve.net.thread, "new_event_loop", make_loop)
    with FakeBroker() as broker:
        writes = noted_writes(monkeypatch)
        (bound,) = broker._server.ports.sockets
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8192)  # those that it accepts inherit it
        broker.create_topic("wide", partitions=PARTITIONS)
        clients = [Client(broker, chance) for _ in range(CLIENTS)]
        while left := [client for client in clients if not client.is_done]:
            chance.choice(left).step()
        broker.wait(lambda: not broker._engine.connections or None, 20, lambda: "connections are left")
        for client in clients:
            client.sock.close()
    assert [client.answered for client in clients] == [list(range(REQUESTS))] * CLIENTS
    assert writes, "no client was ever too slow"

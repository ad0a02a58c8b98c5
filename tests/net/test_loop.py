"""Requests are taken up in the order in which they came, as far as a selector can tell."""

import os
import select
import selectors
import socket
from collections.abc import Iterator

import pytest

from fakebroker.broker import FakeBroker
from fakebroker.net.loop import ArrivalSelector
from fakebroker.wire.frame import encode_request
from fakebroker.wire.framing import with_length
from fakebroker.wire.messages.api_versions import ApiVersionsRequest

pytestmark = pytest.mark.skipif(not hasattr(select, "epoll"), reason="only epoll tells the order of arrival")


@pytest.fixture
def pairs() -> Iterator[list[tuple[socket.socket, socket.socket]]]:
    """Three connections: our end, the other end."""
    made = [socket.socketpair() for _ in range(3)]
    yield made
    for pair in made:
        for end in pair:
            end.close()


def test_sockets_are_listed_in_the_order_of_arrival(pairs: list[tuple[socket.socket, socket.socket]]) -> None:
    """Whatever was ready the last time: what came first comes first."""
    first, second, third = (ours.fileno() for ours, _ in pairs)
    with ArrivalSelector() as selector:
        for ours, _ in pairs:
            selector.register(ours.fileno(), selectors.EVENT_READ)
        pairs[0][1].send(b"x")
        assert [key.fd for key, _ in selector.select(1)] == [first]
        pairs[0][0].recv(1)

        for index in (2, 0, 1):
            pairs[index][1].send(b"x")
        assert [key.fd for key, _ in selector.select(1)] == [third, first, second]


def test_an_arrival_counts_once(pairs: list[tuple[socket.socket, socket.socket]]) -> None:
    """What was not read stays in its place, before what comes later; what comes again gets a new one."""
    first, second, third = (ours.fileno() for ours, _ in pairs)
    with ArrivalSelector() as selector:
        for ours, _ in pairs:
            selector.register(ours.fileno(), selectors.EVENT_READ)
        for index in (1, 0):
            pairs[index][1].send(b"x")
        selector.select(1)
        pairs[2][1].send(b"x")
        assert [key.fd for key, _ in selector.select(1)] == [second, first, third]

        pairs[1][0].recv(1)
        pairs[1][1].send(b"x")
        assert [key.fd for key, _ in selector.select(1)] == [first, third, second]


def test_a_closed_socket_can_be_forgotten(pairs: list[tuple[socket.socket, socket.socket]]) -> None:
    """asyncio may close a socket before it unregisters it."""
    with ArrivalSelector() as selector:
        selector.register(pairs[0][0].fileno(), selectors.EVENT_READ)
        fd = pairs[0][0].detach()
        os.close(fd)
        selector.unregister(fd)

        assert selector.select(0) == []


def read_answer(sock: socket.socket) -> None:
    with sock.makefile("rb") as stream:
        stream.read(int.from_bytes(stream.read(4), "big"))


def test_a_new_client_is_served_before_a_later_request_of_another() -> None:
    """A client that connects and asks comes before one that was connected and asks after it, however busy we are."""
    frame = with_length(encode_request(ApiVersionsRequest(), 0, 1, "c"))
    with FakeBroker() as broker:
        host, _, port = broker.bootstrap.rpartition(":")
        with socket.create_connection((host, int(port))) as old:
            old.sendall(frame)
            read_answer(old)

            def ask_both() -> None:  # on the broker's own thread, so that it cannot look before both have asked
                nonlocal new
                new = socket.create_connection((host, int(port)))
                new.sendall(frame)
                old.sendall(frame)

            new = socket.socket()
            new.close()
            broker.call(ask_both)
            with new:
                read_answer(new)
                read_answer(old)

        connections = [exchange.peer.connection_id for exchange in broker.journal.requests()]
    assert connections == [1, 2, 1]

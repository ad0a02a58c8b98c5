"""Requests are taken up in the order in which they came, as far as a selector can tell."""

import socket
from collections.abc import Iterator

import pytest

from fakebroker.broker import FakeBroker
from fakebroker.net.loop import FairSelector
from fakebroker.wire.frame import encode_request
from fakebroker.wire.framing import with_length
from fakebroker.wire.messages.api_versions import ApiVersionsRequest


@pytest.fixture
def pairs() -> Iterator[list[tuple[socket.socket, socket.socket]]]:
    """Three connections: our end, the other end."""
    made = [socket.socketpair() for _ in range(3)]
    yield made
    for pair in made:
        for end in pair:
            end.close()


def test_who_was_served_last_goes_last(pairs: list[tuple[socket.socket, socket.socket]]) -> None:
    """Of several sockets that are ready, those that were ready the last time come after the others."""
    first, second, third = (ours for ours, _ in pairs)
    with FairSelector() as selector:
        for ours, _ in pairs:
            selector.register(ours.fileno(), 1)
        pairs[0][1].send(b"x")
        assert [key.fd for key, _ in selector.select(1)] == [first.fileno()]

        pairs[2][1].send(b"x")
        pairs[1][1].send(b"x")
        order = [key.fd for key, _ in selector.select(1)]

    assert set(order[:2]) == {second.fileno(), third.fileno()}
    assert order[2] == first.fileno()


def test_new_clients_go_first(pairs: list[tuple[socket.socket, socket.socket]]) -> None:
    """Sockets registered as such, listening and fresh ones, come before those that asyncio reads."""
    with FairSelector() as selector:
        selector.register(pairs[0][0].fileno(), 1)
        selector.register(pairs[1][0], 1)
        for _, theirs in pairs:
            theirs.send(b"x")
        order = [key.fd for key, _ in selector.select(1)]

    assert order == [pairs[1][0].fileno(), pairs[0][0].fileno()]


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

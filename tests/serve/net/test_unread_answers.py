"""Answers that nobody reads have a bound for all clients together."""

from collections.abc import Iterator

import pytest

from fakebroker.serve.net import unread_answers
from tests.serve.net.test_client_connection import Desk, Wire
from tests.support.frames import request

TOPICS = 2_000
ASK = request("Metadata", 9, topics=None)


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    """A server with room for two answers that nobody reads, and a little more."""
    desk = Desk()
    for number in range(TOPICS):
        desk.lab.cluster.topics.create(f"topic-{number}", 1, 1, {})
    client, wire = desk.client()
    answer_bytes = sum(map(len, ask(desk, wire).writes))
    client.abort()
    monkeypatch.setattr(unread_answers, "MAX_UNREAD_BYTES", 2 * answer_bytes + 1000)
    yield desk
    desk.end()


def ask(desk: Desk, wire: Wire) -> Wire:
    """Ask for all topics, until the answer is made."""
    desk.arrive(wire, ASK)
    while desk.lab.engine.works:
        desk.turn_loop()
    return wire


def readers(desk: Desk, count: int, room_bytes: int) -> list[Wire]:
    """Clients that read so much of their answers."""
    wires = []
    for _ in range(count):
        _, wire = desk.client()
        wire.room_bytes = room_bytes
        wires.append(ask(desk, wire))
    return wires


def test_the_client_that_leaves_most_unread_is_closed(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    """The others keep theirs, and get all of it when they read."""
    less, most, last = *readers(desk, 1, 500), *readers(desk, 1, 0), *readers(desk, 1, 500)
    assert [less.is_closed, most.is_closed, last.is_closed] == [False, True, False]
    assert "answers that no client reads take more than" in caplog.text
    desk.turn_loop()
    for wire in (less, last):
        desk.make_room(wire)
        assert len(wire.answers) == 1


def test_who_reads_or_leaves_makes_room(desk: Desk) -> None:
    """Only what is unread counts, and only while the client is there."""
    for _ in range(5):
        first, second = readers(desk, 2, 500)
        desk.make_room(first)
        assert len(first.answers) == 1
        second.is_broken = True
        desk.make_room(second)
        desk.turn_loop()
        assert not first.is_closed
    assert desk.server.unread.one_too_many() is None
    assert desk.server.unread._total_bytes == 0

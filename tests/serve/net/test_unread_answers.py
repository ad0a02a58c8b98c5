"""Answers that nobody reads have a bound for all clients together."""

from collections.abc import Iterator
from typing import Any

import pytest

from fakebroker.broker.core.logs.produce_validation import append
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.wire.messages.fetch import FetchTopic
from fakebroker.serve.net import unread_answers
from tests.serve.net.test_client_connection import Desk, Wire
from tests.support.frames import request

TOPICS = 2_000
BATCHES, RECORD_BYTES = 10, 20_000
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
    monkeypatch.setattr(unread_answers, "MAX_UNREAD_BYTES", 2 * answer_bytes + 20_000)
    yield desk
    desk.end()


def ask(desk: Desk, wire: Wire, before: bytes = b"") -> Wire:
    """Ask for all topics, until the answer is made; something else may stand before it in the same segment."""
    desk.arrive(wire, before + ASK)
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


def test_an_answer_behind_an_unread_one_counts(desk: Desk) -> None:
    """What was unread when the long answer was still being made is not all that the client leaves."""
    wires = []
    for _ in range(3):
        _, wire = desk.client()
        wire.room_bytes = 0
        wires.append(ask(desk, wire, before=request("ApiVersions", 3)))
    assert [wire.is_closed for wire in wires].count(True) == 1
    desk.turn_loop()
    left = [wire for wire in wires if not wire.is_closed]
    for wire in left:
        desk.make_room(wire)
    assert [len(wire.answers) for wire in left] == [2, 2]
    assert desk.server.unread._total_bytes == 0


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


# -- answers with records ----------------------------------------------------------------------------------------------

FETCH: dict[str, Any] = {"max_wait_ms": 0, "min_bytes": 0, "replica_id": -1, "max_bytes": 1 << 30}


@pytest.fixture
def old_desk() -> Iterator[Desk]:
    """A broker that converts records for old clients, with a topic that has some."""
    desk = Desk(as_release="3.9")
    partition = desk.lab.cluster.topics.create("t", 1, 1, {"retention.ms": "-1"}).partitions[0]
    now = desk.lab.network.now
    for _ in range(BATCHES):
        append(partition, 1, build_batch([Record(0, now.wall_ms, None, bytes(RECORD_BYTES))]), 1, now)
    yield desk
    desk.end()


def unread_bytes(desk: Desk, ask: bytes) -> int:
    """What counts as unread of an answer of which the client reads nothing."""
    _, wire = desk.client()
    wire.room_bytes = 0
    desk.arrive(wire, ask)
    while desk.lab.engine.works:
        desk.turn_loop()
    counted = desk.server.unread._total_bytes
    desk.make_room(wire)
    assert sum(map(len, wire.writes)) > 100_000
    return counted


@pytest.mark.parametrize(("version", "least", "most"), [(4, 0, 1_000), (3, BATCHES * RECORD_BYTES, 1 << 20)])
def test_only_converted_records_count(old_desk: Desk, version: int, least: int, most: int) -> None:
    """Stored batches are kept anyway; what is converted is there for one answer."""
    rows = [(0, -1, 0, -1, 0, 1 << 30, bytes(16), 2**63 - 1)]
    ask = request("Fetch", version, topics=[FetchTopic(topic="t", partitions=rows)], **FETCH)
    assert least <= unread_bytes(old_desk, ask) <= most


def test_what_a_view_keeps_counts(old_desk: Desk) -> None:
    """A client that has read nearly all of a piece still has all of it kept."""
    rows = [(0, -1, 0, -1, 0, 1 << 30, bytes(16), 2**63 - 1)]
    _, wire = old_desk.client()
    wire.room_bytes = BATCHES * RECORD_BYTES
    old_desk.arrive(wire, request("Fetch", 3, topics=[FetchTopic(topic="t", partitions=rows)], **FETCH))
    while old_desk.lab.engine.works:
        old_desk.turn_loop()
    assert old_desk.server.unread._total_bytes > BATCHES * RECORD_BYTES


@pytest.mark.parametrize("partitions", [3_000, 20_000])
def test_errors_of_partitions_count(old_desk: Desk, partitions: int) -> None:
    """An answer that may have records and has errors only is all its own, however it is written."""
    rows = [(index, -1, 0, -1, -1, 1 << 30, bytes(16), 2**63 - 1) for index in range(partitions)]
    ask = request("Fetch", 12, topics=[FetchTopic(topic="none", partitions=rows)], session_epoch=-1, **FETCH)
    assert unread_bytes(old_desk, ask) > 35 * partitions

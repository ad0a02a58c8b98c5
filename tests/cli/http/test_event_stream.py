"""Streams of server-sent events: they end when the reader has gone, and many readers cost little more than one."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from fakebroker import AsyncFakeBroker
from fakebroker.broker.core.events import OffsetsDeleted
from fakebroker.broker.engine.journal import InternalError, Journal
from fakebroker.cli.http import journal_stream, live
from fakebroker.cli.http.app import ControlApp
from fakebroker.cli.http.journal_stream import EncodedEntries
from fakebroker.cli.http.saved_app import SavedApp
from fakebroker.cli.http.turns import each_in_turn
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.pace import AT_ONCE, Pace
from fakebroker.protocol.records.offsets_topic import TopicPartition
from fakebroker.testing.journal.rows import rows_of
from tests.support.control import App

ROUNDS = 5


class BusyReader:
    """A reader that makes news with all that it gets, so that there is always more, and goes after some of it."""

    def __init__(self, broker: AsyncFakeBroker) -> None:
        self._broker = broker
        self._has_gone = asyncio.Event()
        self._is_asked = False
        self.sent = 0
        self.sent_after_it_went = 0

    async def receive(self) -> Any:
        """The request, and later its end."""
        if not self._is_asked:
            self._is_asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self._has_gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, _message: Any) -> None:
        """Take an event, as uvicorn does: at once also when the reader has gone."""
        self.sent += 1
        self.sent_after_it_went += self._has_gone.is_set()
        if self.sent == ROUNDS:
            self._has_gone.set()
        self.add_entry()

    def add_entry(self) -> None:
        """Something happens in the broker."""
        self._broker._engine.journal.event(InternalError("a", "b"), self._broker._broker_clock.now())
        self._broker._waiters.notify()

    async def read(self, app: App, path: str) -> None:
        """Ask for a stream; return when the application has ended it."""
        scope: dict[str, Any] = {
            "type": "http",
            "method": "GET",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"since=0",
        }
        scope |= {"headers": [(b"host", b"localhost")], "http_version": "1.1", "scheme": "http", "root_path": ""}
        scope |= {"asgi": {"version": "3.0", "spec_version": "2.3"}}
        await app(scope, self.receive, self.send)


@pytest.mark.parametrize("path", ["/journal/stream", "/live", "saved"])
def test_a_stream_ends_when_its_reader_goes_while_entries_arrive(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when the next entry is always there before the last one is sent."""
    monkeypatch.setattr(live, "ROUND_S", 0)
    monkeypatch.setattr(live, "PAUSE_SHARE", 0)
    monkeypatch.setattr(journal_stream, "PAUSE_PER_READER_S", 0)

    async def run() -> None:
        async with AsyncFakeBroker() as broker:
            reader = BusyReader(broker)
            app: App = ControlApp(broker)
            if path == "saved":
                app, reader.sent = SavedApp([], "a file"), ROUNDS - 2  # it sends a greeting and then nothing
            await reader.read(app, "/live" if path == "saved" else path)
            assert reader.sent >= ROUNDS
            assert reader.sent_after_it_went <= 2
            await app.close()
            broker.errors.clear()

    asyncio.run(run())


def test_a_wait_that_is_cancelled_as_it_succeeds_is_cancelled() -> None:
    """asyncio.wait_for of Python 3.11 gives the result in place of the cancellation."""

    async def run() -> None:
        async with AsyncFakeBroker() as broker:
            reader = BusyReader(broker)
            seq = broker._engine.journal.next_seq
            waiting = asyncio.ensure_future(
                broker.wait(lambda: broker._engine.journal.next_seq > seq or None, 60, lambda: "")
            )
            await asyncio.sleep(0)
            reader.add_entry()
            waiting.cancel()
            await asyncio.wait([waiting])
            assert waiting.cancelled()

    asyncio.run(run())


def all_after(encoded: EncodedEntries, journal: Journal, seq: int) -> tuple[bytes, int]:
    """What a reader gets in a round, all steps together, and where it goes on."""
    steps = list(encoded.after(journal, seq, AT_ONCE))
    return b"".join(events for events, _ in steps), steps[-1][1]


def test_an_entry_is_encoded_once_for_all_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers at other places share what is encoded; what takes too much memory is dropped, oldest first."""
    rows = rows_of
    made: list[int] = []
    monkeypatch.setattr(journal_stream, "rows_of", lambda entry, run: made.append(entry.seq) or rows(entry, run))

    async def run() -> None:
        async with AsyncFakeBroker() as broker:
            reader, journal, encoded = BusyReader(broker), broker._engine.journal, EncodedEntries()
            for _ in range(10):
                reader.add_entry()
            everything, following = all_after(encoded, journal, 0)
            assert (following, made) == (journal.next_seq, list(range(journal.next_seq)))
            assert all_after(encoded, journal, 4)[0] == everything[everything.index(b"id: 4\n") :]
            assert all_after(encoded, journal, following) == (b"", following)
            assert len(made) == journal.next_seq
            monkeypatch.setattr(journal_stream, "MAX_ENCODED_BYTES", 0)
            encoded.trim()
            assert all_after(encoded, journal, 0) == (everything, following)
            broker.errors.clear()

    asyncio.run(run())


def test_a_long_entry_is_sent_bit_by_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its lines come in steps of some bytes, each once and in order, and are not kept; what is short is kept."""
    monkeypatch.setattr(journal_stream, "MAX_KEPT_BYTES", 2_000)
    journal, encoded = Journal(), EncodedEntries()
    for count in (1, 1000, 1):
        journal.event(
            OffsetsDeleted("g", [TopicPartition("orders", index) for index in range(count)], "gone"), Instant(0, 0)
        )

    steps = list(encoded.after(journal, 0, Pace(4_000)))

    assert len(steps) > 20
    assert max(len(events) for events, _ in steps) < 5_000
    assert [each for _, each in steps] == sorted(each for _, each in steps)
    assert steps[-1][1] == 3
    events = b"".join(events for events, _ in steps)
    lines = [json.loads(line[6:]) for line in events.splitlines() if line.startswith(b"data: ")]
    assert [(line["seq"], line["partition"]) for line in lines] == [
        (0, 0),
        *((1, each) for each in range(1000)),
        (2, 0),
    ]
    assert encoded._encoded.keys() == {0, 2}
    assert all_after(encoded, journal, 0)[0] == events


def test_long_work_takes_turns() -> None:
    """However many ask at once, in a turn of the loop there is one step of one of them."""
    turn, turns = 0, list[int]()

    def steps() -> Iterator[None]:
        for _ in range(20):
            turns.append(turn)
            yield None

    async def count() -> None:
        nonlocal turn
        while True:
            turn += 1
            await asyncio.sleep(0)

    async def read() -> None:
        async for _ in each_in_turn(steps()):
            raise AssertionError

    async def run() -> None:
        counting = asyncio.create_task(count())
        await asyncio.gather(*(read() for _ in range(5)))
        counting.cancel()

    asyncio.run(run())
    assert len(set(turns)) == len(turns) == 100

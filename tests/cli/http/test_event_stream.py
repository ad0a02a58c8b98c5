"""Streams of server-sent events: they end when the reader has gone, and many readers cost little more than one."""

import asyncio
from typing import Any

import pytest

from fakebroker import AsyncFakeBroker
from fakebroker.broker.engine.journal import InternalError
from fakebroker.cli.http import journal_stream, live
from fakebroker.cli.http.app import ControlApp
from fakebroker.cli.http.journal_stream import EncodedEntries
from fakebroker.cli.http.saved_app import SavedApp
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
            everything, following = encoded.after(journal, 0)
            assert (following, made) == (journal.next_seq, list(range(journal.next_seq)))
            assert encoded.after(journal, 4)[0] == everything[everything.index(b"id: 4\n") :]
            assert encoded.after(journal, following) == (b"", following)
            assert len(made) == journal.next_seq
            monkeypatch.setattr(journal_stream, "MAX_ENCODED_BYTES", 0)
            encoded.trim()
            assert encoded.after(journal, 0) == (everything, following)
            broker.errors.clear()

    asyncio.run(run())

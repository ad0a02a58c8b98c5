"""The journal as server-sent events. Each entry that is not long is encoded once, however many readers there are.

Each step of a reader takes time from the loop that serves the broker's clients. Therefore the pause after a step grows
with the number of readers.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from fakebroker.broker.engine.journal import Event, Exchange, Journal, Recorded
from fakebroker.cli.http.problems import problem_of
from fakebroker.cli.http.turns import each_in_turn, pace_of
from fakebroker.protocol.errors import BrokerStopped, WaitTimeout
from fakebroker.protocol.pace import Pace
from fakebroker.testing.handles.journal import RUN_IN_MEMORY
from fakebroker.testing.journal.rows import rows_of

if TYPE_CHECKING:
    from fakebroker.testing.broker import AsyncFakeBroker

SILENCE_S: Final = 10.0  # after so long a comment is sent, so that both sides notice a dead connection
PAUSE_PER_READER_S: Final = 0.001
MAX_ENCODED_BYTES: Final = 4 * 1024 * 1024  # per journal
MAX_KEPT_BYTES: Final = 128 * 1024  # of an entry; a longer one is encoded by each reader, bit by bit
MAX_IN_ROUND: Final = 500  # entries
BYTES_PER_STEP: Final = 256 * 1024  # of events

Sent = tuple[bytes, int]  # events, and the number of the entry that goes on


class EncodedEntries:
    """The latest entries of a journal as the stream sends them."""

    def __init__(self) -> None:
        self.readers = 0
        self._encoded: dict[int, bytes] = {}
        self._size_bytes = 0

    def after(self, journal: Journal, seq: int, pace: Pace) -> Iterator[Sent]:
        """The events of at most MAX_IN_ROUND entries from `seq` on, in steps of BYTES_PER_STEP, the units of `pace`."""
        first = max(seq, journal.forgotten)
        seqs = range(first, min(journal.next_seq, first + MAX_IN_ROUND))
        gathered: list[bytes] = []
        for entry in list(journal.kept(first).of(seqs)):
            for events in self._events_of(entry):
                gathered.append(events)
                if pace.is_over(len(events)):
                    yield b"".join(gathered), entry.seq
                    gathered.clear()
        yield b"".join(gathered), max(seqs.stop, seq)

    def _events_of(self, entry: Exchange | Recorded[Event]) -> Iterator[bytes]:
        """The events of an entry, together if they are known, else one by one."""
        known = self._encoded.get(entry.seq)
        if known is not None:
            yield known
            return
        kept, size_bytes = list[bytes](), 0
        for row in rows_of(entry, RUN_IN_MEMORY):
            event = f"id: {row['seq']}\nevent: {row['kind']}\ndata: {json.dumps(row)}\n\n".encode()
            size_bytes += len(event)
            if size_bytes <= MAX_KEPT_BYTES:
                kept.append(event)
            yield event
        if size_bytes <= MAX_KEPT_BYTES and entry.seq not in self._encoded:
            self._encoded[entry.seq] = b"".join(kept)
            self._size_bytes += size_bytes

    def trim(self) -> None:
        """Drop the entries that were encoded first if all of them take too much memory."""
        while self._size_bytes > MAX_ENCODED_BYTES:
            self._size_bytes -= len(self._encoded.pop(next(iter(self._encoded))))


_ENCODED: "WeakKeyDictionary[Journal, EncodedEntries]" = WeakKeyDictionary()


async def journal_events(broker: "AsyncFakeBroker", seq: int, is_closing: Callable[[], bool]) -> AsyncIterator[bytes]:
    """The events of the journal from entry `seq` on, until the broker is stopped or the HTTP port is closed."""
    yield b": the journal\n\n"
    while not is_closing():
        try:
            await _entry(broker, seq)
        except WaitTimeout:
            yield b": nothing new\n\n"
            continue
        except BrokerStopped as error:
            yield f"event: end\ndata: {json.dumps(problem_of(error).detail)}\n\n".encode()
            return
        journal = broker._engine.journal
        encoded = _ENCODED.setdefault(journal, EncodedEntries())
        encoded.readers += 1
        try:
            steps = encoded.after(journal, seq, pace_of(BYTES_PER_STEP))
            async for events, following in each_in_turn(steps):
                seq = following
                encoded.trim()
                if events:
                    yield events
                await asyncio.sleep(PAUSE_PER_READER_S * encoded.readers)
        finally:
            encoded.readers -= 1


async def _entry(broker: "AsyncFakeBroker", seq: int) -> None:
    """Wait for an entry with this sequence number."""
    journal = broker._engine.journal
    await broker.wait(lambda: True if journal.next_seq > seq else None, SILENCE_S, lambda: "")

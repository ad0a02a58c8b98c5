"""A journal that also tells observers: the file of `--journal`, the log of `--verbose`.

Nothing is decoded while a request is served. Observers get what was noted at the end of the turn, right after the
answers have gone out (`Server.flush`): of a broker that is killed only the turn that it was in is missing. What takes
longer than a step comes in the turns after that: then these entries are missing, too.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Final

from fakebroker.broker.engine.journal import (
    MAX_IN_CHUNK,
    BrokerStarted,
    Event,
    EventEntry,
    Exchange,
    ExchangeEntry,
    Journal,
    KeptEntries,
    Peer,
    Recorded,
    bytes_of,
)
from fakebroker.broker.engine.kept_frames import FrameBytes
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.pace import STEP_S, no_stopwatch

log = logging.getLogger("fakebroker")

CHUNK_BYTES: Final = 32 * 1024  # of requests and answers: between two chunks the step may be over
MAX_LEFT_BYTES: Final = 1024 * 1024
"""What is left for later turns at most: clients that send faster than observers get it wait for the rest."""


class Observer:
    """Gets every entry of a journal, in order."""

    def begin(self, started: BrokerStarted) -> None:
        """The broker serves clients from now on. The same event comes later, as the first entry of the journal."""

    def tell(self, entries: Sequence[Exchange | Recorded[Event]]) -> None:
        """What happened in a turn; perhaps nothing."""

    def end(self) -> None:
        """The broker was stopped; it may be started again."""

    def forget(self) -> None:
        """This is a forked child, and the observer its parent's."""


class ObservedJournal(Journal):
    """A journal with observers. `tell` is to be called at the end of each turn."""

    has_observers = True

    def __init__(self, observers: Sequence[Observer], stopwatch: Callable[[], float] = no_stopwatch) -> None:
        """`stopwatch`: seconds since any moment; if always the same, observers get everything in its turn."""
        self._stopwatch = stopwatch
        self._observers = list(observers)
        self._unobserved: list[ExchangeEntry | EventEntry] = []
        super().__init__()

    def exchange(
        self, peer: Peer, request: bytes, response: FrameBytes | None, received: Instant, answered: Instant
    ) -> None:
        """As the journal has it; observers get requests whole, however large."""
        super().exchange(peer, request, response, received, answered)
        self._unobserved.append((peer, request, response, received, answered))

    def event(self, event: Event, now: Instant) -> None:
        """As the journal has it."""
        super().event(event, now)
        self._unobserved.append(EventEntry(event, now))

    def _use_fresh(self) -> None:
        self.append = self._append

    def _append(self, entry: ExchangeEntry | EventEntry) -> None:
        self._fresh.append(entry)
        self._unobserved.append(entry)

    def tell(self) -> bool:
        """Tell the observers what happened since the last time, for a step by the stopwatch.

        Returns whether there is more to tell: call it again when the clients have had their turns.
        """
        ends_s = self._stopwatch() + STEP_S
        self._tell(self._chunk())
        while self._unobserved:
            if self._stopwatch() > ends_s and bytes_of(self._unobserved) <= MAX_LEFT_BYTES:
                return True
            self._tell(self._chunk())
        return False

    def tell_all(self) -> None:
        """The same however long it takes."""
        while self.tell():
            pass

    def clear(self) -> None:
        """As the journal has it. The observers get what is forgotten here."""
        self.tell_all()
        super().clear()

    def _chunk(self) -> KeptEntries:
        """The next entries for the observers: of some bytes, or one entry."""
        unobserved = self._unobserved
        entries = unobserved[:MAX_IN_CHUNK]
        while len(entries) > 1 and bytes_of(entries) > CHUNK_BYTES:
            del entries[len(entries) // 2 :]
        chunk = KeptEntries(self.next_seq - len(unobserved), entries, self.topic_name)
        del unobserved[: len(entries)]
        return chunk

    def _tell(self, chunk: KeptEntries) -> None:
        """Tell each observer. One that fails gets nothing more."""
        entries = list(chunk)
        for observer in tuple(self._observers):
            try:
                observer.tell(entries)
            except Exception:
                log.exception("%s failed and gets no more journal entries", type(observer).__name__)
                self._observers.remove(observer)
                observer.end()

    def begin(self, started: BrokerStarted) -> None:
        """The broker serves clients, though nothing has happened that an entry tells."""
        for observer in self._observers:
            observer.begin(started)

    def end(self) -> None:
        """The broker was stopped: tell what is unobserved, and that this is the end for now."""
        self.tell_all()
        for observer in self._observers:
            observer.end()

    def forget_observers(self) -> None:
        """This is a forked child: the observers are its parent's."""
        for observer in self._observers:
            observer.forget()
        self._observers.clear()

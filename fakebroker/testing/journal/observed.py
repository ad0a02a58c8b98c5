"""A journal that also tells observers: the file of `--journal`, the log of `--verbose`.

Nothing is decoded while a request is served. Observers get what was noted at the end of the turn, right after the
answers have gone out (`Server.flush`): of a broker that is killed only the turn that it was in is missing.
"""

import logging
from collections.abc import Sequence

from fakebroker.broker.engine.journal import (
    BrokerStarted,
    Event,
    EventEntry,
    Exchange,
    ExchangeEntry,
    Journal,
    KeptEntries,
    Peer,
    Recorded,
)
from fakebroker.broker.engine.kept_frames import FrameBytes
from fakebroker.protocol.instant import Instant

log = logging.getLogger("fakebroker")


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

    def __init__(self, observers: Sequence[Observer]) -> None:
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

    def tell(self) -> None:
        """Tell the observers what happened since the last time. One that fails gets nothing more."""
        unobserved, self._unobserved = self._unobserved, []
        entries = list(KeptEntries(self.next_seq - len(unobserved), unobserved, self.topic_name))
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
        self.tell()
        for observer in self._observers:
            observer.end()

    def forget_observers(self) -> None:
        """This is a forked child: the observers are its parent's."""
        for observer in self._observers:
            observer.forget()
        self._observers.clear()

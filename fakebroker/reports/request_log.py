"""A journal that tells what it is told: a log line for every request and event."""

import logging

from fakebroker.core.events import CoreEvent
from fakebroker.engine.journal import Connected, Disconnected, Exchange, Frame, Journal, Peer
from fakebroker.engine.printable import LINE_CHARACTERS, printable
from fakebroker.instant import Instant

log = logging.getLogger("fakebroker")


class LoggingJournal(Journal):
    """For `serve --verbose`. Every request is decoded, so this is not fast."""

    def exchange(
        self, peer: Peer, request: bytes, response: bytes | Frame | None, received: Instant, answered: Instant
    ) -> None:
        """A line: who asked what, and what became of it."""
        super().exchange(peer, request, response, received, answered)
        last = Exchange(len(self) + self.forgotten - 1, (peer, request, response, received, answered))
        log.info("%s %s", peer.address, last)

    def event(self, event: CoreEvent | Connected | Disconnected, now: Instant) -> None:
        """A line for each connection, transition and expiry."""
        super().event(event, now)
        log.info("%s", printable(str(event), LINE_CHARACTERS))

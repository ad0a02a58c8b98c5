"""A journal that also logs every entry: a line for each request and event."""

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
        """Log a line: the client, the request, the errors in the answer, the time until the answer."""
        super().exchange(peer, request, response, received, answered)
        last = Exchange(len(self) + self.forgotten - 1, (peer, request, response, received, answered))
        log.info("%s %s", peer.address, last)

    def event(self, event: CoreEvent | Connected | Disconnected, now: Instant) -> None:
        """Log a line for each connection, group transition and expiration."""
        super().event(event, now)
        log.info("%s", printable(str(event), LINE_CHARACTERS))

"""The log of `serve --verbose`: a line for each request and event, in words."""

import logging
from collections.abc import Sequence

from fakebroker.broker.engine.journal import BrokerStarted, Event, Exchange, Recorded
from fakebroker.broker.engine.printable import LINE_CHARACTERS, printable
from fakebroker.testing.explanations.event_wording import event_text
from fakebroker.testing.explanations.wording import asked_text, is_idle_poll, request_text
from fakebroker.testing.journal.observed import Observer

log = logging.getLogger("fakebroker")


MAX_REMEMBERED = 10_000  # connections


class RequestLog(Observer):
    """Logs what happens. Every request is decoded, so this is not fast.

    A poll that finds nothing is logged once: the same of the same connection is left out until something else comes.
    """

    def __init__(self) -> None:
        self._is_serving = False
        self._idle: dict[int, str] = {}  # by connection: the poll that it sent last

    def tell(self, entries: Sequence[Exchange | Recorded[Event]]) -> None:
        """One line each. An internal error is logged where it happens, with its traceback."""
        for entry in entries:
            if isinstance(entry, Exchange):
                if self._is_new(entry):
                    log.info("%s", line_of(entry))
            elif not isinstance(entry.event, BrokerStarted):  # `begin` has logged it
                log.info("%s", printable(event_text(entry.event), LINE_CHARACTERS))

    def begin(self, started: BrokerStarted) -> None:
        """The first line, before any client comes."""
        self._is_serving = True
        log.info("%s", printable(event_text(started), LINE_CHARACTERS))

    def end(self) -> None:
        """The last line. A call on a stopped broker ends without one."""
        if self._is_serving:
            self._is_serving = False
            log.info("the broker stopped")

    def _is_new(self, exchange: Exchange) -> bool:
        connection = exchange.connection_id
        if not is_idle_poll(exchange):
            self._idle.pop(connection, None)
            return True
        if len(self._idle) >= MAX_REMEMBERED:
            self._idle.clear()
        asked = asked_text(exchange)
        is_new = self._idle.get(connection) != asked
        self._idle[connection] = asked
        return is_new


def line_of(exchange: Exchange) -> str:
    """Who asked what of which node, and what became of it."""
    client = "" if exchange.client_id is None else f"{printable(exchange.client_id)} "
    text = f"{client}({exchange.peer.address}) to node {exchange.node_id}: {request_text(exchange)}"
    return printable(text, LINE_CHARACTERS)

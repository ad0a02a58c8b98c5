"""The log of `serve --verbose`: a line for each request and event, in words."""

import logging
from collections.abc import Sequence

from fakebroker.engine.journal import Exchange, Recorded
from fakebroker.engine.printable import LINE_CHARACTERS, printable
from fakebroker.journal.observed import Observer
from fakebroker.reports.event_wording import event_text
from fakebroker.reports.wording import request_text

log = logging.getLogger("fakebroker")


class RequestLog(Observer):
    """Logs what happens. Every request is decoded, so this is not fast."""

    def tell(self, entries: Sequence[Exchange | Recorded]) -> None:
        """One line each. An internal error is logged where it happens, with its traceback."""
        for entry in entries:
            if isinstance(entry, Exchange):
                log.info("%s", line_of(entry))
            else:
                log.info("%s", printable(event_text(entry.event), LINE_CHARACTERS))


def line_of(exchange: Exchange) -> str:
    """Who asked what of which node, and what became of it."""
    client = "" if exchange.client_id is None else f"{printable(exchange.client_id)} "
    text = f"{client}({exchange.peer.address}) to node {exchange.node_id}: {request_text(exchange)}"
    return printable(text, LINE_CHARACTERS)

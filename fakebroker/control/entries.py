"""The journal's entries as data for JSON."""

from typing import Any

from fakebroker.broker import AsyncFakeBroker
from fakebroker.control.answers import to_json
from fakebroker.engine.journal import Exchange, Recorded
from fakebroker.schema.jsonable import to_json as message_to_json


def next_seq(broker: AsyncFakeBroker) -> int:
    """The sequence number that the next entry will have."""
    journal = broker.journal
    return journal.forgotten + len(journal)


def entries_since(broker: AsyncFakeBroker, seq: int) -> list[dict[str, Any]]:
    """The entries from a sequence number on, oldest first."""
    return [entry_to_json(entry) for entry in broker.journal.entries() if entry.seq >= seq]


def entry_to_json(entry: Exchange | Recorded) -> dict[str, Any]:
    """One entry."""
    if isinstance(entry, Recorded):
        event: Any = to_json(entry.event, frozenset())
        return {"seq": entry.seq, "kind": type(entry.event).__name__, "at_ms": entry.at.wall_ms, "event": event}
    request, response = entry.request, entry.response
    return {
        "seq": entry.seq,
        "kind": "request",
        "at_ms": entry.received.wall_ms,
        "api": entry.api,
        "version": entry.version,
        "client_id": entry.client_id,
        "errors": list(entry.errors),
        "request": None if request is None else message_to_json(request, entry.version),
        "response": None if response is None else message_to_json(response, entry.version),
    }

"""One entry of the journal in full: decoded, its errors with the rules that speak of them, what happened meanwhile."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final, NamedTuple

from fakebroker.broker.core.events import ClockMoved, CoordinatorMoved, FaultHit, NodeChanged
from fakebroker.broker.engine.journal import Event, Exchange, Journal, KeptEntries, Recorded
from fakebroker.protocol.errors import UnknownThing
from fakebroker.testing.explanations.event_wording import event_text
from fakebroker.testing.explanations.rule_texts import RuleText, rules_of_error
from fakebroker.testing.explanations.wording import request_text, step_of
from fakebroker.testing.journal.rows import rows_of
from fakebroker.testing.journal.schema import KIND_OF_EVENT

MAX_LINES: Final = 500
MAX_PLACES: Final = 20
MAX_EVENTS: Final = 50
MAX_SCANNED: Final = 5000  # entries before a request, for what happened while it waited
_OF_ALL = (ClockMoved, CoordinatorMoved, NodeChanged)


class ErrorView(NamedTuple):
    """An error in an answer.

    `places` are the partitions that it stands at, as "orders-0", none for one of the whole request; of many the first.
    `step` is what the error tells a client to do, "" unless that belongs to an ordinary life; `rules` are the rules of
    the API that name the error: one of them led to it, if the list is not empty.
    """

    error: str
    code: int
    places: list[str]
    step: str
    rules: list[RuleText]


class FaultView(NamedTuple):
    """A fault that hit a request: the entry that says so, and the fault as it was declared."""

    seq: int
    fault_id: int
    description: str


class EventView(NamedTuple):
    """Another entry of the journal in words."""

    seq: int
    kind: str
    text: str


class EntryView(NamedTuple):
    """One entry of the journal.

    `lines` are its lines as in files (docs/reference/journal-schema.md), of many the first 500; `text` tells it in
    words. Of a request, `errors` are those of its answer, `faults` those that hit it, and `events` what happened
    between its arrival and its answer to its groups or the whole broker; of many the last.
    """

    seq: int
    lines: list[dict[str, Any]]
    text: str
    errors: list[ErrorView]
    faults: list[FaultView]
    events: list[EventView]


def entry_view(journal: Journal, seq: int, run: str) -> EntryView:
    """The entry of that number. Raises UnknownThing for one that is forgotten or not there yet.

    Call it on the thread that owns the engine.
    """
    if not journal.forgotten <= seq < journal.next_seq:
        known = f"entries {journal.forgotten} to {journal.next_seq - 1} are" if len(journal) else "none are"
        raise UnknownThing("seq", seq, f"there is no entry {seq} in memory: {known}")
    kept = journal.kept(max(journal.forgotten, seq - MAX_SCANNED))
    (entry,) = kept.of([seq])
    lines = list(islice(rows_of(entry, run), MAX_LINES))
    if isinstance(entry, Recorded):
        return EntryView(seq, lines, event_text(entry.event), [], [], [])
    meanwhile = _since_arrival(kept, entry)
    faults = [FaultView(each.seq, each.event.fault_id, each.event.description) for each in _hits(meanwhile, entry)]
    events = [*map(_event, list(_concerning(meanwhile, entry))[-MAX_EVENTS:])]
    return EntryView(seq, lines, request_text(entry), list(_errors(entry)), faults, events)


def _errors(exchange: Exchange) -> Iterator[ErrorView]:
    """Each error once, with the places where it stands."""
    places: dict[str, list[str]] = {}
    codes: dict[str, int] = {}
    for error in exchange.found_errors:
        found = places.setdefault(error.name, [])
        codes[error.name] = error.code
        if error.topic is not None and len(found) < MAX_PLACES:
            found.append(error.topic if error.partition is None else f"{error.topic}-{error.partition}")
    for name, found in places.items():
        yield ErrorView(name, codes[name], found, step_of(exchange.api, name), rules_of_error(exchange.api, name))


def _since_arrival(kept: KeptEntries, exchange: Exchange) -> list[Recorded[Event]]:
    """The events between a request's arrival and its answer, oldest first."""
    found = []
    for each in kept.of(range(exchange.seq - 1, kept.first_seq - 1, -1), only_events=True):
        if isinstance(each, Recorded):
            if each.at.mono_ms < exchange.received.mono_ms:
                break
            found.append(each)
    return found[::-1]


def _hits(events: Iterable[Recorded[Event]], exchange: Exchange) -> Iterator[Any]:
    """The events that say that a fault hit the request."""
    who = exchange.connection_id, exchange.header.correlation_id
    for each in events:
        if isinstance(each.event, FaultHit) and (each.event.connection_id, each.event.correlation_id) == who:
            yield each


def _concerning(events: Iterable[Recorded[Event]], exchange: Exchange) -> Iterator[Recorded[Event]]:
    """The events that concern the request's groups, or the whole broker."""
    groups = frozenset(exchange.group_ids)
    for each in events:
        if isinstance(each.event, _OF_ALL) or getattr(each.event, "group_id", None) in groups:
            yield each


def _event(recorded: Recorded[Event]) -> EventView:
    return EventView(recorded.seq, KIND_OF_EVENT.get(type(recorded.event), ""), event_text(recorded.event))

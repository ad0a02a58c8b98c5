"""Brief lines of the journal, for those who look at all of it: what happened, without decoded requests and answers.

A brief line is a line of docs/reference/journal-schema.md without `run`, `schema_version`, `request` and `response`,
with `text`, which tells it in words. One of an event also has `parts`, how many lines the entry has; of many only the
first MAX_PARTS are made. What requests have stored (`offset_committed`, `records_appended`) is left out. Of very many
groups or topics that a request names, and of any other list, the first MAX_NAMES are shown.

Most requests are like one before but for their correlation id: what they name, and which errors an answer has, is
remembered by the rest of their bytes, and decoded once.
"""

from collections.abc import Generator, Iterable
from copy import copy
from itertools import groupby, islice
from operator import itemgetter
from typing import Any, Final, NamedTuple

from fakebroker.broker.core.events import CoordinatorRecords
from fakebroker.broker.engine.journal import Event, Exchange, Journal, Recorded
from fakebroker.broker.engine.kept_frames import Frame, kept_of
from fakebroker.broker.engine.printable import LINE_CHARACTERS, printable
from fakebroker.protocol.arguments.checks import check_one_of, check_whole
from fakebroker.protocol.errors import WHERE_KINDS, InvalidArgument, UnknownThing
from fakebroker.protocol.pace import AT_ONCE, Pace, finished
from fakebroker.protocol.schema.jsonable import uuid_to_text
from fakebroker.testing.explanations.event_wording import event_text
from fakebroker.testing.explanations.wording import said_text
from fakebroker.testing.journal.from_rows import entries_of
from fakebroker.testing.journal.lines import row_text
from fakebroker.testing.journal.rows import Row, rows_of, size_bytes
from fakebroker.testing.journal.schema import KINDS

MAX_PARTS: Final = 20
MAX_NAMES: Final = 100
MAX_LINES: Final = 1000
MAX_SCANNED: Final = 4000  # entries
BYTES_PER_STEP: Final = 256 * 1024  # of requests and answers
EVENT_BYTES: Final = 1024  # what one counts as
MAX_REMEMBERED: Final = 4096
MAX_REMEMBERED_BYTES: Final = 512  # of a frame; longer ones are rarely like another
_LEFT_OUT: Final = ("run", "schema_version", "request", "response")
_CORRELATION_ID: Final = slice(4, 8)  # of a request; of an answer it is what comes first


class BriefJournal(NamedTuple):
    """A stretch of the journal in brief lines.

    `first_seq` is the oldest entry that is still known, `next_seq` the number that the next entry will have.
    `next` is the `since` that goes on after these lines, `previous` the `before` that goes on before them; null where
    nothing more is known.
    """

    lines: list[dict[str, Any]]
    first_seq: int
    next_seq: int
    next: int | None
    previous: int | None

    def as_json(self) -> dict[str, Any]:
        """The same as data for JSON; the lines are that already."""
        return self._asdict()


class BriefFilter(NamedTuple):
    """The lines that are meant; None is any. `kinds` are those of docs/reference/journal-schema.md."""

    kinds: frozenset[str] | None = None
    group: str | None = None

    @classmethod
    def of(cls, kind: str | None, group: str | None) -> "BriefFilter":
        """`kind` may be several, as "transition|offset_expired". Raises UnknownThing for one that does not exist."""
        if kind is None:
            return cls(None, group)
        names = [name.strip() for name in kind.split("|")]
        for name in names:
            check_one_of("kind", name, sorted(KINDS), WHERE_KINDS, UnknownThing)
        return cls(frozenset(names), group)

    @property
    def only_events(self) -> bool:
        """Whether no request is meant."""
        return self.kinds is not None and "request" not in self.kinds

    def matches(self, line: Row) -> bool:
        """Whether a brief line is meant."""
        return (self.kinds is None or line["kind"] in self.kinds) and (
            self.group is None or self.group == line.get("group") or self.group in line.get("groups", ())
        )


class BriefLines:
    """Makes brief lines. It remembers at most MAX_REMEMBERED requests and as many answers."""

    def __init__(self) -> None:
        self._subjects: dict[tuple[bytes, ...], tuple[list[str], list[str]]] = {}
        self._errors: dict[tuple[int, int, bytes], list[str]] = {}
        self._texts: dict[tuple[Any, ...], str] = {}

    def of(self, entries: Iterable[Exchange | Recorded[Event]]) -> list[Row]:
        """The brief lines of entries, in their order."""
        lines: list[Row] = []
        for entry in entries:
            if isinstance(entry, Exchange):
                lines.append(self._request(entry))
            else:
                lines += _event(entry)
        return lines

    def _request(self, exchange: Exchange) -> Row:
        peer, header = exchange.peer, exchange.header
        groups, topics = self._subjects_of(exchange)
        return {
            "seq": exchange.seq,
            "part": 0,
            "kind": "request",
            "wall_ms": exchange.answered.wall_ms,
            "mono_ms": exchange.answered.mono_ms,
            "node": peer.node_id,
            "connection": peer.connection_id,
            "client": header.client_id,
            "api": exchange.api,
            "api_key": header.api_key,
            "version": header.api_version,
            "correlation_id": header.correlation_id,
            "groups": groups,
            "topics": topics,
            "errors": self._errors_of(exchange),
            "is_answered": exchange.is_answered,
            "waited_ms": exchange.waited_ms,
            "received_wall_ms": exchange.received.wall_ms,
            "received_mono_ms": exchange.received.mono_ms,
            "request_bytes": size_bytes(exchange.request_frame),
            "response_bytes": size_bytes(exchange.response_frame),
            "text": self._text_of(exchange),
        }

    def _text_of(self, exchange: Exchange) -> str:
        """The request and its outcome in words, as in the story of a failed test; without the wait."""
        request, response = exchange.request_frame, exchange.response_frame
        if isinstance(request, Frame) or isinstance(response, Frame) or exchange.peer.overlays:
            return printable(said_text(exchange), LINE_CHARACTERS)
        if len(request) + len(response or b"") > MAX_REMEMBERED_BYTES:
            return printable(said_text(exchange), LINE_CHARACTERS)
        key = request[: _CORRELATION_ID.start], request[_CORRELATION_ID.stop :], response and response[4:]
        found = self._texts.get(key)
        if found is None:
            found = printable(said_text(exchange), LINE_CHARACTERS)
            _remember(self._texts, key, found)
        return found

    def _subjects_of(self, exchange: Exchange) -> tuple[list[str], list[str]]:
        """The groups and topics that a request names."""
        frame = exchange.request_frame
        if isinstance(frame, Frame) or len(frame) > MAX_REMEMBERED_BYTES or exchange.peer.overlays:
            return list(exchange.group_ids), list(exchange.topics)
        key = (frame[: _CORRELATION_ID.start], frame[_CORRELATION_ID.stop :])
        found = self._subjects.get(key)
        if found is None:
            found = list(exchange.group_ids), list(exchange.topics)
            _remember(self._subjects, key, found)
        return found

    def _errors_of(self, exchange: Exchange) -> list[str]:
        """The names of the errors in an answer."""
        frame = exchange.response_frame
        if frame is None or isinstance(frame, Frame):
            return []
        if len(frame) > MAX_REMEMBERED_BYTES or exchange.peer.overlays:
            return list(exchange.error_names)
        key = exchange.header.api_key, exchange.version, frame[_CORRELATION_ID.stop - _CORRELATION_ID.start :]
        found = self._errors.get(key)
        if found is None:
            found = list(exchange.error_names)
            _remember(self._errors, key, found)
        return found


class _Stretch:
    """The entries from `since` on or in front of `before`, of which some have their lines already."""

    def __init__(self, journal: Journal, since: int, before: int | None) -> None:
        first, end = self._first, self._end = journal.forgotten, journal.next_seq
        self._is_forwards = before is None
        begin = self._begin = min(max(since if before is None else before, first), end)
        forwards, backwards = range(begin, min(begin + MAX_SCANNED, end)), range(begin - 1, first - 1, -1)
        self._seqs = forwards if before is None else backwards[:MAX_SCANNED]
        self._kept = journal.kept(min(self._seqs, default=end))
        self._last = self._seqs[-1] if self._seqs else begin - self._is_forwards
        self._lines: list[list[Row]] = []

    def lines_in_steps(
        self, brief: BriefLines, limit: int, wanted: BriefFilter, pace: Pace
    ) -> Generator[None, None, None]:
        """Make `limit` lines, if there are so many."""
        count, end = 0, self._last
        for entry in self._kept.of(self._seqs, only_events=wanted.only_events):
            lines = [_shortened(line) for line in brief.of([entry]) if wanted.matches(line)]
            self._lines.append(lines)
            count += len(lines)
            self._last = entry.seq
            if count >= limit:
                return
            if pace.is_over(_size_bytes(entry)):
                yield
        self._last = end

    def found(self) -> BriefJournal:
        """The lines that are made, and where it goes on."""
        in_order = self._lines if self._is_forwards else self._lines[::-1]
        low, high = (self._begin, self._last + 1) if self._is_forwards else (min(self._last, self._begin), self._begin)
        return BriefJournal(
            [line for lines in in_order for line in lines], self._first, self._end,
            high if high < self._end else None, low if low > self._first else None,
        )  # fmt: skip


def stretch(
    journal: Journal, brief: BriefLines, since: int, before: int | None, limit: int, wanted: BriefFilter
) -> BriefJournal:
    """The brief lines of a stretch, from `since` on or in front of `before`; see `JournalHandle.brief`.

    It ends with the entry by which there are `limit` lines, and after MAX_SCANNED entries however few were found: no
    other client is served in the meantime. Call it on the thread that owns the engine.
    """
    return finished(stretch_in_steps(journal, brief, since, before, limit, wanted, AT_ONCE))


def stretch_in_steps(
    journal: Journal, brief: BriefLines, since: int, before: int | None, limit: int, wanted: BriefFilter, pace: Pace
) -> Generator[None, None, BriefJournal]:
    """The same in steps of BYTES_PER_STEP, the units of `pace`; all of it is of the journal as it was at the first."""
    found = _Stretch(journal, since, before)
    yield from found.lines_in_steps(brief, limit, wanted, pace)
    return found.found()


def step_of_stretch(journal: Journal, brief: BriefLines, since: int, limit: int, pace: Pace) -> BriefJournal:
    """The first step alone: fewer lines if there is more to do for them."""
    found = _Stretch(journal, since, None)
    next(found.lines_in_steps(brief, limit, BriefFilter(), pace), None)
    return found.found()


def check_stretch(since: int, before: int | None, limit: int) -> None:
    """Raises InvalidArgument for what is no stretch of the journal."""
    check_whole("since", since, 0)
    check_whole("limit", limit, 1)
    if limit > MAX_LINES:
        raise InvalidArgument("limit", limit, f"limit is {limit}; it must be 1 to {MAX_LINES}")
    if before is not None:
        check_whole("before", before, 0)
        if since:
            raise InvalidArgument("before", before, "`since` and `before` are mutually exclusive")


def brief_rows(rows: Iterable[Row]) -> list[Row]:
    """The brief lines of the lines of a saved journal, which are of one run and in order."""
    lines: list[Row] = []
    for _, entry in groupby(rows, key=itemgetter("seq")):
        parts = list(entry)
        if parts[0]["kind"] == "request":
            lines.append(_shortened(_without_bodies(parts[0])) | {"text": _saved_text(parts[0])})
        else:
            added = {"text": row_text(parts[0]), "parts": len(parts)}
            lines += [_shortened(_without_bodies(row)) | added for row in parts[:MAX_PARTS]]
    return lines


def _saved_text(row: Row) -> str:
    """What a saved request says. Topics that it names by id have their names in the line."""
    (exchange,) = entries_of([row])
    assert isinstance(exchange, Exchange)
    names = dict(zip(exchange.topics, row["topics"], strict=False))
    exchange._topic_name = lambda topic_id: names.get(uuid_to_text(topic_id))
    return printable(said_text(exchange), LINE_CHARACTERS)


def _event(recorded: Recorded[Event]) -> list[Row]:
    event: Any = recorded.event
    added = {"text": event_text(event), "parts": event.parts if hasattr(event, "each") else 1}
    if isinstance(event, CoordinatorRecords):
        recorded = recorded._replace(event=event._replace(records=[*map(_cut_off, event.records[:MAX_PARTS])]))
    return [_without_bodies(row) | added for row in islice(rows_of(recorded, ""), MAX_PARTS)]


def _cut_off(record: Any) -> Any:
    """A record of a group with the first names of its long lists: to make all of them data for JSON takes long."""
    if record.value is None:
        return record
    value = copy(record.value)
    for name in [spec.name for spec in type(value).fields]:
        if isinstance(names := getattr(value, name), list):
            setattr(value, name, names[:MAX_NAMES])
    return record._replace(value=value)


def _size_bytes(entry: Exchange | Recorded[Event]) -> int:
    """How much there is to read, to know when a step is over."""
    if isinstance(entry, Exchange):
        return len(kept_of(entry.request_frame)) + len(kept_of(entry.response_frame or b""))
    return EVENT_BYTES


def _shortened(line: Row) -> Row:
    """A line without what comes after the first names of long lists."""
    return {name: _first(value) if isinstance(value, list | dict) else value for name, value in line.items()}


def _first(value: Any) -> Any:
    if isinstance(value, dict):
        return _shortened(value)
    return [_first(each) for each in value[:MAX_NAMES]] if isinstance(value, list) else value


def _without_bodies(row: Row) -> Row:
    return {name: value for name, value in row.items() if name not in _LEFT_OUT}


def _remember(known: dict[Any, Any], key: object, found: object) -> None:
    """What is remembered is forgotten all at once when it is too much: it comes back as fast as it is needed."""
    if len(known) >= MAX_REMEMBERED:
        known.clear()
    known[key] = found

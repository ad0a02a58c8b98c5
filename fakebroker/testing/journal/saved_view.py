"""A saved journal as a page asks for it: stretches in brief lines, and one entry in full."""

from collections.abc import Iterator, Sequence
from typing import Any

from fakebroker.protocol.errors import ErrorCode, UnknownThing
from fakebroker.testing.explanations.rule_texts import rules_of_error
from fakebroker.testing.explanations.wording import step_of
from fakebroker.testing.journal.brief import BriefFilter, BriefJournal, brief_rows, check_stretch
from fakebroker.testing.journal.lines import row_text
from fakebroker.testing.journal.rows import Row

MAX_LINES = 500  # of one entry
MAX_EVENTS = 50
_OF_ALL = ("clock_moved", "coordinator_moved", "node_changed")


class SavedView:
    """The lines of one run, in order. It reads them once and keeps their brief form."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._entries: dict[int, list[Row]] = {}
        for row in rows:
            self._entries.setdefault(row["seq"], []).append(row)
        self._brief = brief_rows(rows)
        self.run: str = rows[0]["run"] if rows else "empty"
        self.first_seq: int = rows[0]["seq"] if rows else 0
        self.next_seq: int = rows[-1]["seq"] + 1 if rows else 0
        self.last_wall_ms: int = rows[-1]["wall_ms"] if rows else 0
        self.last_mono_ms: int = rows[-1]["mono_ms"] if rows else 0

    @property
    def started(self) -> Row:
        """The line that says what broker it was, empty if it is not among them."""
        return next((line for line in self._brief if line["kind"] == "broker_started"), {})

    @property
    def nodes(self) -> list[int]:
        """The nodes that lines name."""
        return sorted({line["node"] for line in self._brief if line["node"] is not None})

    def brief(
        self,
        since: int = 0,
        before: int | None = None,
        limit: int = 500,
        kind: str | None = None,
        group: str | None = None,
    ) -> BriefJournal:
        """As `JournalHandle.brief`."""
        check_stretch(since, before, limit)
        wanted = BriefFilter.of(kind, group)
        matching = [line for line in self._brief if wanted.matches(line)]
        if before is None:
            found = _whole([line for line in matching if line["seq"] >= since], limit)
            following = found[-1]["seq"] + 1 if found else self.next_seq
            return self._stretch(found, max(since, self.first_seq), following if len(found) >= limit else self.next_seq)
        found = _whole([line for line in matching if line["seq"] < before][::-1], limit)[::-1]
        return self._stretch(found, found[0]["seq"] if len(found) >= limit else self.first_seq, before)

    def _stretch(self, lines: list[Row], low: int, high: int) -> BriefJournal:
        following = high if high < self.next_seq else None
        return BriefJournal(lines, self.first_seq, self.next_seq, following, low if low > self.first_seq else None)

    def entry(self, seq: int) -> dict[str, Any]:
        """As the EntryView of `JournalHandle.entry`. Raises UnknownThing for a number that no line has."""
        lines = self._entries.get(seq)
        if lines is None:
            raise UnknownThing("seq", seq, f"this journal has no entry {seq}")
        first = lines[0]
        is_request = first["kind"] == "request"
        return {
            "seq": seq,
            "lines": lines[:MAX_LINES],
            "text": row_text(first),
            "errors": [_error(first["api"], name) for name in first["errors"]] if is_request else [],
            "faults": [_fault(row) for row in self._meanwhile(first) if _is_hit(row, first)] if is_request else [],
            "events": [_event(row) for row in self._meanwhile(first) if _concerns(row, first)][-MAX_EVENTS:]
            if is_request
            else [],
        }

    def _meanwhile(self, request: Row) -> Iterator[Row]:
        """The first lines of the events between a request's arrival and its answer, oldest first."""
        found = []
        for seq in range(request["seq"] - 1, self.first_seq - 1, -1):
            lines = self._entries.get(seq)
            if lines is None or lines[0]["kind"] == "request":
                continue
            if lines[0]["mono_ms"] < request["received_mono_ms"]:
                break
            found.append(lines[0])
        return reversed(found)


def _whole(lines: list[Row], limit: int) -> list[Row]:
    """The first lines of a list, and those that belong to the last one's entry."""
    while limit < len(lines) and lines[limit]["seq"] == lines[limit - 1]["seq"]:
        limit += 1
    return lines[:limit]


def _error(api: str, name: str) -> dict[str, Any]:
    code = ErrorCode[name].value if name in ErrorCode.__members__ else None
    rules = [rule._asdict() for rule in rules_of_error(api, name)]
    return {"error": name, "code": code, "places": [], "step": step_of(api, name), "rules": rules}


def _is_hit(row: Row, request: Row) -> bool:
    who = ("connection", "correlation_id")
    return row["kind"] == "fault_hit" and all(row[name] == request[name] for name in who)


def _fault(row: Row) -> dict[str, Any]:
    return {"seq": row["seq"], "fault_id": row["fault_id"], "description": row["description"]}


def _concerns(row: Row, request: Row) -> bool:
    """Whether an event is about the request's groups, or the whole broker."""
    return row["kind"] in _OF_ALL or row.get("group") in request["groups"]


def _event(row: Row) -> dict[str, Any]:
    return {"seq": row["seq"], "kind": row["kind"], "text": row_text(row)}

"""Offsets that a group committed in transactions: which requests there were in a window, and how each one ended."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from fakebroker.analysis.history.compile.happened import Commit, Ended, Pending, position_of
from fakebroker.analysis.pipeline.contract import Row
from fakebroker.analysis.pipeline.tables.transactions import DECIDED, ended_by_reason
from fakebroker.protocol.json_text import parse_json

_MARKERS = ("commit", "abort")


def transaction_events(tables: Mapping[str, Sequence[Row]], start_ms: int) -> list[Pending | Ended]:
    """The commits of transactions from `start_ms` on, and the ends of these transactions, in their order."""
    rows = [row for row in tables.get("commits", ()) if is_played(row, start_ms)]
    names = _Names(tables)
    found: list[Pending | Ended] = [_pending(row, names.of(row)) for row in rows]
    known = {each.transactional_id for each in found if isinstance(each, Pending)}
    found += [each for each in _ends(tables, names) if each.transactional_id in known]
    return list(_paired(sorted(found, key=lambda each: each.position)))


def is_played(row: Row, start_ms: int) -> bool:
    """Whether a row of `commits` is of a transaction that is played: those from before the window are not."""
    at_ms = row["at"]
    return bool(
        row["transactional"] and row["committed_offset"] is not None and at_ms is not None and at_ms >= start_ms
    )


def _pending(row: Row, transactional_id: str) -> Pending:
    commit = Commit(
        position_of(row), row["at"], row["topic"], row["partition"], row["committed_offset"], row["metadata"] or "",
        None, row.get("member_id"),
    )  # fmt: skip
    return Pending(position_of(row), row["at"], transactional_id, commit)


def _paired(events: Iterable[Pending | Ended]) -> Iterator[Pending | Ended]:
    """The same; the end of a transaction has what takes effect with it. One that ended nothing is left out."""
    waiting: dict[str, list[Commit]] = {}
    for each in events:
        if isinstance(each, Pending):
            waiting.setdefault(each.transactional_id, []).append(each.commit)
            yield each
        elif commits := waiting.pop(each.transactional_id, None):
            yield each._replace(commits=tuple(commits) if each.is_commit else ())


def _ends(tables: Mapping[str, Sequence[Row]], names: "_Names") -> Iterator[Ended]:
    """The markers in the group's log, or what a journal tells of transactions."""
    for row in tables.get("coordinator_records", ()):
        if row["kind"] in _MARKERS:
            transactional_id, ended_by = names.of(row), names.ended_by(row)
            yield Ended(position_of(row), row["at"], transactional_id, row["kind"] == "commit", ended_by)
    for row in tables.get("events", ()):
        if row["kind"] == "transaction_transition" and (outcome := DECIDED.get(row["after"])):
            by = ended_by_reason(row["reason"])
            yield Ended(position_of(row), row["wall_ms"], row["transactional_id"], outcome == "committed", by)


class _Names:
    """Which transactional id a row belongs to: a log has producer ids, and so have the lines of commits."""

    def __init__(self, tables: Mapping[str, Sequence[Row]]) -> None:
        self._of_requests = dict(_requests(tables.get("events", ())))
        self._transactions = [row for row in tables.get("transactions", ()) if row["log_offset"] is not None]

    def of(self, row: Row) -> str:
        """The transactional id; a name made of the producer id if `__transaction_state` is not there to tell it."""
        if row.get("log_offset") is None:
            return self._of_requests.get(position_of(row)[0], "unknown")
        of_producer = [each for each in self._transactions if each["producer_id"] == row["producer_id"]]
        return str(of_producer[0]["transactional_id"]) if of_producer else f"producer-{row['producer_id']}"

    def ended_by(self, row: Row) -> str | None:
        """Who ended the transaction of a marker, as far as it is known."""
        at_ms = row["at"]
        ended = [
            each
            for each in self._transactions
            if each["producer_id"] == row["producer_id"]
            and each["decided_at"] is not None
            and each["decided_at"] <= at_ms
        ]
        return max(ended, key=lambda each: each["decided_at"])["ended_by"] if ended else None


def _requests(events: Iterable[Row]) -> Iterator[tuple[int, str]]:
    """The transactional ids of TxnOffsetCommit requests, by their entries in a journal."""
    for row in events:
        if row.get("api") == "TxnOffsetCommit" and (request := _message_of(row["request"])):
            yield row["seq"], str(request["TransactionalId"])


def _message_of(text: object) -> Row:
    """A decoded message of a journal's line: an object, or its JSON text."""
    found = parse_json(text) if isinstance(text, str) else text
    return found if isinstance(found, dict) else {}

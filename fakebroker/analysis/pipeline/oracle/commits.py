"""The table `commits` in plain Python."""

from typing import Any

from fakebroker.analysis.history.distinct import distinct_rows
from fakebroker.analysis.history.transactions import Outcome, outcomes_of
from fakebroker.analysis.pipeline.contract import time_or_none
from fakebroker.analysis.pipeline.tables.commits import TABLE

Row = dict[str, Any]


def commits(decoded: list[Row], events: list[Row]) -> list[Row]:
    """A row for each offset commit of the logs, with the outcome of its transaction, and for each one of the journals.

    Args:
        decoded: Rows of `decoded`, in any order, records in several files included.
        events: Rows of `events`; those that are not `offset_committed` do not matter.
    """
    rows, _ = distinct_rows(decoded)
    journalled = [_from_journal(event) for event in events if event["kind"] == "offset_committed"]
    return [_from_log(row, outcome) for row, outcome in outcomes_of(rows)] + journalled


def _from_log(row: Row, outcome: Outcome) -> Row:
    return {name: row.get(name) for name in TABLE.column_names} | outcome._asdict()


def _from_journal(event: Row) -> Row:
    """A commit without metadata has the empty text, as in the log. A journal does not tell how transactions end."""
    return dict.fromkeys(TABLE.column_names) | {
        "group_id": event["group"],
        "topic": event["topic"],
        "partition": event["partition"],
        "committed_offset": event["offset"],
        "leader_epoch": event["leader_epoch"],
        "metadata": event["metadata"] or "",
        "committed_at": time_or_none(event["committed_ms"]),
        "expires_at": time_or_none(event["expire_ms"]),
        "transactional": event["transactional"],
        "outcome": "open" if event["transactional"] else "committed",
        "at": event["wall_ms"],
        "applied_at": None if event["transactional"] else event["wall_ms"],
        "member_id": event["member_id"],
        "generation": event["generation"],
        "source": event["run"],
        "seq": event["seq"],
        "part": event["part"],
    }

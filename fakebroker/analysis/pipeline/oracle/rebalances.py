"""The table `rebalances` in plain Python."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from fakebroker.analysis.pipeline.causes import UNKNOWN, cause_of
from fakebroker.analysis.pipeline.tables.rebalances import TABLE

Row = dict[str, Any]

ENDS = ("Stable", "Empty", "Dead")
_ORIGIN = ("source", "log_partition", "log_offset", "seq", "part")


def rebalances(group_states: Iterable[Row]) -> list[Row]:
    """A row for each rebalance of each group, in the order in which they began.

    From a journal: from the span of PreparingRebalance to the first one that is Stable, Empty or Dead. From a log: each
    record with another generation than the one before.
    """
    spans = sorted(group_states, key=_place)
    found: list[Row] = []
    for _, group in groupby(spans, key=lambda row: (row["source"], row["group_id"])):
        rows = list(group)
        found += _of_journal(rows) if rows[0]["log_offset"] is None else _of_log(rows)
    return [{name: row[name] for name in TABLE.column_names} for row in found]


def _place(row: Row) -> tuple[Any, ...]:
    return row["source"], row["group_id"], row["log_offset"] or 0, row["seq"] or 0, row["part"] or 0


def _of_journal(rows: list[Row]) -> Iterator[Row]:
    began: Row | None = None
    before: Row | None = None
    for row in rows:
        if began is None and row["state"] == "PreparingRebalance":
            began = _begun(row, before)
        elif began is not None and row["state"] in ENDS:
            yield _ended(began, row)
            began = None
        before = row
    if began is not None:
        yield began


def _begun(row: Row, before: Row | None) -> Row:
    cause = cause_of(row["reason"] or "")
    return {
        **{name: row[name] for name in ("group_id", "began_at", "reason", *_ORIGIN)},
        "ended_at": None,
        "duration_ms": None,
        **cause._asdict(),
        "generation_before": row["generation"],
        "generation": None,
        "result": "unfinished",
        "members_before": before["members"] if before else None,
        "members": None,
    }


def _ended(began: Row, row: Row) -> Row:
    if row["state"] == "Dead":
        return began | {"result": "Dead"}
    took_ms = row["began_at"] - began["began_at"]
    return began | {
        "ended_at": row["began_at"],
        "duration_ms": took_ms if took_ms >= 0 else None,
        "generation": row["generation"],
        "result": row["state"],
        "members": row["members"],
    }


def _of_log(rows: list[Row]) -> Iterator[Row]:
    before: Row | None = None
    for row in rows:
        if row["state"] in ("Stable", "Empty") and row["generation"] and _differs(row, before):
            yield {
                **{name: row[name] for name in ("group_id", "began_at", "generation", "members", *_ORIGIN)},
                "ended_at": row["began_at"],
                "duration_ms": None,
                "cause": UNKNOWN,
                "trigger": None,
                "reason": None,
                "generation_before": before["generation"] if before else None,
                "result": row["state"],
                "members_before": before["members"] if before else None,
            }
        before = row


def _differs(row: Row, before: Row | None) -> bool:
    return before is None or before["generation"] != row["generation"]

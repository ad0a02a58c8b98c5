"""The rebalances of groups, from the spans of their states."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from fakebroker.analysis.pipeline.causes import UNKNOWN, cause_of

Row = dict[str, Any]

ENDS = ("Stable", "Empty", "Dead")
_ORIGIN = ("source", "log_partition", "log_offset", "seq", "part")


def rebalance_rows(spans: Iterable[Row]) -> Iterator[Row]:
    """A row for each rebalance of each group. `spans` are sorted by group, and of a group by their place.

    From a journal: from the span of PreparingRebalance to the first one that is Stable, Empty or Dead. From a log: each
    record with another generation than the one before.
    """
    for (*_, is_journal), rows in groupby(spans, key=_group_of):
        made = _of_journal if is_journal else _of_log
        yield from made(rows)


def _group_of(row: Row) -> tuple[str, str, bool]:
    return row["source"], row["group_id"], row["log_offset"] is None


def _of_journal(rows: Iterable[Row]) -> Iterator[Row]:
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


def _of_log(rows: Iterable[Row]) -> Iterator[Row]:
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

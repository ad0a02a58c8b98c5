"""Committed offsets that the broker dropped."""

from collections.abc import Iterable
from typing import Any

from fakebroker.analysis.pipeline.contract import time_or_none

Row = dict[str, Any]


def expiries(events: Iterable[Row]) -> list[Row]:
    """The table `expiries`, in the order of the journals."""
    found = [row for row in events if row["kind"] == "offset_expired"]
    return [_expiry(row) for row in sorted(found, key=lambda row: (row["run"], row["seq"], row["part"]))]


def _expiry(row: Row) -> Row:
    return {
        "source": row["run"],
        "seq": row["seq"],
        "part": row["part"],
        "group_id": row["group"],
        "topic": row["topic"],
        "partition": row["partition"],
        "committed_offset": row["offset"],
        "committed_at": time_or_none(row["committed_ms"]),
        "due_at": time_or_none(row["due_ms"]),
        "expired_at": row["wall_ms"],
        "rule": row["rule"],
    }

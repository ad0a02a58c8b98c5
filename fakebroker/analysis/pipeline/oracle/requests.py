"""Requests of clients."""

from collections.abc import Iterable
from typing import Any

Row = dict[str, Any]

_AS_WRITTEN = (
    "seq", "part", "waited_ms", "node", "connection", "api", "api_key", "version", "groups", "topics", "errors",
    "is_answered", "request_bytes", "response_bytes",
)  # fmt: skip


def requests(events: Iterable[Row]) -> list[Row]:
    """The table `requests`, in the order of the journals."""
    found = [row for row in events if row["kind"] == "request"]
    return [_request(row) for row in sorted(found, key=lambda row: (row["run"], row["seq"], row["part"]))]


def _request(row: Row) -> Row:
    return {
        "source": row["run"],
        "received_at": row["received_wall_ms"],
        "answered_at": row["wall_ms"],
        "client_id": row["client"],
        **{name: row[name] for name in _AS_WRITTEN},
    }

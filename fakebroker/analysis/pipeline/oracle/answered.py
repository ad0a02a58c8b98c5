"""Requests of journals that were answered without an error, and where rows made of them come from."""

from collections.abc import Iterable, Iterator
from typing import Any

Row = dict[str, Any]


def answered_well(events: Iterable[Row], api: str) -> Iterator[Row]:
    """The `request` lines of an API whose answer has no error, by run and place in the journal."""
    for row in sorted(events, key=lambda row: (row["run"], row["seq"], row["part"])):
        if row["kind"] == "request" and row["api"] == api and row["errors"] == []:
            yield row


def origin_of(row: Row) -> Row:
    """When a line was written and which line it is, as columns of a silver table."""
    return {
        "at": row["wall_ms"],
        "source": row["run"],
        "log_partition": None,
        "log_offset": None,
        "seq": row["seq"],
        "part": row["part"],
    }

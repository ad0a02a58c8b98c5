"""Where the logs of topics ended, and when."""

from collections.abc import Iterable
from typing import Any

Row = dict[str, Any]

_SAME_APPEND = ("run", "topic", "partition", "base_offset", "records", "size_bytes", "client")


def log_ends(events: Iterable[Row], live_ends: Iterable[Row] = ()) -> list[Row]:
    """The table `log_ends`: after each append of a journal, and what live brokers were asked.

    A producer that tries again is answered with the offset that its records have already: of lines for the same
    records only the first counts.
    """
    appended = [row for row in events if row["kind"] == "records_appended"]
    first: dict[tuple[Any, ...], Row] = {}
    for row in sorted(appended, key=lambda row: (row["run"], row["seq"], row["part"])):
        first.setdefault(tuple(row[name] for name in _SAME_APPEND), row)
    return [*map(_end, first.values()), *live_ends]


def _end(row: Row) -> Row:
    return {
        "source": row["run"],
        "topic": row["topic"],
        "partition": row["partition"],
        "log_start_offset": None,
        "log_end_offset": row["base_offset"] + row["records"],
        "at": row["wall_ms"],
        "seq": row["seq"],
        "part": row["part"],
    }

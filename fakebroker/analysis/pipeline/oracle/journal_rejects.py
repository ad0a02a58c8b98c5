"""Lines of journals that cannot be read, or that contradict another line."""

from collections.abc import Iterable
from typing import Any

from fakebroker.analysis.pipeline.oracle.events import first_of_each, key_of
from fakebroker.analysis.pipeline.tables.events import TABLE

Row = dict[str, Any]

CONTRADICTION = "another line with this run, seq and part has different content"

_CONTENT = tuple(name for name in TABLE.column_names if name not in ("file", "line"))


def journal_rejects(journal_lines: Iterable[Row], events: Iterable[Row] = ()) -> list[Row]:
    """The rows of the table `rejects` that journals give, in the order of files and lines.

    A line with the (run, seq, part) of an event, but another content, is one of them; one that is the same is none.
    `events` are those that are known from before.
    """
    rows = list(journal_lines)
    first = {key: _content(row) for key, row in first_of_each(rows).items()}
    first.update((key_of(row), _content(row)) for row in events)
    found = []
    for row in rows:
        if row["reject_reason"] is not None:
            found.append(_reject(row, row["reject_reason"], row["reject_sample"]))
        elif _content(row) != first[key_of(row)]:
            found.append(_reject(row, CONTRADICTION, f"{row['kind']} {row['seq']}.{row['part']}"))
    unique = {(row["source"], row["file"], row["position"], row["reason"]): row for row in found}
    return sorted(unique.values(), key=lambda row: (row["file"], row["position"], row["reason"]))


def _reject(row: Row, reason: str, sample: str | None) -> Row:
    return {
        "source": row["file"] if row["run"] is None else row["run"],
        "file": row["file"],
        "position": row["line"],
        "log_partition": None,
        "log_offset": None,
        "reason": reason,
        "sample": sample,
    }


def _content(row: Row) -> tuple[Any, ...]:
    values = (row[name] for name in _CONTENT)
    return tuple(tuple(value) if isinstance(value, list) else value for value in values)

"""Records that were read more than once count once; two different records at one offset count not at all.

A log is often in several files: a segment and a copy of it, a sink's file that was written again after a restart. What
stands at an offset of a partition never changes, so rows that say the same are one. If they say different things, the
files are not of one log (of two clusters, or of a topic that was deleted and made again), and nobody can tell which of
them is right: all become rejects. A name for each cluster (`--source`) keeps them apart.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from fakebroker.analysis.history.decode import Row
from fakebroker.analysis.history.log_record import Reject, sample_of

CONTENT: Final = (
    "what",
    "record_type",
    "kind",
    "value_version",
    "group_id",
    "key",
    "value",
    "topic",
    "partition",
    "committed_offset",
    "leader_epoch",
    "metadata",
    "committed_at",
    "expires_at",
    "topic_id",
)
"""The columns of `decoded` that say what stands in a record. Two rows of one record have them alike; what only some
readers know (the producer, whether it was in a transaction, the timestamp) may be missing in one of them."""

RecordPosition = tuple[str, int, int]


def distinct_rows(rows: Iterable[Row]) -> tuple[list[Row], list[Reject]]:
    """The rows of records, each once, and a reject for each row of an offset at which different things stand.

    Rejects among `rows` are left out. Of several rows of one record the one that knows most stays: first a row of a
    transaction, then one with a timestamp, then the first by file and position.
    """
    found: dict[RecordPosition, Row | list[Row]] = {}
    for row in rows:
        if row["what"] == "reject":
            continue
        place = (row["source"], row["log_partition"], row["log_offset"])
        if place not in found:
            found[place] = row
        elif isinstance(before := found[place], list):
            before.append(row)
        else:
            found[place] = [before, row]
    kept: list[Row] = []
    rejects: list[Reject] = []
    for one in found.values():
        if isinstance(one, dict):
            kept.append(one)
        elif len({_content(row) for row in one}) == 1:
            kept.append(min(one, key=_how_little_it_knows))
        else:
            rejects += _conflicts(one)
    return kept, rejects


def _content(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in CONTENT)


def _how_little_it_knows(row: Row) -> tuple[bool, bool, str, int]:
    return row["producer_id"] is None, row["at"] is None, row["file"], row["position"]


def _conflicts(rows: list[Row]) -> Iterator[Reject]:
    for row in rows:
        yield Reject(
            row["source"],
            row["file"],
            row["position"],
            row["log_partition"],
            row["log_offset"],
            "another file has a different record at this offset: the files are not from one log",
            sample_of(f"{row['kind'] or 'OffsetCommit'} of group {row['group_id']}"),
        )

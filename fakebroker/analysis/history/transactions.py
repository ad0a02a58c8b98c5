"""Which transactions were committed: offsets committed in one take effect with its marker, or never (KIP-98).

A marker stands in the same partition of the log, after the transaction's records, and names the producer. Its epoch may
be above that of the records: a coordinator that ends a transaction on its own, and each commit with transaction
protocol 2 (KIP-890), raises the epoch first. A marker of an older epoch says nothing about newer records.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

from fakebroker.analysis.history.decode import Row


class Outcome(NamedTuple):
    """How an offset commit ended.

    Attributes:
        outcome: "committed", "aborted", or "open" while no marker has come.
        applied_at: When it took effect, in ms; None if it did not, or the record has no timestamp.
        applied_log_offset: The log offset with which it took effect; None if it did not.
    """

    outcome: str
    applied_at: int | None
    applied_log_offset: int | None


OPEN = Outcome("open", None, None)
ABORTED = Outcome("aborted", None, None)


def outcomes_of(rows: Iterable[Row]) -> list[tuple[Row, Outcome]]:
    """Each `commit` row with its outcome, by source, partition and offset of the log.

    Args:
        rows: Distinct rows of `decoded`, in any order; only commits and markers matter.
    """
    decided: list[tuple[Row, Outcome]] = []
    pending: dict[Any, list[int]] = defaultdict(list)  # by log partition and producer: where in `decided`
    for row in sorted((row for row in rows if _matters(row)), key=_place):
        producer = (row["source"], row["log_partition"], row["producer_id"])
        if row["what"] == "record":
            _end(decided, pending[producer], row)
        elif row["transactional"]:
            pending[producer].append(len(decided))
            decided.append((row, OPEN))
        else:
            decided.append((row, Outcome("committed", row["at"], row["log_offset"])))
    return decided


def _end(decided: list[tuple[Row, Outcome]], pending: list[int], marker: Row) -> None:
    """Decide what a producer has pending, and forget it."""
    is_commit = marker["kind"] == "commit"
    outcome = Outcome("committed", marker["at"], marker["log_offset"]) if is_commit else ABORTED
    newer = []
    for index in pending:
        row = decided[index][0]
        if (row["producer_epoch"] or 0) > (marker["producer_epoch"] or 0):
            newer.append(index)
        else:
            decided[index] = row, outcome
    pending[:] = newer


def _matters(row: Row) -> bool:
    if row["what"] == "commit":
        return True
    is_marker = row["what"] == "record" and row["kind"] in ("commit", "abort")
    return is_marker and row["producer_id"] is not None


def _place(row: Row) -> tuple[str, int, int]:
    return row["source"], row["log_partition"], row["log_offset"]

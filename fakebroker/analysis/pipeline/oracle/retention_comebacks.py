"""What a loss would have meant for records: how far the log reached when the group came back."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

Row = dict[str, Any]


def with_comebacks(losses: list[Row], log_ends: Iterable[Row]) -> list[Row]:
    """The losses with `read_again_records` and `skipped_records`, by the log's ends as last known at the return."""
    known: dict[tuple[str, str, int], list[tuple[int, int, int | None]]] = defaultdict(list)
    for row in log_ends:
        place = row["source"], row["topic"], row["partition"]
        known[place].append((row["at"], row["log_end_offset"], row["log_start_offset"]))
    for ends in known.values():
        ends.sort(key=lambda end: (end[0], end[1], -1 if end[2] is None else end[2]))
    return [{**loss, **_records(loss, known[loss["source"], loss["topic"], loss["partition"]])} for loss in losses]


def _records(loss: Row, ends: list[tuple[int, int, int | None]]) -> Row:
    """The end that was known last decides; of several at the same time the highest."""
    back_at, lost = loss["came_back_at"], loss["committed_offset"]
    count = 0 if back_at is None else bisect_right(ends, back_at, key=lambda end: end[0])
    if not count:
        return {"read_again_records": None, "skipped_records": None}
    _, end, start = ends[count - 1]
    if lost < 0:  # clients take it for none, and begin where they would after the loss
        return {"read_again_records": None if start is None else 0, "skipped_records": 0}
    return {
        "read_again_records": None if start is None else max(min(lost, end) - start, 0),
        "skipped_records": max(end - lost, 0),
    }

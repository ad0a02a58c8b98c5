"""The table `lag_minute` in plain Python."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

Row = dict[str, Any]
HistoryPosition = tuple[Any, ...]
"""Where something is in its history: (seq, part) of a journal; the minute, then the log offset, of a log."""

MINUTE_MS = 60_000


class _Change(NamedTuple):
    """The value of something from a place on."""

    place: HistoryPosition
    minute_at: int
    value: int | None


def lag_minute(
    commits: Iterable[Row], log_ends: Iterable[Row], expiries: Iterable[Row], events: Iterable[Row]
) -> list[Row]:
    """How far each group was behind at the end of each minute in which it committed or a partition got records.

    Of each minute the last commit counts, and the last end of the log, by their places. A minute that comes twice,
    because the clock went back, has one row. `events` tell of offsets that were deleted.
    """
    ends: dict[tuple[str, str, int], list[_Change]] = defaultdict(list)
    for row in log_ends:
        change = _change(row, row["at"], 0, row["log_end_offset"])
        ends[row["source"], row["topic"], row["partition"]].append(change)
    found: list[Row] = []
    for (source, group_id, topic, partition), changes in sorted(_committed(commits, expiries, events).items()):
        names = {"source": source, "group_id": group_id, "topic": topic, "partition": partition}
        found += [names | row for row in _minutes(changes, ends.get((source, topic, partition), []))]
    return found


def _committed(
    commits: Iterable[Row], expiries: Iterable[Row], events: Iterable[Row]
) -> dict[tuple[str, str, str, int], list[_Change]]:
    """What each group had committed for each partition, from when on; None once that was gone."""
    found: dict[tuple[str, str, str, int], list[_Change]] = defaultdict(list)
    for row in commits:
        if row["outcome"] == "committed" and row["applied_at"] is not None:
            change = _change(row, row["applied_at"], row["applied_log_offset"], _position(row["committed_offset"]))
            found[row["source"], row["group_id"], row["topic"], row["partition"]].append(change)
    for row in expiries:
        change = _change(row, row["expired_at"], None, None)
        found[row["source"], row["group_id"], row["topic"], row["partition"]].append(change)
    for row in events:
        if row["kind"] == "offset_deleted":
            change = _change(row, row["wall_ms"], None, None)
            found[row["run"], row["group"], row["topic"], row["partition"]].append(change)
    return found


def _position(committed_offset: int | None) -> int | None:
    """A committed offset as clients take it: Kafka stores a negative one, too, and to them it is none."""
    return None if committed_offset is None or committed_offset < 0 else committed_offset


def _change(row: Row, at: int, log_offset: int | None, value: int | None) -> _Change:
    """A change of a journal has its place there; one of a log is placed by its minute and then by its offset."""
    minute = at // MINUTE_MS * MINUTE_MS
    place = (minute, log_offset) if row["seq"] is None else (row["seq"], row["part"])
    return _Change(place, minute, value)


def _last_of_minutes(changes: list[_Change]) -> list[_Change]:
    last: dict[int, _Change] = {}
    for change in sorted(changes, key=lambda change: change.place):
        last[change.minute_at] = change
    return list(last.values())


def _minutes(committed: list[_Change], ends: list[_Change]) -> list[Row]:
    """The rows of one group and partition."""
    own = _last_of_minutes(committed)
    own_minutes = {change.minute_at for change in own}
    steps = [(change, True) for change in own] + [(change, False) for change in _last_of_minutes(ends)]
    offset: int | None = None
    end: int | None = None
    by_minute: dict[int, Row] = {}
    for change, is_commit in sorted(steps, key=lambda step: step[0].place):
        if is_commit:
            offset = change.value
        else:
            end = change.value
        by_minute[change.minute_at] = _row(change.minute_at, offset, end)
    return [
        row for minute, row in sorted(by_minute.items()) if row["committed_offset"] is not None or minute in own_minutes
    ]


def _row(minute_at: int, offset: int | None, end: int | None) -> Row:
    lag = None if offset is None or end is None else end - offset
    return {"minute_at": minute_at, "committed_offset": offset, "log_end_offset": end, "lag": lag}

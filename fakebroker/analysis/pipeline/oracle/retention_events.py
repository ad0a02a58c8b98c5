"""What happened to each group, in the order in which it took effect, and when cleanups were due between."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from fakebroker.analysis.pipeline.oracle.retention_deletions import deletions_of
from fakebroker.analysis.pipeline.tables.retention_losses import WhatifOptions

Row = dict[str, Any]
Key = tuple[str, int]
Group = tuple[str, int, str]  # source, log partition (-1 for a journal), group id
PARTS = 1 << 20  # more lines than an entry of a journal has


class Grid(NamedTuple):
    """The cleanups of one source: at `since_ms` plus 1, 2, ... `last_pass` intervals."""

    since_ms: int
    interval_ms: int
    last_pass: int

    def passes_before(self, at_ms: int) -> int:
        """How many cleanups come before something at `at_ms`; one at the same millisecond does."""
        return (at_ms - self.since_ms) // self.interval_ms

    def first_pass(self, due_ms: int) -> int:
        """The number of the first cleanup at or after `due_ms`."""
        return max(-((self.since_ms - due_ms) // self.interval_ms), 1)

    def time_of(self, number: int) -> int:
        """When a cleanup is."""
        return self.since_ms + number * self.interval_ms


class Event(NamedTuple):
    """Something that happened to a group.

    Attributes:
        kind: "commit", "tombstone", "pending" or "abort" (of a transaction's commit), "state".
        order: Its place: log offset, or entry and part of the journal. Never its time.
        passes: How many cleanups came before it.
        at_ms: When, not before the cleanups that came before it.
        raw_ms: When by its own timestamp.
        key: Topic and partition; ("", -1) for a state.
        row: The row it comes from; of a commit with `own`, the place of its record.
    """

    kind: str
    order: int
    passes: int
    at_ms: int
    raw_ms: int
    key: Key
    row: Row


def place_of(row: Row) -> int:
    """The place of a row within its source and log partition."""
    if row["log_offset"] is not None:
        return int(row["log_offset"])
    return int(row["seq"]) * PARTS + int(row["part"])


def grids_of(commits: Iterable[Row], group_states: Iterable[Row], options: WhatifOptions) -> dict[str, Grid]:
    """The cleanups of each source."""
    times: dict[str, list[int]] = defaultdict(list)
    for row in commits:
        times[row["source"]] += [each for each in (row["at"], row["applied_at"]) if each is not None]
    for row in group_states:
        times[row["source"]] += [row["began_at"]] if row["began_at"] is not None else []
    return {source: _grid(min(known), max(known), options) for source, known in times.items() if known}


def _grid(first_ms: int, last_ms: int, options: WhatifOptions) -> Grid:
    since_ms = first_ms if options.since_ms is None else options.since_ms
    until_ms = last_ms if options.until_ms is None else options.until_ms
    grid = Grid(since_ms, options.check_interval_ms, 0)
    return grid._replace(last_pass=max(grid.passes_before(until_ms), 0))


def group_events(
    commits: list[Row],
    coordinator_records: list[Row],
    group_states: list[Row],
    events: list[Row],
    grids: Mapping[str, Grid],
) -> dict[Group, list[Event]]:
    """What happened to each group that ever committed, in its order."""
    aborts = _aborts(coordinator_records)
    found = [event for row in commits for event in _of_commit(row, aborts)]
    found += [_event("state", place_of(row), row["began_at"], ("", -1), row) for row in group_states]
    found += [
        _event("tombstone", place_of(row), row["at"], (row["topic"], row["partition"]), {**row, "own": place_of(row)})
        for row in deletions_of(commits, events)
    ]
    found += [
        _event("marker", row["log_offset"], row["at"], ("", -1), row)
        for row in coordinator_records
        if row["kind"] == "abort" and row["producer_id"] is not None
    ]
    found.sort(key=lambda event: (event.row["source"], _partition(event.row), event.order, event.kind != "tombstone"))
    by_group: dict[Group, list[Event]] = defaultdict(list)
    for event in _with_passes(found, grids):
        if event.kind != "marker":  # it is here for its time
            by_group[event.row["source"], _partition(event.row), event.row["group_id"]].append(event)
    return dict(by_group)


def _event(kind: str, order: int, at_ms: int | None, key: Key, row: Row) -> Event:
    return Event(kind, order, 0, 0, -(1 << 62) if at_ms is None else at_ms, key, row)


def _partition(row: Row) -> int:
    return -1 if row["log_partition"] is None else int(row["log_partition"])


def _aborts(records: Iterable[Row]) -> dict[tuple[str, int, int], list[tuple[int, int | None]]]:
    """Where transactions of each producer were aborted: log offset and time."""
    found: dict[tuple[str, int, int], list[tuple[int, int | None]]] = defaultdict(list)
    for row in records:
        if row["kind"] == "abort" and row["producer_id"] is not None:
            found[row["source"], _partition(row), row["producer_id"]].append((row["log_offset"], row["at"]))
    for markers in found.values():
        markers.sort()
    return found


def _of_commit(row: Row, aborts: Mapping[tuple[str, int, int], list[tuple[int, int | None]]]) -> list[Event]:
    key, own = (row["topic"], row["partition"]), place_of(row)
    known = {**row, "own": own}
    if row["committed_offset"] is None:
        return [_event("tombstone", own, row["applied_at"], key, known)]
    found = []
    if row["transactional"]:
        found.append(_event("pending", own, row["at"], key, known))
    if row["outcome"] == "committed":
        applied = row["applied_log_offset"]
        found.append(_event("commit", own if applied is None else applied, row["applied_at"], key, known))
    elif row["outcome"] == "aborted":
        markers = aborts.get((row["source"], _partition(row), row["producer_id"]), [])
        ended = next((marker for marker in markers if marker[0] > own), None)
        if ended is not None:
            found.append(_event("abort", ended[0], ended[1], key, known))
    return found


def _with_passes(events: Iterable[Event], grids: Mapping[str, Grid]) -> Iterable[Event]:
    """Events in their order, with the cleanups before each: when the clock goes back, none is taken back."""
    place: tuple[str, int] | None = None
    passes = 0
    for event in events:
        grid = grids.get(event.row["source"])
        if grid is None:
            continue
        here = event.row["source"], _partition(event.row)
        counted = grid.passes_before(event.raw_ms)
        passes = counted if here != place else max(passes, counted)
        place = here
        yield event._replace(passes=passes, at_ms=max(event.raw_ms, grid.time_of(passes)))

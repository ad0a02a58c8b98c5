"""Retention what-if in plain Python: each group is played, cleanup by cleanup, with each retention.

docs/how-to/whatif.md says what is played. This is the definition; the engine Spark must give the same rows.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from fakebroker.analysis.pipeline.expiry_cases import EMPTY, Aging, Due, aging_of, simple_aging
from fakebroker.analysis.pipeline.group_transitions import UNLOADED
from fakebroker.analysis.pipeline.oracle.retention_events import Event, Grid, grids_of, group_events
from fakebroker.analysis.pipeline.tables.retention_losses import WhatifOptions

Row = dict[str, Any]
Key = tuple[str, int]  # topic and partition
LATER = 1 << 62


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


def retention_losses(
    commits: list[Row],
    coordinator_records: list[Row],
    group_states: list[Row],
    events: list[Row],
    log_ends: list[Row],
    *,
    options: WhatifOptions | None = None,
) -> list[Row]:
    """Every offset that is lost with a retention of `options`: see the contract."""
    options = options or WhatifOptions()
    grids = grids_of(commits, group_states, options)
    losses = []
    for group, happened in group_events(commits, coordinator_records, group_states, events, grids).items():
        inputs = list(_Recorded(options).inputs(happened))
        for retention_ms in sorted(set(options.retentions_ms)):
            play = _Play(grids[group[0]], retention_ms, options.policy)
            losses += play.run(inputs)
    return with_comebacks(losses, log_ends)


def state_aging(span: Row | None, policy: str) -> Aging:
    """How offsets age in a state: a row of group_states, None for a group that is not known to have had members."""
    if span is None or span["state"] == "Dead":
        return simple_aging(policy)
    topics = span["subscribed_topics"]
    return aging_of(
        policy,
        span["state"],
        span["protocol_type"],
        None if topics is None else frozenset(topics),
        span["state_at"],
        span["group_type"],
    )


def committed_ms(commit: Row) -> int:
    """When an offset was committed; by its record, if the value has no time that a table can have."""
    known: int = commit["at"] if commit["committed_at"] is None else commit["committed_at"]
    return known


def due_of(aging: Aging, commit: Row, topic: str, retention_ms: int) -> Due:
    """When an offset is due and by which rule; LATER while it does not age."""
    return aging.due(topic, committed_ms(commit), commit["expires_at"], retention_ms) or Due(aging.case.rule, LATER)


class _Recorded:
    """One group as it was recorded: tells what was asked for from what the recorded retention itself did."""

    def __init__(self, options: WhatifOptions) -> None:
        self._options = options
        self._values: dict[Key, Row] = {}
        self._newest: dict[Key, int] = {}  # the place of the newest record of a partition that took effect
        self._pending: dict[Key, set[int]] = defaultdict(set)
        self._span: Row | None = None
        self._deleted_at: set[int] = set()  # when offsets were deleted

    def inputs(self, happened: Iterable[Event]) -> Iterator[Event]:
        """What was asked for. A commit that a newer one of the log overtook only ends its transaction (OC-18)."""
        for event in happened:
            if event.kind == "pending":
                self._pending[event.key].add(event.row["own"])
            elif event.kind in ("commit", "abort"):
                self._pending[event.key].discard(event.row["own"])
            if event.kind == "commit":
                if self._newest.get(event.key, -1) > event.row["own"]:
                    yield event._replace(kind="abort")
                    continue
                self._values[event.key] = event.row
                self._newest[event.key] = event.row["own"]
            elif (event.kind == "tombstone" and self._expired(event)) or (event.kind == "state" and self._ends(event)):
                continue
            yield event

    def _expired(self, event: Event) -> bool:
        """Whether a cleanup wrote the tombstone: the offset was due, and no transaction held it."""
        row = self._values.pop(event.key, None)
        is_held = bool(self._pending[event.key])
        if row is not None and not is_held and event.row["log_offset"] is not None:
            aging = state_aging(self._span, self._options.policy)
            if due_of(aging, row, event.key[0], self._options.recorded_retention_ms).due_ms <= event.at_ms:
                return True
        self._deleted_at.add(event.raw_ms)
        self._newest[event.key] = event.row["own"]
        self._pending[event.key].clear()
        return False

    def _ends(self, event: Event) -> bool:
        """Whether a cleanup, or a move of the coordinator, made the group Dead; else somebody deleted it."""
        before, self._span = self._span, event.row
        if event.row["state"] != "Dead":
            return False
        reason = event.row["reason"]
        if reason is not None:
            if reason.startswith(UNLOADED):
                self._span = before
                return True
            return not reason.endswith("deleted")
        was_empty = before is None or before["state"] in ("Dead", "Empty")
        return was_empty and event.raw_ms not in self._deleted_at


class _Play:
    """One group with one retention."""

    def __init__(self, grid: Grid, retention_ms: int, policy: str) -> None:
        self._grid, self._retention_ms, self._policy = grid, retention_ms, policy
        self._simple = simple_aging(policy)
        self._aging = self._simple
        self._values: dict[Key, Row] = {}
        self._newest: dict[Key, int] = {}  # the order of the newest record of a partition that took effect
        self._pending: dict[Key, set[int]] = defaultdict(set)
        self._passes = 0  # how many there were
        self._losses: list[Row] = []
        self._open: list[Row] = []  # lost, and the group has not come back

    def run(self, inputs: Iterable[Event]) -> list[Row]:
        """The losses, each with `came_back_at`."""
        for event in inputs:
            self._run_passes(min(event.passes, self._grid.last_pass))
            getattr(self, f"_on_{event.kind}")(event)
        self._run_passes(self._grid.last_pass)
        return self._losses

    # -- what happens ------------------------------------------------------------------------------------------------

    def _on_pending(self, event: Event) -> None:
        self._pending[event.key].add(event.row["own"])

    def _on_abort(self, event: Event) -> None:
        self._pending[event.key].discard(event.row["own"])

    def _on_commit(self, event: Event) -> None:
        key, row = event.key, event.row
        self._pending[key].discard(row["own"])
        self._values[key] = row
        self._came_back(lambda loss: (loss["topic"], loss["partition"]) == key, event.at_ms)

    def _on_tombstone(self, event: Event) -> None:
        self._values.pop(event.key, None)
        self._pending[event.key].clear()

    def _on_state(self, event: Event) -> None:
        if event.row["state"] == "Dead":
            self._values.clear()
            self._pending.clear()
        self._aging = state_aging(event.row, self._policy)
        if event.row["state"] in ("Stable", "Assigning", "Reconciling"):
            topics = event.row["subscribed_topics"]
            self._came_back(lambda loss: topics is None or loss["topic"] in topics, event.at_ms)

    def _came_back(self, is_meant: Any, at_ms: int) -> None:
        for loss in self._open:
            if is_meant(loss):
                loss["came_back_at"] = at_ms
        self._open = [loss for loss in self._open if loss["came_back_at"] is None]

    # -- cleanups ----------------------------------------------------------------------------------------------------

    def _run_passes(self, up_to: int) -> None:
        while self._passes < up_to:
            self._remove_group_without_offsets()
            due = [self._due(key).due_ms for key in self._values if not self._pending[key]]
            number = max(self._grid.first_pass(min(due, default=LATER)), self._passes + 1)
            if number > up_to:
                break
            self._passes = number
            self._expire()
            self._remove_group_without_offsets()
        self._passes = max(self._passes, up_to)

    def _due(self, key: Key) -> Due:
        return due_of(self._aging, self._values[key], key[0], self._retention_ms)

    def _expire(self) -> None:
        now_ms = self._grid.time_of(self._passes)
        for key in [each for each in self._values if not self._pending[each]]:
            rule, due_ms = self._due(key)
            if due_ms <= now_ms:
                row = self._values.pop(key)
                loss = {
                    **{name: row[name] for name in ("source", "group_id", "topic", "partition")},
                    "retention_ms": self._retention_ms,
                    "committed_offset": row["committed_offset"],
                    "committed_at": committed_ms(row),
                    **{name: row[name] for name in ("log_partition", "log_offset", "seq", "part")},
                    "due_at": due_ms,
                    "lost_at": now_ms,
                    "rule": rule,
                    "came_back_at": None,
                }
                self._losses.append(loss)
                self._open.append(loss)

    def _remove_group_without_offsets(self) -> None:
        """A cleanup removes an Empty group without offsets (EX-9); who commits to it then makes a simple group."""
        if self._aging.case.counts_from == EMPTY and not self._values and not any(self._pending.values()):
            self._aging = self._simple

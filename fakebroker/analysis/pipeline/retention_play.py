"""Retention what-if: each group is played, cleanup by cleanup, with each retention (docs/how-to/whatif.md)."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from fakebroker.analysis.pipeline.contract import Row
from fakebroker.analysis.pipeline.expiry_cases import EMPTY, Aging, Due, simple_aging
from fakebroker.analysis.pipeline.retention_moments import Grid, is_unloaded, state_aging

Key = tuple[str, int]  # topic and partition

PARTS: Final = 1 << 20
"""More lines than an entry of a journal has: the place of a line is `seq` times this number, and `part`."""

LATER: Final = 1 << 62
_LIVE_STATES: Final = ("Stable", "Assigning", "Reconciling")


class Plays:
    """The function of a step: it gets what happened to a group, and makes rows of losses.

    A row that happened has a `kind`: "commit", "tombstone", "pending" or "abort" (of a transaction's commit), "state".
    `passes` is how many cleanups came before it, `at_ms` when it was, no earlier than these. `own` is the place of a
    commit's record, and `is_safe` says that it is overwritten before it can be lost: what overwrites it may be left
    out. `raw_ms` is when something happened by its own timestamp.
    """

    def __init__(self, retentions_ms: Iterable[int], recorded_retention_ms: int, interval_ms: int, policy: str) -> None:
        self._retentions_ms = sorted(set(retentions_ms))
        self._recorded_retention_ms, self._interval_ms, self._policy = recorded_retention_ms, interval_ms, policy

    def __call__(self, happened: Iterable[Row]) -> Iterator[Row]:
        """The losses of a group, each with `came_back_at`."""
        recorded = _Recorded(self._recorded_retention_ms, self._policy)
        plays: list[_Play] = []  # grows when retentions part, of what has not yet been taken
        settled: list[Row] = []
        for row in happened:
            if not plays:
                grid = Grid(row["since_ms"], self._interval_ms, row["last_pass"])
                plays.append(_Play(grid, self._retentions_ms, self._policy, plays, settled))
            asked = recorded.asked(row)
            if asked is not None:
                for play in plays:
                    play.take(asked)
            yield from settled
            settled.clear()
        for play in plays:
            play.end()
            yield from settled
            settled.clear()


def _key(row: Row) -> Key:
    return row["topic"], row["partition"]


def _methods(of: Any) -> dict[str, Callable[[Row], Any]]:
    """What takes each kind of what happened."""
    return {name: getattr(of, f"_on_{name}") for name in ("pending", "abort", "commit", "tombstone", "state")}


class _Recorded:
    """One group as it was recorded: tells what was asked for from what the recorded retention itself did."""

    def __init__(self, retention_ms: int, policy: str) -> None:
        self._retention_ms, self._policy = retention_ms, policy
        self._aging = simple_aging(policy)
        self._state: str | None = None
        self._values: dict[Key, Row] = {}
        self._deleted: dict[Key, int] = {}  # the place of the newest deletion of a partition
        self._pending: dict[Key, set[int]] = {}
        self._deleted_at: set[int | None] = set()  # when offsets were deleted
        self._takes = _methods(self)

    def asked(self, row: Row) -> Row | None:
        """The same row, if somebody asked for it. What a deletion overtook only ends its transaction (OC-18)."""
        asked: Row | None = self._takes[row["kind"]](row)
        return asked

    def _on_pending(self, row: Row) -> Row:
        self._pending.setdefault(_key(row), set()).add(row["own"])
        return row

    def _on_abort(self, row: Row) -> Row:
        if self._pending:
            self._pending.get(_key(row), set()).discard(row["own"])
        return row

    def _on_commit(self, row: Row) -> Row:
        self._on_abort(row)
        key = _key(row)
        if self._deleted.get(key, -1) > row["own"]:
            return {**row, "kind": "abort"}
        self._values[key] = row
        return row

    def _on_tombstone(self, row: Row) -> Row | None:
        """Nothing if a cleanup wrote it: the offset was due, and no transaction held it."""
        value = self._values.pop(_key(row), None)
        is_held = bool(self._pending.get(_key(row)))
        due = _due(self._aging, value, self._retention_ms) if value is not None else None
        if due is not None and due.due_ms <= row["at_ms"] and row["is_of_log"] and not is_held:
            return None
        self._deleted_at.add(row["raw_ms"])
        self._deleted[_key(row)] = row["own"]
        self._pending.pop(_key(row), None)
        return row

    def _on_state(self, row: Row) -> Row | None:
        """Nothing if a cleanup, or a move of the coordinator, made the group Dead; else somebody deleted it."""
        if is_unloaded(row):
            return None
        before, self._state = self._state, row["state"]
        self._aging = state_aging(row, self._policy)
        if self._state != "Dead":
            return row
        if row["reason"] is not None:
            return row if row["reason"].endswith("deleted") else None
        was_empty = before in (None, "Dead", "Empty")
        return None if was_empty and row["raw_ms"] not in self._deleted_at else row


class _Play:
    """One group with a retention, and with longer ones as long as nothing is lost: until then all are alike."""

    def __init__(
        self, grid: Grid, retentions_ms: list[int], policy: str, plays: "list[_Play]", settled: list[Row]
    ) -> None:
        """`retentions_ms` rise. `plays` gets a play of the longer ones when they part, `settled` gets losses."""
        self._grid, self._policy, self._plays, self._settled = grid, policy, plays, settled
        self._retention_ms, *self._longer_ms = retentions_ms
        self._aging = simple_aging(policy)
        self._values: dict[Key, Row] = {}
        self._pending: dict[Key, set[int]] = {}  # without empty ones
        self._passes = 0  # how many there were
        self._due_ms: int | None = None  # nothing is due before; None: not known
        self._open: dict[Key, Row] = {}  # lost, and the group has not come back
        self._takes = _methods(self)

    def take(self, row: Row) -> None:
        """Take what happened next, after the cleanups before it."""
        if row["passes"] > self._passes:
            self._run_passes(min(row["passes"], self._grid.last_pass))
        self._takes[row["kind"]](row)

    def end(self) -> None:
        """The cleanups that are left. What is lost and did not come back never will: all is known of each loss."""
        self._run_passes(self._grid.last_pass)
        self._settled += self._open.values()

    def _part(self) -> None:
        """Longer retentions go on by themselves from before this cleanup, the first that loses something."""
        longer = _Play(self._grid, self._longer_ms, self._policy, self._plays, self._settled)
        longer._aging, longer._passes, longer._values = self._aging, self._passes - 1, self._values.copy()
        longer._pending = {key: held.copy() for key, held in self._pending.items()}
        self._plays.append(longer)
        self._longer_ms = []

    # -- what happens ------------------------------------------------------------------------------------------------

    def _on_pending(self, row: Row) -> None:
        self._pending.setdefault(_key(row), set()).add(row["own"])

    def _on_abort(self, row: Row) -> None:
        held = self._pending.get(_key(row))
        if held is not None:
            held.discard(row["own"])
            if not held:
                del self._pending[_key(row)]
                self._due_ms = None

    def _on_commit(self, row: Row) -> None:
        key = _key(row)
        if self._pending:
            self._on_abort(row)
        self._values[key] = row
        if self._due_ms is not None:
            self._due_ms = min(self._due_ms, self._due(row).due_ms)
        if self._open:
            self._come_back(key, row["at_ms"])

    def _on_tombstone(self, row: Row) -> None:
        self._values.pop(_key(row), None)
        self._pending.pop(_key(row), None)

    def _on_state(self, row: Row) -> None:
        if row["state"] == "Dead":
            self._values.clear()
            self._pending.clear()
        aging = state_aging(row, self._policy)
        if aging != self._aging:
            self._aging, self._due_ms = aging, None
        if row["state"] in _LIVE_STATES:
            topics = row["subscribed_topics"]
            for key in [each for each in self._open if topics is None or each[0] in topics]:
                self._come_back(key, row["at_ms"])

    def _come_back(self, key: Key, at_ms: int) -> None:
        loss = self._open.pop(key, None)
        if loss is not None:
            self._settled.append({**loss, "came_back_at": at_ms})

    # -- cleanups ----------------------------------------------------------------------------------------------------

    def _run_passes(self, up_to: int) -> None:
        while self._passes < up_to:
            self._remove_group_without_offsets()
            if self._due_ms is None:
                free = (row for key, row in self._values.items() if key not in self._pending)
                self._due_ms = min((self._due(row).due_ms for row in free), default=LATER)
            number = max(self._grid.first_pass(self._due_ms), self._passes + 1)
            if number > up_to:
                break
            self._passes = number
            self._expire()
        self._passes = max(self._passes, up_to)

    def _due(self, row: Row) -> Due:
        return _due(self._aging, row, self._retention_ms)

    def _expire(self) -> None:
        """Lose what is due and what no transaction holds (EX-4)."""
        now_ms, self._due_ms = self._grid.time_of(self._passes), None
        due = {key: self._due(row) for key, row in self._values.items() if key not in self._pending}
        lost = {key: each for key, each in due.items() if each.due_ms <= now_ms}
        if lost and self._longer_ms:
            self._part()
        for key, each in lost.items():
            self._open[key] = _loss(self._values.pop(key), each, self._retention_ms, now_ms)
        self._remove_group_without_offsets()

    def _remove_group_without_offsets(self) -> None:
        """A cleanup removes an Empty group without offsets (EX-9); who commits to it then makes a simple group."""
        if self._aging.case.counts_from == EMPTY and not self._values and not self._pending:
            self._aging, self._due_ms = simple_aging(self._policy), None


def _due(aging: Aging, row: Row, retention_ms: int) -> Due:
    """When an offset is due and by which rule; LATER while it does not age, or is safe."""
    due: Due | None = None
    if not row["is_safe"]:
        due = aging.due(row["topic"], row["committed_ms"], row["expires_ms"], retention_ms)
    return due or Due(aging.case.rule, LATER)


def _loss(row: Row, due: Due, retention_ms: int, lost_ms: int) -> Row:
    seq, part = divmod(row["own"], PARTS)
    origin = (row["log_part"], row["own"], None, None) if row["is_of_log"] else (None, None, seq, part)
    return {
        **{name: row[name] for name in ("source", "group_id", "topic", "partition", "committed_offset")},
        "retention_ms": retention_ms,
        "committed_at": row["committed_ms"],
        **dict(zip(("log_partition", "log_offset", "seq", "part"), origin, strict=True)),
        "due_at": due.due_ms,
        "lost_at": lost_ms,
        "rule": due.rule,
        "came_back_at": None,
    }

"""All groups on one screen: a row for each, and which rows have changed since the last look.

The broker keeps no log of changes. Each look is a pass over all groups that compares them with the pass before; a
broker without a reader pays nothing.
"""

from collections import Counter
from collections.abc import Generator, Iterable, Sized
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from weakref import WeakKeyDictionary

from fakebroker.broker.core.topics import CONSUMER_OFFSETS
from fakebroker.protocol.pace import AT_ONCE, Pace, finished

if TYPE_CHECKING:
    from fakebroker.broker.core.groups.group import Group
    from fakebroker.broker.engine.engine import Engine
    from fakebroker.testing.handles.access import EngineAccess

MAX_GONE: Final = 10_000  # ids of groups that are gone, kept for those who ask what has changed
GROUPS_PER_STEP: Final = 2000


class GroupRow(NamedTuple):
    """One group on one line.

    `state_ms` is when it entered its state, by the broker's time of day, -1 unknown; `epoch` is the generation of a
    classic group. `members` is how many it has. What it has committed is not among this: a look at all that would be
    dear (repeated commits are kept as columns).
    """

    group_id: str
    kind: str
    state: str
    state_ms: int
    epoch: int
    members: int


class GroupRows(NamedTuple):
    """Rows of groups, sorted by their ids, as they are at `version`, the number to ask with for what changes after it.

    `gone` are the ids of groups that are not there any more; if it `is_complete`, nothing is known of what was before,
    and groups that are not among the rows are gone, too. `counts` are all groups by state, `total` how many groups
    match, `next` the `after` that goes on; null at the end.
    """

    version: int
    is_complete: bool
    rows: list[GroupRow]
    gone: list[str]
    counts: dict[str, int]
    total: int
    next: str | None

    def as_json(self) -> dict[str, Any]:
        """The same as data for JSON."""
        return {**self._asdict(), "rows": [row._asdict() for row in self.rows]}


class GroupRowFilter(NamedTuple):
    """Which groups are meant; None is any. `search` is a part of the group id."""

    search: str | None = None
    state: str | None = None
    kind: str | None = None

    def matches(self, row: GroupRow) -> bool:
        """Whether a group is meant."""
        return (
            (self.search is None or self.search in row.group_id)
            and (self.state is None or row.state == self.state)
            and (self.kind is None or row.kind == self.kind)
        )


class GroupChanges:
    """What the groups of one broker were at the last pass, and the version in which each became so."""

    def __init__(self) -> None:
        self.version = 0
        self._looked_at = (
            0,
            -1,
            -1,
        )  # which engine it was then, the end of its journal, and of what groups have stored
        self._rows: dict[str, tuple[int, GroupRow]] = {}  # sorted by id; each with the version of its last change
        self._gone: dict[str, int] = {}  # the versions in which groups went, oldest first
        self._oldest = 0  # nothing is known of what went before this version

    def look_at(self, engine: "Engine", *, again: bool = True) -> int:
        """Compare with the groups as they are now; returns the version. Unless `again`, nothing is done when nothing
        has come into the journal since the last time, nor into `__consumer_offsets`: what a test commits by itself is
        no request.
        """
        return finished(self.look_at_in_steps(engine, AT_ONCE, again=again))

    def look_at_in_steps(self, engine: "Engine", pace: Pace, *, again: bool = True) -> Generator[None, None, int]:
        """The same in steps of GROUPS_PER_STEP, the units of `pace`: each group is as it was at its step."""
        now = id(engine), engine.journal.next_seq, _stored(engine)
        if again or now != self._looked_at:
            yield from self.look_in_steps(engine.cluster.groups(engine.now), pace)
            self._looked_at = now
        return self.version

    def look(self, groups: "Iterable[Group]") -> int:
        """Compare with the groups as they are now, in order of ids; returns the version, a new one if they differ."""
        return finished(self.look_in_steps(groups, AT_ONCE))

    def look_in_steps(self, groups: "Iterable[Group]", pace: Pace) -> Generator[None, None, int]:
        """The same in steps. Nothing comes of it if another look is done before its end."""
        version, before = self.version + 1, self._rows
        rows: dict[str, tuple[int, GroupRow]] = {}
        is_changed = False
        for group in groups:
            row = row_of(group)
            known = before.get(row.group_id)
            if known is not None and known[1] == row:
                rows[row.group_id] = known
            else:
                rows[row.group_id] = version, row
                is_changed = True
            if pace.is_over():
                yield
        if self._rows is before:
            self._become(rows, version, is_changed)
        return self.version

    def _become(self, rows: dict[str, tuple[int, GroupRow]], version: int, is_changed: bool) -> None:
        """These are the groups now, in a version of which `is_changed` says whether it is a new one."""
        for group_id in sorted(self._rows.keys() - rows.keys()):
            self._gone.pop(group_id, None)
            self._gone[group_id] = version
            is_changed = True
        self._rows = rows
        if is_changed:
            self.version = version
            self._forget_gone()

    def since(self, version: int) -> tuple[bool, list[GroupRow], list[str]]:
        """What has changed after a version: whether that is all there is, the rows, and the ids that are gone."""
        if not self._oldest <= version <= self.version or version == 0:
            return True, [row for _, row in self._rows.values()], []
        gone = sorted(
            group_id for group_id, went in self._gone.items() if went > version and group_id not in self._rows
        )
        return False, [row for changed, row in self._rows.values() if changed > version], gone

    def counts(self) -> dict[str, int]:
        """How many groups are in each state."""
        return dict(sorted(Counter(row.state for _, row in self._rows.values()).items()))

    def _forget_gone(self) -> None:
        while len(self._gone) > MAX_GONE:
            oldest = next(iter(self._gone))
            self._oldest = self._gone.pop(oldest)


def _stored(engine: "Engine") -> int:
    """How many records all groups together have stored; makes no log that is not there."""
    topic = engine.cluster.topics.get(CONSUMER_OFFSETS)
    return sum(each.log.log_end_offset for each in topic.partitions if each.has_log) if topic else 0


def row_of(group: "Group") -> GroupRow:
    """The row of one group."""
    members: Sized = group.members  # type: ignore[attr-defined]  # each kind has its own table of them
    return GroupRow(group.group_id, group.kind.value, str(group.state), group.state_ms, group.epoch, len(members))


def group_rows(access: "EngineAccess", since: int, wanted: GroupRowFilter, after: str, limit: int) -> GroupRows:
    """What has changed after the version `since`, of the groups that are wanted and come after the id `after`.

    Call it on the thread that owns the engine.
    """
    changes = changes_of(access)
    version = changes.look_at(access._engine, again=not after)
    is_complete, rows, gone = changes.since(since)
    matching = [row for row in rows if wanted.matches(row)]
    page = [row for row in matching if row.group_id > after][: limit + 1]
    following = page[limit - 1].group_id if len(page) > limit else None
    return GroupRows(version, is_complete, page[:limit], gone, changes.counts(), len(matching), following)


def changes_of(access: "EngineAccess") -> GroupChanges:
    """The changes of a broker's groups; they go on over resets. Made at the first look."""
    return _CHANGES.setdefault(access, GroupChanges())


_CHANGES: "WeakKeyDictionary[EngineAccess, GroupChanges]" = WeakKeyDictionary()

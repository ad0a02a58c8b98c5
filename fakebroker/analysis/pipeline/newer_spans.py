"""The states of a newer group from the lines of a journal: its records say who its members are, other lines why."""

from collections.abc import Iterator

from fakebroker.analysis.pipeline.contract import Row
from fakebroker.analysis.pipeline.group_records import group_type, origin_of_line
from fakebroker.analysis.pipeline.group_spans import DEAD, NewerGroup
from fakebroker.analysis.pipeline.group_transitions import LOADED

LINES = ("coordinator_record", "group_epoch_bumped")
"""The kinds of lines, beside `transition`, that only newer groups have."""


class NewerSpans:
    """Takes the lines of a group one by one, and gives the spans that begin with them.

    A `transition` begins a span. So do records after which the epoch, the number of members or their topics are others
    than before, while the state stays what it was. The line behind them says why.
    """

    def __init__(self) -> None:
        self._group = NewerGroup()
        self._state: str | None = None
        self._last: Row = {}
        self._changed: Row | None = None  # the last record of a change of which no line has told the state
        self._reason: str | None = None

    def take(self, row: Row) -> Iterator[Row]:
        """Take the next line of the group: a `transition` of a newer type, or one of LINES."""
        if row["kind"] == "group_epoch_bumped":
            self._reason = row["reason"]
        elif row["kind"] == "transition":
            yield self._of_transition(row)
        else:
            if self._changed is not None and self._changed["seq"] != row["seq"]:
                yield from self.rest()
            self._group.apply(row | {"kind": row["record"]})
            self._changed, self._reason = row, LOADED if row["how"] == "loaded" else None

    def rest(self) -> Iterator[Row]:
        """The span of a change that no `transition` has followed, if there is one."""
        row, self._changed = self._changed, None
        shown = self._shown()
        if row is not None and shown != self._last:
            yield self._span(row, group_type(row["record"]), shown, self._reason)

    def unloaded(self) -> None:
        """The coordinator forgets the group; what it loads later is all that there is."""
        self._group, self._changed = NewerGroup(), None

    def _of_transition(self, row: Row) -> Row:
        self._state, self._changed = row["after"], None
        if row["after"] == "Dead":
            self._group = NewerGroup()
        return self._span(row, row["group_type"], self._shown() | {"generation": row["generation"]}, row["reason"])

    def _shown(self) -> Row:
        """The group as a span shows it. The journal tells each state; without its records there is no more to know."""
        if self._group.is_known:
            shown = self._group.shown()
        elif self._state == "Dead":
            shown = DEAD
        else:
            shown = dict.fromkeys(DEAD)
        return shown | ({} if self._state is None else {"state": self._state})

    def _span(self, row: Row, of_type: str | None, shown: Row, reason: str | None) -> Row:
        self._last = shown
        return {
            "group_id": row["group"],
            "group_type": of_type,
            **shown,
            "protocol_type": of_type,
            "began_at": row["wall_ms"],
            "reason": reason,
            **origin_of_line(row),
        }

"""The states of groups from the lines of a journal, but for the ends of the spans.

The records of newer groups say who their members are, other lines why they changed.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from fakebroker.analysis.pipeline.contract import Row, time_or_none
from fakebroker.analysis.pipeline.group_records import group_type, origin_of_line
from fakebroker.analysis.pipeline.group_spans import DEAD, NewerGroup
from fakebroker.analysis.pipeline.group_transitions import CLASSIC, LOADED, is_newer, is_unload

LINES_OF_NEWER: Final = ("coordinator_record", "group_epoch_bumped")
"""The kinds of lines, beside `transition`, that only newer groups have."""


def journal_spans(of_group: Iterable[Row]) -> Iterator[Row]:
    """The spans that begin with the lines of a group.

    They are `transition` lines and those that say what a group is besides: `group_stored` of classic groups,
    `coordinator_record` and `group_epoch_bumped` of newer ones.
    """
    rows = list(of_group)
    following = _stored_after(rows)
    newer, last = _NewerSpans(), None
    for row, next_stored in zip(rows, following, strict=True):
        if row["kind"] in LINES_OF_NEWER or (
            is_newer(row["group_type"]) and not is_unload(row["after"], row["reason"])
        ):
            yield from newer.take(row)
        elif row["kind"] == "group_stored":
            last = row
            if row["how"] == "loaded" and row["members"] == 0:
                yield _span(row, "Empty", _known_time(row["state_ms"]), LOADED, row, row)
        elif is_unload(row["after"], row["reason"]):
            newer.unloaded()
        elif row["reason"] == LOADED:
            state_at = _known_time(next_stored["state_ms"]) if next_stored else None
            yield _span(row, row["after"], state_at, row["reason"], next_stored, next_stored)
        else:
            facts = next((each for each in (last, next_stored) if _is_of(each, row["generation"])), None)
            yield _span(row, row["after"], row["wall_ms"], row["reason"], facts, facts or last)
    yield from newer.rest()


def _stored_after(rows: Sequence[Row]) -> list[Row | None]:
    """For each row the first `group_stored` at or after it."""
    found: list[Row | None] = []
    stored: Row | None = None
    for row in reversed(rows):
        stored = row if row["kind"] == "group_stored" else stored
        found.append(stored)
    return found[::-1]


def _is_of(stored: Row | None, generation: int) -> bool:
    return stored is not None and stored["generation"] == generation


def _span(row: Row, state: str, state_at: int | None, reason: str, stored: Row | None, typed: Row | None) -> Row:
    """A span that begins with `row`. `stored` says what the generation is, `typed` of what type the group is."""
    is_without = state in ("Empty", "Dead")
    known = None if is_without else stored
    shown = {
        "state": state,
        "generation": row["generation"],
        "protocol_type": typed["protocol_type"] if typed else None,
        "protocol": known["protocol"] if known else None,
        "leader": known["leader"] if known else None,
        "members": 0 if is_without else known["members"] if known and state != "PreparingRebalance" else None,
        "subscribed_topics": [] if is_without else known["subscribed_topics"] if known else None,
        "state_at": state_at,
    }
    return _of_line(row, CLASSIC, shown, reason)


def _of_line(row: Row, of_type: str | None, shown: Row, reason: str | None) -> Row:
    """A span of a group as it is `shown`, which begins with `row`."""
    named = {"group_id": row["group"], "group_type": of_type}
    return {**named, **shown, "began_at": row["wall_ms"], "reason": reason, **origin_of_line(row)}


def _known_time(ms: int) -> int | None:
    """A time that a record has, if it is known and a table can have it."""
    return None if ms == -1 else time_or_none(ms)


class _NewerSpans:
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
        """Take the next line of the group: a `transition` of a newer type, or one of LINES_OF_NEWER."""
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
        return _of_line(row, of_type, shown | {"protocol_type": of_type}, reason)

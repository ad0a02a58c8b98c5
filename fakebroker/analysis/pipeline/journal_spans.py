"""The states of groups from the lines of a journal, but for the ends of the spans."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from fakebroker.analysis.pipeline.contract import Row, time_or_none
from fakebroker.analysis.pipeline.group_records import origin_of_line
from fakebroker.analysis.pipeline.group_transitions import CLASSIC, LOADED, is_newer, is_unload
from fakebroker.analysis.pipeline.newer_spans import LINES as LINES_OF_NEWER
from fakebroker.analysis.pipeline.newer_spans import NewerSpans


def journal_spans(changes: Iterable[Row]) -> Iterator[Row]:
    """The spans that begin with these lines, group by group in the order of their journals.

    They are `transition` lines and those that say what a group is besides: `group_stored` of classic groups,
    `coordinator_record` and `group_epoch_bumped` of newer ones.
    """
    for _, group in groupby(changes, key=lambda row: (row["run"], row["group"])):
        yield from _spans_of_group(list(group))


def _spans_of_group(rows: Sequence[Row]) -> Iterator[Row]:
    """The spans of one group, whose rows these are in order."""
    following = _stored_after(rows)
    newer, last = NewerSpans(), None
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
    return {
        "group_id": row["group"],
        "group_type": CLASSIC,
        "state": state,
        "generation": row["generation"],
        "protocol_type": typed["protocol_type"] if typed else None,
        "protocol": known["protocol"] if known else None,
        "leader": known["leader"] if known else None,
        "members": 0 if is_without else known["members"] if known and state != "PreparingRebalance" else None,
        "subscribed_topics": [] if is_without else known["subscribed_topics"] if known else None,
        "state_at": state_at,
        "began_at": row["wall_ms"],
        "reason": reason,
        **origin_of_line(row),
    }


def _known_time(ms: int) -> int | None:
    """A time that a record has, if it is known and a table can have it."""
    return None if ms == -1 else time_or_none(ms)

"""Rebalances, with cause and duration."""

from collections.abc import Iterable, Iterator

from fakebroker.analysis.pipeline.causes import UNKNOWN, Cause, cause_of
from fakebroker.analysis.pipeline.contract import ORIGIN, ORIGIN_KEY, Check, Row, Table, between_ms, columns
from fakebroker.analysis.pipeline.group_transitions import LOADED, is_newer
from fakebroker.analysis.pipeline.recipe import Recipe, Step

TABLE = Table(
    name="rebalances",
    layer="gold",
    about="Every rebalance of a group: its cause, duration and outcome. A rebalance that restarts before its end counts as one",
    columns=columns("""
        group_id string: the group
        began_at timestamp?: when the group left its state; from the log of a classic group, when the generation was stored
        ended_at timestamp?: when the group became Stable or Empty; null if it never did
        duration_ms long?: how long it took by the broker's time of day; null if it never ended, comes from the log of a classic group, or the clock went back
        cause string: the kind of cause: member joined, member left, session expired, subscription changed, topics changed, ... ; `unknown` from a log
        trigger string?: the members that the reason names; null if it names none
        reason string?: the reason in the journal; null from a log
        generation_before int?: the generation before; null if unknown
        generation int?: the generation that it made; null if it made none
        result string: Stable, Empty, Dead, or `unfinished`
        members_before int?: how many members it had before; null if unknown
        members int?: how many members it had afterwards; null if unknown
    """)
    + ORIGIN,
    key=ORIGIN_KEY,
    checks=(Check("no negative durations", "a rebalance does not end before it began", "duration_ms < 0"),),
)


def recipe() -> Recipe:
    """A row for each rebalance of each group."""
    spans = "SELECT * FROM group_states"
    order = ("log_offset", "seq", "part")
    return Recipe("SELECT * FROM begun", (Step("begun", TABLE, spans, rebalance_rows, ("source", "group_id"), order),))


_ENDS = ("Stable", "Empty", "Dead")


def rebalance_rows(spans: Iterable[Row]) -> Iterator[Row]:
    """A row for each rebalance of a group.

    It lasts from its first span to the first one that is Stable, Empty or Dead. A classic group begins one with
    PreparingRebalance, a newer one with another epoch. A log does not show when a classic group began: there it is a
    record with another generation than the one before.
    """
    began: Row | None = None
    before: Row | None = None
    for row in spans:
        if row["log_offset"] is not None and not is_newer(row["group_type"]):
            if _has_new_generation(row, before):
                yield _ended(_begun(row, before), row) | {"duration_ms": None}
        elif began is None and _begins(row, before):
            began = _begun(row, before)
        if began is not None and row["state"] in _ENDS:
            yield _ended(began, row)
            began = None
        before = row
    if began is not None:
        yield began


def _begins(row: Row, before: Row | None) -> bool:
    if not is_newer(row["group_type"]):
        return bool(row["state"] == "PreparingRebalance")
    is_first = before is None or before["state"] == "Dead" or before["generation"] != row["generation"]
    return row["state"] != "Dead" and row["reason"] != LOADED and is_first


def _has_new_generation(row: Row, before: Row | None) -> bool:
    if row["state"] not in ("Stable", "Empty") or not row["generation"]:
        return False
    return before is None or before["generation"] != row["generation"]


def _begun(row: Row, before: Row | None) -> Row:
    cause = Cause(UNKNOWN, None) if row["reason"] is None else cause_of(row["reason"])
    generation_before = before["generation"] if before else None
    if row["state"] == "PreparingRebalance":  # it still has the generation before
        generation_before = row["generation"]
    return {
        **{name: row[name] for name in ("group_id", "began_at", "reason", *ORIGIN_KEY)},
        **cause._asdict(),
        "generation_before": generation_before,
        "result": "unfinished",
        "members_before": before["members"] if before else None,
    }


def _ended(began: Row, row: Row) -> Row:
    if row["state"] == "Dead":
        return began | {"result": "Dead"}
    return began | {
        "ended_at": row["began_at"],
        "duration_ms": between_ms(began["began_at"], row["began_at"]),
        "generation": row["generation"],
        "result": row["state"],
        "members": row["members"],
    }

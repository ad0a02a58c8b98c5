"""Rebalances, with cause and duration."""

from fakebroker.analysis.pipeline.contract import ORIGIN, ORIGIN_KEY, Check, Table, columns
from fakebroker.analysis.pipeline.rebalance_rows import rebalance_rows
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
    checks=(
        Check(
            "no negative durations",
            "a rebalance does not end before it began",
            "SELECT * FROM rebalances WHERE duration_ms < 0",
        ),
    ),
)


def recipe() -> Recipe:
    """A row for each rebalance of each group."""
    spans = "SELECT * FROM group_states"
    order = ("log_offset", "seq", "part")
    return Recipe("SELECT * FROM begun", (Step("begun", TABLE, spans, rebalance_rows, ("source", "group_id"), order),))

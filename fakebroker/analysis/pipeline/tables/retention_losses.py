"""Offsets that another retention would have lost, one by one, and the options of the what-if."""

from typing import Final, NamedTuple

from fakebroker.analysis.pipeline import retention_queries as queries
from fakebroker.analysis.pipeline.contract import Check, Table, columns
from fakebroker.analysis.pipeline.recipe import Kept, Recipe, Step
from fakebroker.analysis.pipeline.retention_moments import MOMENTS, OF_GROUP, Moments
from fakebroker.analysis.pipeline.retention_play import Plays

HOUR_MS: Final = 3_600_000
DAY_MS: Final = 24 * HOUR_MS
EMBEDDED_ROWS: Final = 24_000_000  # in about half a minute, on two cores


class WhatifOptions(NamedTuple):
    """What is tried, on which history.

    Attributes:
        retentions_ms: The retentions (`offsets.retention.minutes`) that are tried, in milliseconds.
        recorded_retention_ms: The retention under which the history was recorded. Tombstones that it explains are
            effects of it, and left out; all others are deletions that somebody asked for.
        check_interval_ms: The time between two cleanups (`offsets.retention.check.interval.ms`).
        since_ms: The moment from which cleanups come at whole intervals; None: the first thing known of each source.
        until_ms: The end of the history: cleanups up to here count; None: the last thing known of each source.
        policy: The rules of expiry, by the release that had them: a key of `EXPIRY_POLICIES`.
    """

    retentions_ms: tuple[int, ...] = (DAY_MS, 3 * DAY_MS, 7 * DAY_MS, 14 * DAY_MS)
    recorded_retention_ms: int = 7 * DAY_MS
    check_interval_ms: int = 10 * 60_000
    since_ms: int | None = None
    until_ms: int | None = None
    policy: str = "4.3"


TABLE = Table(
    name="retention_losses",
    layer="gold",
    about="Every committed offset that a group would have lost under a retention, with the time and the effect of the loss when the group came back",
    columns=columns("""
        source string: the run of the journal, or the name of the log
        group_id string: the group
        topic string: the topic
        partition int: the partition of the topic
        retention_ms long: the retention (`offsets.retention.minutes`) that is tried
        committed_offset long: the offset that is lost
        committed_at timestamp?: when it was committed
        log_partition int?: the partition of `__consumer_offsets` with the lost commit; null for a row from a journal
        log_offset long?: its offset there; null for a row from a journal
        seq long?: the entry of the journal with the lost commit; null for a row from a log
        part int?: the line's number within that entry; null for a row from a log
        due_at timestamp: the moment from which it is due
        lost_at timestamp: when the cleanup deletes it
        rule string: the rule that decides, such as EX-3
        came_back_at timestamp?: when the group next became Stable with a member subscribed to the topic, or committed for the partition; null if it never came back
        read_again_records long?: with auto.offset.reset=earliest, how many records it would have read again; null if unknown, or if it never came back
        skipped_records long?: with auto.offset.reset=latest, how many records it would have skipped; null if unknown, or if it never came back
    """),
    key=("source", "group_id", "topic", "partition", "retention_ms", "log_partition", "log_offset", "seq", "part"),
    checks=(
        Check("not too early", "no cleanup deletes an offset before it is due", "lost_at < due_at"),
        Check(
            "groups come back after a loss",
            "a group comes back after the loss, not before it",
            "came_back_at < lost_at",
        ),
    ),
)

_PLAYED: Final = TABLE._replace(columns=TABLE.columns[:-2])  # the log's ends tell the others


def recipe(options: WhatifOptions = WhatifOptions()) -> Recipe:
    """Each group is played with each retention; commits that no retention can lose are left out before that."""
    interval_ms, shortest_ms = options.check_interval_ms, min(options.retentions_ms)
    recorded_ms = options.recorded_retention_ms
    bucket_passes = max(shortest_ms // interval_ms, 1)
    moments = Moments(options.retentions_ms, interval_ms, bucket_passes, options.policy)
    plays = Plays(options.retentions_ms, recorded_ms, interval_ms, options.policy)
    return Recipe(
        queries.with_records(_PLAYED.column_names),
        (
            Kept("grids", queries.grids(options.since_ms, options.until_ms, interval_ms)),
            Kept("deletions", queries.DELETIONS),
            Kept("aborted", queries.ABORTED),
            Kept("seen", queries.seen(interval_ms)),
            Kept("late", queries.LATE),
            Step("moments", MOMENTS, queries.states(interval_ms), moments, OF_GROUP, ("place",)),
            Kept("merged", queries.MERGED),
            Kept("stretches", queries.stretches(min(shortest_ms, recorded_ms), interval_ms, bucket_passes)),
            Kept("apart", queries.APART),
            Step(
                "losses",
                _PLAYED,
                queries.happened(shortest_ms, interval_ms, bucket_passes),
                plays,
                OF_GROUP,
                ("place", "turn", "own"),
            ),
        ),
        EMBEDDED_ROWS,
    )

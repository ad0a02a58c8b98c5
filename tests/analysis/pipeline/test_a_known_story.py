"""Tables of one story that is known beforehand: each row stands here, written by hand from what a client did.

The engines share functions, so that they agree shows little. These rows are neither engine's.
"""

from typing import TYPE_CHECKING, Any

import pytest

from fakebroker.analysis.pipeline.engines import make, tables_needed
from fakebroker.analysis.pipeline.tables import table
from fakebroker.testing.virtual_broker import VirtualBroker
from tests.support.gold_tables import events_of

if TYPE_CHECKING:
    from fakebroker.analysis.pipeline.engines import Engine

Row = dict[str, Any]

# The delay before the first generation, retention and the grid of cleanups make all that takes time in the story.
DELAY_S, RETENTION_S, CLEANUP_S = 3, 600, 1200
SETTINGS: dict[str, object] = {"group.initial.rebalance.delay.ms": DELAY_S * 1000, "offsets.retention.minutes": 10}


@pytest.fixture(scope="module")
def story() -> tuple[list[Row], int, str]:
    """The journal, when it began, and the member's id.

    Client a joins billing, gets both partitions, produces two records, commits the first, and leaves. Half an hour.
    """
    with VirtualBroker(config=SETTINGS) as broker:
        began_ms = round(broker.clock.now.timestamp() * 1000)
        broker.create_topic("orders", partitions=2)
        client = broker.client("a")
        client.join("billing", ["orders"])
        client.sync({client.member_id: {"orders": [0, 1]}})
        client.produce("orders", 1, [b"1", b"2"])
        client.commit({("orders", 1): 1})
        member_id = client.member_id
        client.leave()
        broker.clock.advance(minutes=30)
        return events_of(broker.journal.rows()), began_ms, member_id


# Times are seconds since the beginning; "m" is the member. Rows stand in the order of their texts.
EXPECTED: dict[str, tuple[tuple[str, ...], list[tuple[Any, ...]]]] = {
    "commits": (
        (
            "group_id",
            "topic",
            "partition",
            "committed_offset",
            "outcome",
            "at",
            "applied_at",
            "member_id",
            "generation",
        ),
        [("billing", "orders", 1, 1, "committed", DELAY_S, DELAY_S, "m", 1)],
    ),
    "group_states": (
        ("state", "generation", "protocol", "leader", "members", "began_at", "ended_at"),
        [
            ("CompletingRebalance", 1, "range", "m", 1, DELAY_S, DELAY_S),
            ("Dead", 2, None, None, 0, CLEANUP_S, None),
            ("Empty", 2, None, None, 0, DELAY_S, CLEANUP_S),
            ("PreparingRebalance", 0, None, None, None, 0, DELAY_S),
            ("PreparingRebalance", 1, "range", "m", None, DELAY_S, DELAY_S),
            ("Stable", 1, "range", "m", 1, DELAY_S, DELAY_S),
        ],
    ),
    "members": (
        ("group_id", "group_type", "generation", "member_id", "client_id", "protocol", "subscribed_topics", "at"),
        [("billing", "classic", 1, "m", "a", "range", ["orders"], DELAY_S)],
    ),
    "assignments": (
        ("group_id", "generation", "member_id", "topic", "partition", "at"),
        [("billing", 1, "m", "orders", 0, DELAY_S), ("billing", 1, "m", "orders", 1, DELAY_S)],
    ),
    "requests": (
        ("api", "received_at", "answered_at", "waited_ms", "groups", "topics", "errors", "is_answered"),
        [
            ("ApiVersions", 0, 0, 0, [], [], [], True),
            ("JoinGroup", 0, 0, 0, ["billing"], [], ["MEMBER_ID_REQUIRED"], True),
            ("JoinGroup", 0, DELAY_S, DELAY_S * 1000, ["billing"], [], [], True),
            ("LeaveGroup", DELAY_S, DELAY_S, 0, ["billing"], [], [], True),
            ("OffsetCommit", DELAY_S, DELAY_S, 0, ["billing"], ["orders"], [], True),
            ("Produce", DELAY_S, DELAY_S, 0, [], ["orders"], [], True),
            ("SyncGroup", DELAY_S, DELAY_S, 0, ["billing"], [], [], True),
        ],
    ),
    "log_ends": (("topic", "partition", "log_end_offset", "at"), [("orders", 1, 2, DELAY_S)]),
    "expiries": (
        ("group_id", "topic", "partition", "committed_offset", "committed_at", "due_at", "expired_at", "rule"),
        [("billing", "orders", 1, 1, DELAY_S, DELAY_S + RETENTION_S, CLEANUP_S, "EX-3")],
    ),
    "lag_minute": (
        ("group_id", "topic", "partition", "minute_at", "committed_offset", "log_end_offset", "lag"),
        [("billing", "orders", 1, 0, 1, 2, 1), ("billing", "orders", 1, CLEANUP_S, None, 2, None)],
    ),
    "rebalances": (
        ("cause", "trigger", "began_at", "duration_ms", "generation_before", "generation", "result"),
        [
            ("member joined", "m", 0, DELAY_S * 1000, 0, 1, "Stable"),
            ("member left", "m", DELAY_S, 0, 1, 2, "Empty"),
        ],
    ),
    "expiry_audit": (
        (
            "group_id",
            "topic",
            "partition",
            "committed_offset",
            "recorded_at",
            "recorded_rule",
            "recomputed_rule",
            "agrees",
        ),
        [("billing", "orders", 1, 1, CLEANUP_S, "EX-3", "EX-3", True)],
    ),
    "group_health": (
        ("group_id", "rebalances", "commits", "expired_offsets", "last_state"),
        [("billing", 2, 1, 1, "Dead")],
    ),
}


def in_story(value: Any, column: str, began_ms: int, member_id: str) -> Any:
    """A value as it stands above."""
    if isinstance(value, int) and (column.endswith("_at") or column == "at"):
        return (value - began_ms) / 1000
    return "m" if value == member_id else value


def made_of(engine: "Engine", name: str, events: list[Row]) -> Any:
    """A table and all that it needs, made of events."""
    frames: dict[str, Any] = {"events": engine.frame(table("events"), events)}
    for needed in tables_needed(name):
        if needed in EXPECTED:
            frames[needed] = made_of(engine, needed, events)
    return make(engine, name, frames)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_story_has_the_rows_that_it_must_have(engine: "Engine", name: str, story: tuple[list[Row], int, str]) -> None:
    """Each table of a journal has, with either engine, exactly the rows that were written by hand."""
    events, began_ms, member_id = story
    columns, expected = EXPECTED[name]

    made = [
        tuple(in_story(row[column], column, began_ms, member_id) for column in columns)
        for row in engine.rows(made_of(engine, name, events))
    ]

    assert sorted(made, key=str) == sorted(expected, key=str)

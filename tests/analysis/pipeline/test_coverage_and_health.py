"""Protocol coverage and group health."""

import pytest

from fakebroker.analysis.pipeline.tables.protocol_coverage import served_versions
from fakebroker.testing.virtual_broker import VirtualBroker
from tests.support.gold_tables import events_of, silver_of
from tests.support.histories import make_history
from tests.support.tables_made import group_health, lag_minute, protocol_coverage, rebalances


def test_seen_and_unseen_versions_are_all_that_is_served() -> None:
    """Each version of the run's release is there once or, with several errors, several times; requests are counted."""
    history = make_history(5)
    tables = silver_of(events_of(history.rows))
    found = protocol_coverage(tables["requests"], tables["events"])
    cells = {(row["api_key"], row["version"]) for row in found}

    assert {(each["api_key"], each["version"]) for each in served_versions([{"release": "4.3.1"}])} <= cells
    asked_for = {(row["api_key"], row["version"]) for row in history.of_kind("request")}
    assert asked_for == {(row["api_key"], row["version"]) for row in found if row["is_seen"]}
    alone = [row for row in history.of_kind("request") if len(row["errors"]) < 2]
    assert sum(row["requests"] for row in found) >= len(alone)
    assert not [row for row in protocol_coverage(tables["requests"], []) if not row["is_seen"]]


def test_a_cell_tells_errors_clients_and_waits() -> None:
    """A parked request waited; an error is a cell of its own; one without an answer is distinguished."""
    with VirtualBroker(config={"group.initial.rebalance.delay.ms": 3000}) as broker:
        broker.create_topic("orders")
        for name in ("b", "a"):
            broker.client(name, {"Heartbeat": 4}).request("Heartbeat", group_id="g", generation_id=1, member_id="m")
        broker.client("p").produce("orders", 0, [b"1"], acks=0)
        client = broker.client("a", {"JoinGroup": 3})
        client.join("billing", ["orders"])
        tables = silver_of(events_of(broker.journal.rows()))
        found = protocol_coverage(tables["requests"], tables["events"])

    (refused,) = [row for row in found if row["api"] == "Heartbeat" and row["is_seen"]]
    assert (refused["error"], refused["requests"], refused["clients"]) == ("UNKNOWN_MEMBER_ID", 2, ["a", "b"])
    (joined,) = [row for row in found if row["api"] == "JoinGroup" and row["is_seen"]]
    assert (joined["version"], joined["error"], joined["waited_ms_p50"]) == (3, "NONE", 3000.0)
    (unanswered,) = [row for row in found if row["api"] == "Produce" and row["is_seen"]]
    assert unanswered["error"] == "NO_ANSWER"


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [([], 0.5, None), ([7], 0.99, 7.0), ([1, 2], 0.5, 1.5), ([1, 2, 3], 0.5, 2.0), (list(range(101)), 0.99, 99.0)],
)
def test_percentiles_are_exact(values: list[int], share: float, expected: float | None) -> None:
    """Between two values on the line between them."""
    asked = {"api": "Heartbeat", "api_key": 12, "version": 4, "errors": [], "is_answered": True, "topics": []}
    rows = [{**asked, "seq": number, "part": 0, "waited_ms": value} for number, value in enumerate(values)]
    found = protocol_coverage(rows, [])

    assert [row[f"waited_ms_p{round(share * 100)}"] for row in found] == ([] if expected is None else [expected])


def test_the_health_of_a_group_is_that_of_its_other_tables() -> None:
    """Counts are those of the tables beside it; simple groups have no state; what failed is counted by group."""
    for seed in range(6):
        history = make_history(seed)
        tables = silver_of(events_of(history.rows))
        begun = rebalances(tables["group_states"])
        lags = lag_minute(tables["commits"], tables["log_ends"], tables["expiries"], tables["events"])
        found = group_health(
            tables["group_states"], tables["commits"], begun, lags, tables["expiries"], tables["requests"]
        )
        by_group = {row["group_id"]: row for row in found}

        assert sum(row["rebalances"] for row in found) == len(begun)
        assert sum(row["expired_offsets"] for row in found) == len(history.of_kind("offset_expired"))
        for group_id, end in history.groups.items():
            row = by_group[group_id]
            assert row["commits"] == len([r for r in history.of_kind("offset_committed") if r["group"] == group_id])
            if end.protocol_type is not None:  # a simple group has no state, but perhaps that of one before it
                assert row["last_state"] == end.state
    assert group_health([], [], [], [], [], []) == []

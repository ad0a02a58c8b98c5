"""Lag by the minute: in the end it is the broker's own."""

from typing import Any

from fakebroker.analysis.pipeline.tables.lag_minute import MINUTE_MS
from fakebroker.testing.virtual_broker import VirtualBroker
from tests.support.gold_tables import events_of, silver_of
from tests.support.histories import make_history
from tests.support.tables_made import lag_minute

Row = dict[str, Any]


def _lags(journal: list[Row]) -> list[Row]:
    tables = silver_of(events_of(journal))
    return lag_minute(tables["commits"], tables["log_ends"], tables["expiries"], tables["events"])


def test_the_last_row_is_what_the_broker_knows_in_the_end() -> None:
    """Committed offsets and lags of random histories, with whatever expired and was deleted, are the broker's."""
    for seed in range(5):
        history = make_history(seed)
        last = {(row["group_id"], row["topic"], row["partition"]): row for row in _lags(history.rows)}
        there = {key: row for key, row in last.items() if row["committed_offset"] is not None}

        assert {key: row["committed_offset"] for key, row in there.items()} == {
            (group_id, *place): each.offset
            for group_id, group in history.groups.items()
            for place, each in group.offsets.items()
        }
        for (_, topic, partition), row in there.items():
            end = history.log_ends[topic, partition]
            assert row["lag"] == (end - row["committed_offset"] if end else None)


def test_each_minute_has_one_row_of_its_end() -> None:
    """Minutes in which nothing happened have none; before there is a record the lag is unknown."""
    with VirtualBroker() as broker:
        broker.create_topic("orders")
        client = broker.client("a")
        client.commit({("orders", 0): 0}, group_id="billing")
        broker.clock.advance(minutes=5)
        client.produce("orders", 0, [b"1", b"2"])
        client.produce("orders", 0, [b"3"])
        client.commit({("orders", 0): 1}, group_id="billing")
        broker.clock.advance(minutes=1)
        client.produce("orders", 0, [b"4"])
        client.delete_group("billing")
        broker.clock.advance(minutes=1)
        client.produce("orders", 0, [b"5"])
        found = _lags(broker.journal.rows())

    first_at = found[0]["minute_at"]
    assert [
        ((row["minute_at"] - first_at) // MINUTE_MS, row["committed_offset"], row["log_end_offset"], row["lag"])
        for row in found
    ] == [(0, 0, None, None), (5, 1, 3, 2), (6, None, 4, None)]


def test_a_clock_that_goes_back_does_not_mix_up_the_order() -> None:
    """A minute that comes a second time has what was last; the journal's order counts, not the clock's."""
    with VirtualBroker() as broker:
        broker.create_topic("orders")
        client = broker.client("a")
        client.produce("orders", 0, [b"1"] * 10)
        client.commit({("orders", 0): 5}, group_id="billing")
        broker.clock.advance(minutes=2)
        client.commit({("orders", 0): 6}, group_id="billing")
        broker.clock.step_back(minutes=2)
        client.commit({("orders", 0): 7}, group_id="billing")
        found = _lags(broker.journal.rows())

    assert [(row["committed_offset"], row["lag"]) for row in found] == [(7, 3), (6, 4)]


def test_nothing_gives_nothing() -> None:
    """No commits, no rows."""
    assert lag_minute([], [], [], []) == []


def test_a_negative_committed_offset_is_none() -> None:
    """Brokers store it, and clients take it for none; the lag is unknown then."""
    with VirtualBroker() as broker:
        broker.create_topic("orders")
        client = broker.client("a")
        client.produce("orders", 0, [b"1"])
        client.commit({("orders", 0): -(2**63)}, group_id="billing")
        (row,) = _lags(broker.journal.rows())

    assert (row["committed_offset"], row["log_end_offset"], row["lag"]) == (None, 1, None)

"""Members, assignments and rebalances of newer groups: a journal tells of them what the log does."""

from collections import Counter
from typing import Any

import pytest

from fakebroker.analysis.history.decode import decode_record
from fakebroker.analysis.history.log_record import LogRecord
from fakebroker.analysis.pipeline.causes import REQUESTED, UNKNOWN
from fakebroker.testing.virtual_broker import VirtualBroker
from tests.support.chance import SEED
from tests.support.gold_tables import events_of
from tests.support.newer_group import KINDS, random_history
from tests.support.tables_made import assignments, group_states, members, rebalances

pytestmark = pytest.mark.random

Row = dict[str, Any]

SEEDS = range(SEED, SEED + 3 * len(KINDS))


def _log_rows(seed: int) -> list[Row]:
    """The rows of `coordinator_records` of the log of a history."""
    records = (
        LogRecord("log", "file", each.offset, each.partition, each.offset, each.timestamp_ms, each.key, each.value)
        for each in random_history(seed).records
        if not each.is_control
    )
    return [row for record in records for row in decode_record(record) if row["what"] == "record"]


def _without_origin(rows: list[Row]) -> Counter[str]:
    names = ("source", "log_partition", "log_offset", "seq", "part")
    return Counter(str([(name, value) for name, value in row.items() if name not in names]) for row in rows)


def _of_newer(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row["group_type"] != "classic"]


@pytest.mark.parametrize("seed", SEEDS)
def test_members_and_assignments_are_those_of_the_log(seed: int) -> None:
    """Of consumer, share and streams groups, and of those that change: each row, with its time."""
    events, records = events_of(random_history(seed).rows), _log_rows(seed)

    for table in (members, assignments):
        assert _without_origin(_of_newer(table([], events))) == _without_origin(_of_newer(table(records, [])))
    assert _of_newer(members([], events))


@pytest.mark.parametrize("seed", SEEDS)
def test_epochs_are_those_of_the_log(seed: int) -> None:
    """How many members each epoch had, and what they subscribed to; of one moment a log shows the last change only."""
    names = ("group_id", "group_type", "generation", "members", "subscribed_topics", "began_at")

    def of_epochs(rows: list[Row]) -> set[str]:
        return {str([row[name] for name in names]) for row in _of_newer(rows) if row["state"] != "Dead"}

    events, records = events_of(random_history(seed).rows), _log_rows(seed)

    assert of_epochs(group_states(records, [])) <= of_epochs(group_states([], events))


def test_rebalances_of_newer_groups_have_causes() -> None:
    """Each epoch of random histories has one; none is taken for that of a test, or is not known."""
    found = [
        row
        for seed in SEEDS
        for row in rebalances(group_states([], events_of(random_history(seed).rows)))
        if row["group_id"].startswith(("consumer", "share", "streams"))
    ]

    assert {"member joined", "member left", "session expired", "subscription changed", "topics changed"} <= {
        row["cause"] for row in found
    }
    assert not [row["reason"] for row in found if row["cause"] in (REQUESTED, UNKNOWN)]


def test_a_rebalance_lasts_until_members_have_what_they_shall() -> None:
    """It begins with the epoch that a member's join makes, and ends when it has got partitions from the other one."""
    config = {"group.consumer.assignment.interval.ms": 0, "group.consumer.min.assignment.interval.ms": 0}
    with VirtualBroker(config=config) as broker:
        broker.create_topic("orders", partitions=2)
        first, second = broker.client("a"), broker.client("b")
        first.join_consumer_group("billing", ["orders"])
        broker.pass_time(s=1)
        second.join_consumer_group("billing", ["orders"])
        broker.pass_time(s=2)
        first.consumer_group_heartbeat()
        first.consumer_group_heartbeat(owned={"orders": [0]})
        broker.pass_time(s=2)
        second.consumer_group_heartbeat()
        second.leave_consumer_group()
        found = rebalances(group_states([], events_of(broker.journal.rows())))

    assert [(row["cause"], row["trigger"], row["members_before"], row["members"]) for row in found] == [
        ("member joined", first.member_id, None, 1),
        ("member joined", second.member_id, 1, 2),
        ("member left", second.member_id, 2, None),
    ]
    assert [row["duration_ms"] for row in found] == [0, pytest.approx(4000, abs=50), None]


def test_what_a_load_finds_adds_nothing() -> None:
    """The coordinator of a group moves: its members have no further rows, and it goes on as it was."""
    with VirtualBroker() as broker:
        broker.create_topic("orders")
        broker.client("a").join_consumer_group("billing", ["orders"])
        before = events_of(broker.journal.rows())
        broker.coordinator("billing").move(1)
        after = events_of(broker.journal.rows())

    assert [row for row in after if row["how"] == "loaded"]
    assert members([], after) == members([], before)
    assert assignments([], after) == assignments([], before)
    assert {(row["state"], row["members"]) for row in group_states([], after)} == {("Stable", 1)}
    assert len(rebalances(group_states([], after))) == 1


def test_classic_members_of_a_consumer_group_have_its_rows_only() -> None:
    """Answers to their JoinGroup and SyncGroup say less than the records of the group."""
    with VirtualBroker() as broker:
        broker.create_topic("orders", partitions=2)
        broker.client("a").join_consumer_group("billing", ["orders"])
        classic = broker.client("b")
        classic.join("billing", ["orders"])
        classic.sync()
        events = events_of(broker.journal.rows())

    assert {(row["group_type"], row["client_id"]) for row in members([], events)} == {
        ("consumer", "a"),
        ("consumer", "b"),
    }
    assert {row["group_type"] for row in assignments([], events)} == {"consumer"}

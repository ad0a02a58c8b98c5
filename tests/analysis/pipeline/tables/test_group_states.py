"""States of groups: what a journal and a log tell is what the broker itself says."""

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest

from fakebroker.analysis.pipeline.tables.group_states import TABLE
from fakebroker.testing.virtual_broker import VirtualBroker
from tests.analysis.pipeline.hand_made_log import HandMadeLog, member_said
from tests.analysis.pipeline.silver_inputs import SEEDS, history, journal_rows, log_rows
from tests.support.gold_tables import events_of
from tests.support.histories import GroupEnd
from tests.support.newer_group import journal_of_newer_group, random_history
from tests.support.tables_made import group_states

pytestmark = pytest.mark.random

Row = dict[str, Any]


def spans_of(rows: list[Row], group_id: str) -> list[Row]:
    return [row for row in rows if row["group_id"] == group_id]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_last_span_of_a_journal_is_what_the_broker_says(seed: int) -> None:
    """State, generation, protocol type and members at the end of a random history; a group that is gone is Dead."""
    groups = history(seed).groups
    last = {row["group_id"]: row for row in group_states([], journal_rows(seed))}

    for group_id, row in last.items():
        end = groups.get(group_id)
        if end is None or _is_simple(end):
            assert row["state"] == "Dead" or (row["state"], row["generation"]) == ("Empty", 0)
            continue
        assert (row["state"], row["generation"]) == (end.state, end.generation)
        assert row["members"] in (None, len(end.members))
        if row["state"] in ("Stable", "Empty"):
            assert row["members"] is not None
            assert row["protocol_type"] == end.protocol_type
    assert {group_id for group_id, end in groups.items() if end.generation} <= set(last)


def test_a_journal_tells_the_type_of_a_group() -> None:
    """Of a consumer group it knows states and epochs, and by its records how many members it has and their topics."""
    found = group_states([], events_of(journal_of_newer_group()))

    assert [(row["state"], row["generation"], row["members"], row["subscribed_topics"]) for row in found] == [
        ("Stable", 2, 1, ["orders"]),
        ("Empty", 3, 0, []),
        ("Dead", 3, 0, []),
    ]
    assert {(row["group_type"], row["protocol_type"], row["state_at"]) for row in found} == {
        ("consumer", "consumer", None)
    }


@pytest.mark.parametrize("seed", SEEDS)
def test_the_last_span_of_a_newer_group_is_what_the_broker_says(seed: int) -> None:
    """Its type and state at the end of a random history, in which it may have been a classic group; else it is Dead."""
    events = random_history(seed)
    last = {row["group_id"]: row for row in group_states([], events_of(events.rows))}

    assert last
    for group_id, row in last.items():
        kind, state = events.groups.get(group_id, (row["group_type"], "Dead"))
        assert (row["group_type"], row["state"]) == (kind, state)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_last_span_of_a_log_is_what_the_broker_stored(seed: int) -> None:
    """A group that is Stable or Empty in the end is so in the log; another one was Stable or Empty before."""
    groups = history(seed).groups
    last = {row["group_id"]: row for row in group_states(log_rows(seed), [])}

    for group_id, row in last.items():
        end = groups.get(group_id)
        if end is None or _is_simple(end):
            assert row["state"] == "Dead" or (row["state"], row["generation"]) == ("Empty", 0)
        elif end.state in ("Stable", "Empty"):
            assert (row["state"], row["generation"]) == (end.state, end.generation)
            assert row["members"] == len(end.members)
        assert row["state"] in ("Stable", "Empty", "Dead")
    assert {group_id for group_id, end in groups.items() if end.generation} <= set(last)


def _is_simple(end: GroupEnd) -> bool:
    """Whether the group is but its offsets: committed to since it was gone, or never joined. Nothing tells of it."""
    return (end.state, end.generation, end.protocol_type) == ("Empty", 0, None)


@pytest.mark.parametrize("seed", SEEDS)
def test_log_and_journal_tell_the_same(seed: int) -> None:
    """A group is stored in the log as the journal says it was: each generation with members, and each without."""
    names = ("group_id", "state", "generation", "protocol_type", "protocol", "leader", "members", "subscribed_topics")

    def first_of_generations(rows: list[Row]) -> list[tuple[Any, ...]]:
        """Later spans of a generation are left out: loads, and static members that came back (JG-22)."""
        found: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        incarnations: Counter[str] = Counter()
        for row in rows:
            incarnations[row["group_id"]] += row["state"] == "Dead"
            if row["state"] in ("Stable", "Empty") and row["generation"]:
                key = row["group_id"], incarnations[row["group_id"]], row["generation"], row["state"]
                found.setdefault(key, tuple(row[name] for name in names))
        return list(found.values())

    from_log = first_of_generations(group_states(log_rows(seed), []))

    assert from_log == first_of_generations(group_states([], journal_rows(seed)))


def test_random_histories_have_groups_of_every_state() -> None:
    """What is compared seed by seed is not nothing."""
    states = {row["state"] for seed in SEEDS for row in group_states([], journal_rows(seed))}

    assert states == {"PreparingRebalance", "CompletingRebalance", "Stable", "Empty", "Dead"}


@pytest.mark.parametrize("seed", SEEDS)
def test_spans_follow_each_other(seed: int) -> None:
    """A span ends with the beginning of the next one of its group, the last one has no end."""
    rows = group_states(log_rows(seed), journal_rows(seed))
    keys = {(row["source"], row["group_id"]) for row in rows}

    for key in keys:
        spans = [row for row in rows if (row["source"], row["group_id"]) == key]
        assert [row["ended_at"] for row in spans] == [row["began_at"] for row in spans[1:]] + [None]
        assert all(_place(a) < _place(b) for a, b in pairwise(spans))
    assert all(list(row) == list(TABLE.column_names) for row in rows)


def _place(row: Row) -> tuple[Any, ...]:
    return tuple(-1 if row[name] is None else row[name] for name in ("log_offset", "seq", "part"))


def test_a_group_whose_coordinator_moves_is_not_dead() -> None:
    """An Empty group is Empty after the move, since the moment that is stored; one with members is Stable."""
    with VirtualBroker(nodes=2) as broker:
        node_id = broker.coordinator("billing").node_id
        client = broker.client("a", None, node_id)
        client.join("billing")
        client.sync()
        broker.pass_time(s=1)
        broker.coordinator("billing").move(to=3 - node_id)
        broker.pass_time(s=60)
        moved_at = broker.clock.now_ms
        broker.coordinator("billing").move(to=node_id)
        assert broker.group("billing").state == "Empty"
        broker.client("b").metadata()
        rows = _events_of(broker)

    spans = spans_of(group_states([], rows), "billing")

    assert [row["state"] for row in spans][2:] == ["Stable", "Stable", "PreparingRebalance", "Empty", "Empty"]
    assert [row["reason"] for row in spans][3] == spans[-1]["reason"] == "loaded from the log"
    assert spans[-1]["state_at"] == spans[-2]["began_at"] < spans[-1]["began_at"] == moved_at


def _events_of(broker: VirtualBroker) -> list[Row]:
    return [{"request": None, "response": None, **row} for row in broker.journal.rows()]


# Newer groups: our broker has none, so their records are made by hand.


def shown(log: HandMadeLog, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in group_states(log.rows, [])]


def test_the_states_of_a_consumer_group_follow_from_its_epochs() -> None:
    """Empty, Assigning, Reconciling, Stable and Dead as Kafka computes them, once for each change (KIP-848)."""
    log = HandMadeLog()
    log.add(1, "ConsumerGroupMemberMetadata", {"memberId": "m"}, member_said(["orders"]))
    log.add(1, "ConsumerGroupMetadata", {}, {"epoch": 1})
    log.add(2, "ConsumerGroupTargetAssignmentMetadata", {}, {"assignmentEpoch": 1})
    log.add(3, "ConsumerGroupCurrentMemberAssignment", {"memberId": "m"}, {"memberEpoch": 1, "state": 1})
    log.add(4, "ConsumerGroupCurrentMemberAssignment", {"memberId": "m"}, {"memberEpoch": 1, "state": 0})
    log.add(5, "ConsumerGroupTargetAssignmentMember", {"memberId": "m"}, None)
    log.add(6, "ConsumerGroupCurrentMemberAssignment", {"memberId": "m"}, None)
    log.add(6, "ConsumerGroupMemberMetadata", {"memberId": "m"}, None)
    log.add(6, "ConsumerGroupMetadata", {}, {"epoch": 2})
    log.add(7, "ConsumerGroupMetadata", {}, None)

    assert shown(log, "began_at", "state", "generation", "members", "group_type", "log_offset") == [
        (1, "Assigning", 1, 1, "consumer", 1),
        (2, "Reconciling", 1, 1, "consumer", 2),
        (4, "Stable", 1, 1, "consumer", 4),
        (6, "Empty", 2, 0, "consumer", 8),
        (7, "Dead", None, 0, "consumer", 9),
    ]


def test_a_consumer_group_subscribes_to_names_and_to_what_expressions_stand_for() -> None:
    """The topics of all members together; those of an expression as far as Kafka has resolved it."""
    log = HandMadeLog()
    log.add(1, "ConsumerGroupMetadata", {}, {"epoch": 1})
    log.add(2, "ConsumerGroupMemberMetadata", {"memberId": "a"}, member_said(["x", "y"]))
    log.add(3, "ConsumerGroupMemberMetadata", {"memberId": "b"}, member_said(["y"], "z.*"))
    log.add(4, "ConsumerGroupRegularExpression", {"regularExpression": "z.*"}, {"topics": ["z1"]})
    log.add(5, "ConsumerGroupMemberMetadata", {"memberId": "a"}, None)
    log.add(6, "ConsumerGroupMemberMetadata", {"memberId": "b"}, member_said(["x"]))

    assert shown(log, "began_at", "subscribed_topics") == [
        (1, []), (2, ["x", "y"]), (3, ["x", "y"]), (4, ["x", "y", "z1"]), (5, ["y", "z1"]), (6, ["x"]),
    ]  # fmt: skip


def test_share_and_streams_groups() -> None:
    """A share group is Stable while it has members; a streams group reads what its topology names."""
    log = HandMadeLog()
    log.add(1, "ShareGroupMetadata", {}, {"epoch": 1})
    log.add(2, "ShareGroupMemberMetadata", {"memberId": "a"}, {"subscribedTopicNames": ["x"]})
    assert shown(log, "group_type", "state", "subscribed_topics") == [
        ("share", "Empty", []),
        ("share", "Stable", ["x"]),
    ]

    part = {"sourceTopics": ["b"], "sourceTopicRegex": [], "repartitionSourceTopics": [{"name": "a"}]}
    log = HandMadeLog()
    log.add(1, "StreamsGroupMetadata", {}, {"epoch": 1})
    log.add(1, "StreamsGroupMemberMetadata", {"memberId": "a"}, {"clientId": "a"})
    log.add(1, "StreamsGroupTopology", {}, {"subtopologies": [part]})
    log.add(2, "StreamsGroupTopology", {}, {"subtopologies": [{**part, "sourceTopicRegex": ["x.*"]}]})
    assert shown(log, "group_type", "subscribed_topics") == [("streams", ["a", "b"]), ("streams", None)]


def test_a_classic_group_that_becomes_a_consumer_group() -> None:
    """The upgrade writes a tombstone for the classic group, then the records of the new one (KIP-848)."""
    log = HandMadeLog()
    value = {"protocolType": "consumer", "generation": 3, "protocol": "range", "leader": "m", "members": []}
    log.add(1, "GroupMetadata", {"group": "g"}, value)
    log.add(2, "GroupMetadata", {"group": "g"}, None)
    log.add(2, "ConsumerGroupMemberMetadata", {"memberId": "m"}, member_said(["x"]))
    log.add(2, "ConsumerGroupMetadata", {}, {"epoch": 4})

    assert shown(log, "began_at", "group_type", "state", "generation", "state_at") == [
        (1, "classic", "Empty", 3, None),
        (2, "classic", "Dead", None, None),
        (2, "consumer", "Assigning", 4, None),
    ]


@pytest.mark.rules("EX-7")
def test_bytes_that_are_no_subscription_leave_the_topics_unknown() -> None:
    """A subscription that cannot be read makes the topics of the whole group unknown (EX-7)."""
    member = {"memberId": "m", "clientId": "a", "clientHost": "/h", "sessionTimeout": 1, "assignment": {"hex": ""}}
    good = {"hex": "000000000001000178ffffffff"}
    for subscription, topics in ((good, ["x"]), ({"hex": "0000"}, None), ({"hex": ""}, None)):
        members = [{**member, "subscription": good}, {**member, "subscription": subscription}]
        log = HandMadeLog()
        value = {"protocolType": "consumer", "generation": 1, "protocol": "range", "leader": "m", "members": members}
        log.add(1, "GroupMetadata", {"group": "g"}, value)
        assert shown(log, "state", "members", "subscribed_topics") == [("Stable", 2, topics)]

"""Members, assignments, requests, ends of logs and expiries, against what the broker itself says."""

import json
from typing import Any

import pytest

from fakebroker.analysis.pipeline.tables import table
from fakebroker.testing.virtual_broker import VirtualBroker
from tests.analysis.pipeline.hand_made_log import TOPIC_ID, newer_groups
from tests.analysis.pipeline.silver_inputs import SEEDS, history, journal_rows, log_rows
from tests.support.tables_made import assignments, expiries, log_ends, members, requests

pytestmark = pytest.mark.random

Row = dict[str, Any]


@pytest.mark.parametrize("seed", SEEDS)
def test_members_in_the_end_are_those_of_the_broker(seed: int) -> None:
    """The members of each group that is Stable in the end are those of its last generation, in a log and a journal."""
    from_log, from_journal = members(log_rows(seed), []), members([], journal_rows(seed))

    for group_id, end in history(seed).groups.items():
        if end.state != "Stable":
            continue
        rows = [row for row in from_log if row["group_id"] == group_id]
        last = [row for row in rows if row["log_offset"] == rows[-1]["log_offset"]]
        assert {row["member_id"] for row in last} == set(end.members)
        assert {row["generation"] for row in last} == {end.generation}
        joined = {
            row["member_id"]
            for row in from_journal
            if row["group_id"] == group_id and row["generation"] == end.generation
        }
        assert set(end.members) <= joined


@pytest.mark.parametrize("seed", SEEDS)
def test_log_and_journal_know_the_same_of_a_member(seed: int) -> None:
    """What a dynamic member said of itself is the same in both, apart from its host, which journals do not have.

    A static member that came back has in the log what it was before, as in Kafka.
    """
    names = ("group_id", "generation", "member_id", "client_id", "rebalance_timeout_ms",
             "session_timeout_ms", "protocol", "subscribed_topics")  # fmt: skip

    from_log, from_journal = members(log_rows(seed), []), members([], journal_rows(seed))
    stored = {(row["group_id"], row["generation"], row["member_id"]) for row in from_log}
    dynamic = [row for row in from_journal if row["group_instance_id"] is None]
    both = [row for row in dynamic if (row["group_id"], row["generation"], row["member_id"]) in stored]

    assert {repr([row[name] for name in names]) for row in both} <= {
        repr([row[name] for name in names]) for row in from_log
    }


@pytest.mark.parametrize("seed", SEEDS)
def test_assignments_of_a_journal_are_stored(seed: int) -> None:
    """What a member got in SyncGroup is in the log, for the same generation."""
    names = ("group_id", "generation", "member_id", "topic", "partition")
    stored = {tuple(row[name] for name in names) for row in assignments(log_rows(seed), [])}
    answered = {tuple(row[name] for name in names) for row in assignments([], journal_rows(seed))}

    assert answered <= stored


@pytest.mark.parametrize("seed", SEEDS)
def test_log_ends_in_the_end_are_those_of_the_broker(seed: int) -> None:
    """The last end of each partition is where its log ends; nothing is appended to the others."""
    last = {(row["topic"], row["partition"]): row["log_end_offset"] for row in log_ends(journal_rows(seed))}

    assert last == {partition: end for partition, end in history(seed).log_ends.items() if end}


@pytest.mark.parametrize("seed", SEEDS)
def test_every_row_has_the_columns_of_its_table_and_its_own_key(seed: int) -> None:
    """Names and order are the contract's; keys are unique, and what is not nullable is there."""
    records, events = log_rows(seed), journal_rows(seed)
    made = {
        "members": members(records, events),
        "assignments": assignments(records, events),
        "requests": requests(events),
        "log_ends": log_ends(events),
        "expiries": expiries(events),
    }
    for name, rows in made.items():
        contract = table(name)
        assert all(set(row) == set(contract.column_names) for row in rows)
        assert len({tuple(row[each] for each in contract.key) for row in rows}) == len(rows)
        required = [column.name for column in contract.columns if not column.is_nullable]
        assert [row for row in rows for each in required if row[each] is None] == []


def test_each_request_and_each_expired_offset_is_a_row() -> None:
    """There are as many as the journals have lines of that kind; over all histories there are some of each table."""
    for seed in SEEDS:
        kinds = [row["kind"] for row in journal_rows(seed)]
        assert len(requests(journal_rows(seed))) == kinds.count("request") > 0
        assert len(expiries(journal_rows(seed))) == kinds.count("offset_expired")
    for made in (expiries, log_ends):
        assert any(made(journal_rows(seed)) for seed in SEEDS)
    for answered in (members, assignments):
        assert any(answered([], journal_rows(seed)) for seed in SEEDS)
        assert any(answered(log_rows(seed), []) for seed in SEEDS)


def test_records_of_a_producer_that_tries_again_count_once() -> None:
    """The answer to a repeated batch has the offset of the first one: that is not where the log ends now."""
    with VirtualBroker() as broker:
        broker.create_topic("orders")
        client = broker.client("a")
        client.init_producer_id()
        client.produce("orders", 0, [b"1", b"2"], idempotent=True)
        client.produce("orders", 0, [b"3"], idempotent=True)
        client.produce("orders", 0, [b"1", b"2"], idempotent=True, base_sequence=0)
        rows = [{"request": None, **row} for row in broker.journal.rows()]
        end = broker.topic("orders").end_offsets[0]

    ends = [row["log_end_offset"] for row in log_ends(rows)]

    assert [row["kind"] for row in rows].count("records_appended") == 3
    assert ends == [2, 3]
    assert end == 3


def test_a_cut_assignment_and_one_of_another_protocol_give_no_rows() -> None:
    """Bytes that were cut, or are not those of the consumer protocol, are nobody's partitions."""
    good = {"hex": "0000000000010001780000000100000007ffffffff"}

    def answered(assignment: Row, protocol_type: str | None = "consumer") -> list[Row]:
        request = {"GroupId": "g", "GenerationId": 1, "MemberId": "m"}
        response = {"ErrorCode": 0, "ProtocolType": protocol_type, "Assignment": assignment}
        row = {"kind": "request", "api": "SyncGroup", "errors": [], "run": "r", "seq": 1, "part": 0, "wall_ms": 5}
        return assignments([], [{**row, "request": json.dumps(request), "response": json.dumps(response)}])

    assert [(row["topic"], row["partition"]) for row in answered(good)] == [("x", 7)]
    assert answered(good, None) == answered(good)
    assert answered({**good, "bytes": 4_000}) == answered(good, "connect") == answered({"hex": "00"}) == []


def test_members_of_newer_groups_have_their_epochs() -> None:
    """A member has a row when it says something of itself, and when its epoch is another; then with what it said."""
    said = {
        "instanceId": None,
        "clientId": "c",
        "clientHost": "/h",
        "subscribedTopicNames": ["x"],
        "rebalanceTimeoutMs": 9,
    }
    records: list[tuple[str, dict[str, Any] | None]] = [
        ("MemberMetadata", said),
        ("CurrentMemberAssignment", {"memberEpoch": 1, "state": 1, "assignedPartitions": []}),
        ("CurrentMemberAssignment", {"memberEpoch": 1, "state": 0, "assignedPartitions": [_ids("T", [1, 2])]}),
        ("MemberMetadata", {**said, "subscribedTopicNames": ["y"]}),
        ("CurrentMemberAssignment", {"memberEpoch": 2, "state": 0, "assignedPartitions": []}),
        ("MemberMetadata", None),
    ]
    rows = [_record(number, f"ConsumerGroup{kind}", value) for number, (kind, value) in enumerate(records)]

    assert [(row["log_offset"], row["generation"], row["subscribed_topics"]) for row in members(rows, [])] == [
        (0, None, ["x"]), (1, 1, ["x"]), (3, 1, ["y"]), (4, 2, ["y"]),
    ]  # fmt: skip
    names = ("log_offset", "generation", "topic", "partition")
    assert [tuple(row[name] for name in names) for row in assignments(rows, [])] == [(2, 1, "T", 1), (2, 1, "T", 2)]


def test_tasks_of_a_streams_member_are_its_assignment() -> None:
    """The active tasks count; the subtopology stands for the topics."""
    tasks = {
        "memberEpoch": 1,
        "state": 0,
        "activeTasks": [{"subtopologyId": "0", "partitions": [3]}],
        "standbyTasks": [],
    }

    (row,) = assignments([_record(0, "StreamsGroupCurrentMemberAssignment", tasks)], [])

    assert (row["group_type"], row["topic"], row["partition"]) == ("streams", "0", 3)


def test_groups_of_each_newer_type_have_members_and_assignments() -> None:
    """From the records as Kafka writes them: who was in which epoch, and had what."""
    found = members(newer_groups(), [])
    held = assignments(newer_groups(), [])

    for kind in ("consumer", "share", "streams"):
        rows = [row for row in found if row["group_type"] == kind]
        assert {(row["member_id"], row["generation"]) for row in rows} >= {("m", 1), ("n", 2), ("m", 3)}
        assert {row["client_id"] for row in rows} == {"c"}
        topics = {row["topic"] for row in held if row["group_type"] == kind}
        assert topics == ({"0"} if kind == "streams" else {TOPIC_ID})


def _ids(topic_id: str, partitions: list[int]) -> Row:
    return {"topicId": topic_id, "partitions": partitions}


def _record(offset: int, kind: str, value: Row | None) -> Row:
    return {
        "source": "log", "group_id": "g", "log_partition": 0, "log_offset": offset, "kind": kind, "at": offset,
        "key": json.dumps({"groupId": "g", "memberId": "m"}), "value": None if value is None else json.dumps(value),
    }  # fmt: skip

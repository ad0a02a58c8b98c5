"""Messages on one line: what they say, in the notation of scenario files."""

from typing import Any

import pytest

from fakebroker.protocol.records.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    encode_assignment,
    encode_subscription,
)
from fakebroker.scenarios.running.message_text import answer_text, request_text, value_text


def in_hex(data: bytes) -> dict[str, str]:
    return {"hex": data.hex()}


def partition(index: int, **fields: Any) -> dict[str, Any]:
    return {"PartitionIndex": index, **fields}


SUBSCRIPTION = in_hex(
    encode_subscription(
        ConsumerProtocolSubscription(topics=["orders"], owned_partitions=[("orders", [0])], rack_id="a")
    )
)
ASSIGNMENT = in_hex(encode_assignment(ConsumerProtocolAssignment(assigned_partitions=[("orders", [0, 1])])))


@pytest.mark.parametrize(
    ("api", "version", "request_json", "text"),
    [
        ("Heartbeat", 4, {"GroupId": "billing", "GenerationId": -1, "MemberId": ""}, "group_id: billing"),
        (
            "OffsetCommit",
            8,
            {
                "GroupId": "g",
                "Topics": [
                    {"Name": "a", "Partitions": [partition(0, CommittedOffset=0)]},
                    {"Name": "b", "Partitions": [partition(0, CommittedOffset=9, CommittedMetadata="x y")]},
                ],
            },
            "group_id: g, a-0: {committed_offset: 0}, b-0: {committed_offset: 9, committed_metadata: x y}",
        ),
        (
            "OffsetFetch",
            7,
            {"GroupId": "g", "Topics": [{"Name": "a", "PartitionIndexes": [0, 2]}]},
            "group_id: g, a-0, a-2",
        ),
        (
            "JoinGroup",
            5,
            {"GroupId": "g", "Protocols": [{"Name": "range", "Metadata": SUBSCRIPTION}]},
            "group_id: g, protocols: [range: {topics: [orders], owned: {orders: [0]}, rack: a}]",
        ),
        (
            "SyncGroup",
            3,
            {"GroupId": "g", "Assignments": [{"MemberId": "member-1", "Assignment": ASSIGNMENT}]},
            "group_id: g, assignments: [member-1: {orders: [0, 1]}]",
        ),
        ("JoinGroup", 5, {"Protocols": [{"Name": "x", "Metadata": in_hex(b"\x00\x00\xff")}]}, "protocols: [x: 0000ff]"),
    ],
)
def test_a_request_is_reported_without_what_is_usual(api: str, version: int, request_json: Any, text: str) -> None:
    """Numbers that mean something stay, 0 too; topics are reported by partition; bytes as what they hold."""
    assert request_text(api, version, request_json) == text


def test_codes_and_partitions_by_other_names() -> None:
    """AddPartitionsToTxn and ElectLeaders call the code and the partition otherwise; settings make a topic whole."""
    added = {"Name": "a", "ResultsByPartition": [partition(0, PartitionErrorCode=3)]}
    elected = {"Topic": "a", "PartitionResult": [{"PartitionId": 1, "ErrorCode": 80, "ErrorMessage": None}]}
    made = {"Name": "a", "NumPartitions": -1, "Assignments": [partition(0, BrokerIds=[1])], "Configs": []}

    assert answer_text("AddPartitionsToTxn", 3, {"ResultsByTopicV3AndBelow": [added]}) == (
        "UNKNOWN_TOPIC_OR_PARTITION  a-0: {error: UNKNOWN_TOPIC_OR_PARTITION}"
    )
    assert answer_text("ElectLeaders", 0, {"ReplicaElectionResults": [elected]}) == (
        "PREFERRED_LEADER_NOT_AVAILABLE  a-1: {error: PREFERRED_LEADER_NOT_AVAILABLE}"
    )
    assert request_text("CreateTopics", 5, {"Topics": [made]}) == (
        "topics: [a: {num_partitions: -1, assignments: [{partition_index: 0, broker_ids: [1]}]}]"
    )


def test_an_answer_begins_with_its_outcome() -> None:
    """The error of the whole, else the first inside, else ok."""
    refused = {"Topics": [{"Name": "a", "Partitions": [partition(0, ErrorCode=0), partition(1, ErrorCode=16)]}]}

    assert answer_text("Heartbeat", 4, {"ErrorCode": 0, "ThrottleTimeMs": 0}) == "ok"
    assert answer_text("Heartbeat", 4, {"ErrorCode": 27, "ThrottleTimeMs": 5}) == (
        "REBALANCE_IN_PROGRESS  throttle_time_ms: 5"
    )
    assert answer_text("OffsetCommit", 8, refused) == "NOT_COORDINATOR  a-0, a-1: {error: NOT_COORDINATOR}"


def test_numbers_that_only_mean_an_error_are_left_out() -> None:
    """A high watermark of -1 says what the error has said."""
    data = {"PartitionIndex": 0, "ErrorCode": 1, "HighWatermark": -1, "LastStableOffset": -1, "LogStartOffset": -1}
    answer = {"Responses": [{"Topic": "a", "Partitions": [data]}]}

    assert answer_text("Fetch", 11, answer) == "OFFSET_OUT_OF_RANGE  a-0: {error: OFFSET_OUT_OF_RANGE}"


def test_records_are_reported_as_what_they_hold() -> None:
    """Without the fields that they do not have."""
    record = {"offset": 3, "timestamp_ms": "+2h", "key": None, "value": "v", "headers": {}}
    data = {"PartitionIndex": 0, "ErrorCode": 0, "HighWatermark": 4, "LastStableOffset": 4, "Records": [record]}

    assert answer_text("Fetch", 11, {"Responses": [{"Topic": "a", "Partitions": [data]}]}) == (
        "ok  a-0: {high_watermark: 4, records: [{offset: 3, timestamp: +2h, value: v}]}"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        ("", '""'),
        ("a b", "a b"),
        ("a: b", '"a: b"'),
        ('say "x"', r'"say \"x\""'),
        ([1, {"a": 2}], "[1, {a: 2}]"),
        (list(range(20)), "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, ... 8 more]"),
        ("x" * 1000, f'"{"x" * 400}... (1,000 characters)"'),
    ],
)
def test_values_are_reported_on_one_line(value: Any, text: str) -> None:
    """In the notation of scenario files; what is long is cut."""
    assert value_text(value) == text

"""A played scenario as text: complete, compact, the same in every process."""

from typing import Any

import pytest

from fakebroker.broker.core.events import FaultHit
from fakebroker.scenarios.happenings import BrokerEvent, Failed, Gave, Happening, Received, Sent, Skipped, StepBegan
from fakebroker.scenarios.running.transcript import WIDTH, tail_of, time_text, transcript_of
from fakebroker.scenarios.script import Scenario, SourceLine, Step
from tests.support.scenarios import scenario

FILE = "scenarios/two-members.yaml"


def two_members(**changes: Any) -> Scenario:
    """What is played, or rather what the happenings of these tests belong to."""
    header = {"name": "two-members", "about": "Two members share a group.", "sources": ["KIP-211"], "path": FILE}
    return scenario((), **{**header, **changes})


def step(text: str = "a: heartbeat", line: int = 8, file: str = FILE) -> Step:
    """A step of a file."""
    return Step(SourceLine(file, line), text)


def text_of(*happenings: Happening) -> str:
    """The dialogue of some happenings, without header and ending."""
    return transcript_of(two_members(), happenings).split("\n\n")[1]


def test_no_line_is_wider_than_a_screen() -> None:
    """What is longer is continued on lines of its own."""
    happenings = [StepBegan(0, step("a: request " + "word " * 60)), Failed(0, step(), ("wrong " * 100,))]

    assert max(map(len, transcript_of(two_members(about="long " * 80), happenings).splitlines())) <= WIDTH


def test_a_long_answer_is_cut() -> None:
    """A topic of a thousand partitions is no reading for people."""
    partitions = [
        {"ErrorCode": 0, "PartitionIndex": n, "LeaderId": 1, "LeaderEpoch": 0, "ReplicaNodes": [1], "IsrNodes": [1]}
        for n in range(1000)
    ]
    answer = {"Brokers": [], "Topics": [{"ErrorCode": 0, "Name": "orders", "Partitions": partitions}]}
    text = text_of(StepBegan(0, step()), Received(0, "a", "Metadata", 8, answer, 1, 0))

    assert "994 more partitions" in text
    assert len(text.splitlines()) < 15


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "+00:00:00.000"),
        (70_250, "+00:01:10.250"),
        (3 * 86_400_000 + 10_250, "+3d 00:00:10.250"),
        (-500, "-00:00:00.500"),
    ],
)
def test_times_are_reported_since_the_beginning(ms: int, text: str) -> None:
    """Days where there are any; a clock that was set back is before the beginning."""
    assert time_text(ms) == text


def test_what_else_happens_is_reported() -> None:
    """A fault that hits, what a power gives, a step that is skipped, one that fails, an answer that never comes."""
    hit = FaultHit(1, "OffsetCommit: error NOT_COORDINATOR", 1, 3, "a", "OffsetCommit", 9, 4)
    happenings = [
        StepBegan(0, step()),
        BrokerEvent(0, hit),
        Gave(0, step(), {"offset": 7, "name": None}),
        Skipped(5, step(), "a real Kafka has no such power"),
        Failed(5, step(), ("error is NONE, expected FENCED_INSTANCE_ID",)),
        Received(2500, "a", "Heartbeat", 4, None, 1, 2500, "closed by the broker"),
    ]

    assert text_of(*happenings).splitlines() == [
        "+00:00:00.000  8  a: heartbeat",
        "                    fault (OffsetCommit: error NOT_COORDINATOR) hits OffsetCommit v9 of a",
        "                    gives {offset: 7, name: null}",
        "+00:00:00.005       SKIPPED: a real Kafka has no such power",
        "                    FAILED: error is NONE, expected FENCED_INSTANCE_ID",
        "+00:00:02.500       a <- Heartbeat after 2.5 s  no answer: closed by the broker",
    ]


def test_steps_of_an_included_file_are_reported_with_the_file() -> None:
    """Its lines are not those of the scenario."""
    happenings = [StepBegan(0, step(line=9)), StepBegan(0, step(line=3, file="scenarios/common/two.yaml"))]

    assert text_of(*happenings).splitlines()[1] == "               two:3  a: heartbeat"


def test_an_api_or_message_that_is_unknown_is_reported_as_it_is() -> None:
    """A raw request may be anything."""
    sent = Sent(0, "a", "Fetch", 99, {"Anything": [1, {"hex": "00ff"}]}, 1)

    assert "a -> Fetch v99  Anything: [1, {hex: 00ff}]" in text_of(StepBegan(0, step()), sent)
    assert "a -> Fetch v4  bytes as they are" in text_of(StepBegan(0, step()), Sent(0, "a", "Fetch", 4, None, 1))


def beat(at_ms: int, actor: str, number: int, error: int = 0) -> list[Happening]:
    """A heartbeat and its answer."""
    request = {"GroupId": "g", "GenerationId": 1, "MemberId": actor}
    return [
        Sent(at_ms, actor, "Heartbeat", 4, request, number),
        Received(at_ms, actor, "Heartbeat", 4, {"ErrorCode": error}, number, 0),
    ]


def test_heartbeats_that_say_the_same_are_counted() -> None:
    """A member of a group sends thousands in a day; another member is reported."""
    happenings: list[Happening] = [StepBegan(0, step("pass: 1m"))]
    for number in range(5):
        happenings += beat(number * 1000, "a", 2 * number)
        happenings += beat(number * 1000 + 500, "b", 2 * number + 1)
    happenings += beat(6000, "a", 10, error=27)

    assert text_of(*happenings).splitlines() == [
        "+00:00:00.000  8  pass: 1m",
        "                    a -> Heartbeat v4  group_id: g, generation_id: 1, member_id: member-1",
        "                    a <- Heartbeat  ok",
        "+00:00:00.500       b -> Heartbeat v4  group_id: g, generation_id: 1, member_id: member-2",
        "                    b <- Heartbeat  ok",
        "+00:00:04.000       a heartbeats 4 more times  ok",
        "+00:00:04.500       b heartbeats 4 more times  ok",
        "+00:00:06.000       a -> Heartbeat v4  group_id: g, generation_id: 1, member_id: member-1",
        "                    a <- Heartbeat  REBALANCE_IN_PROGRESS",
    ]


def test_control_characters_do_not_reach_the_screen() -> None:
    """What a client or a file says cannot move the cursor or begin a new line."""
    sent = Sent(0, "a", "Heartbeat", 4, {"GroupId": "b\n\x1b[31m"}, 1)

    assert r"group_id: \"b\n\x1b[31m\"".replace('\\"', '"') in text_of(StepBegan(0, step()), sent)


def test_the_tail_is_the_last_part() -> None:
    """And says how much was before."""
    lines = tail_of(two_members(), [StepBegan(n, step()) for n in range(10)], max_lines=4).splitlines()

    assert lines[0] == "... 6 lines before"
    assert len(lines) == 5


def test_the_header_says_what_is_played() -> None:
    """Everything that makes the broker what it is."""
    made = two_members(racks=["a", None], config={"offsets.retention.minutes": 60}, parameters={"retention": "7d"})

    assert (
        transcript_of(made, [])
        == """\
two-members: Two members share a group.
  source KIP-211
  release 4.3, profile test, 1 node, seed 7, racks [a, null]
  config offsets.retention.minutes: 60
  parameters retention: 7d
  topics orders: {partitions: 2}


ended at +00:00:00.000 after 0 steps
"""
    )


def test_a_partition_that_is_named_twice_is_reported_twice() -> None:
    """One entry for each partition would hide what the request asks."""
    partition = {"PartitionIndex": 0, "Timestamp": 7}
    request = {"ReplicaId": -1, "Topics": [{"Name": "orders", "Partitions": [partition, partition]}]}
    text = text_of(StepBegan(0, step()), Sent(0, "a", "ListOffsets", 1, request, 1))

    assert text.count("partition_index: 0") == 2

"""Where two plays differ in what clients saw."""

from typing import Any

import pytest

from fakebroker.scenarios.happenings import Failed, Happening, Received, Sent, StepBegan
from fakebroker.scenarios.on_kafka.two_plays import differences_between, fails_in_both
from fakebroker.scenarios.playing.player import Played
from fakebroker.scenarios.script import Scenario
from tests.scenarios.on_kafka.steps import client_step, expect, scenario

BEAT = client_step(3, "a", "heartbeat")
KAFKAS_MS, OUR_MS = 1_790_000_000_000, 1_767_225_600_000
STORY = scenario([BEAT])


def exchange(
    number: int, response: Any, api: str = "Heartbeat", waited_ms: int = 0, actor: str = "a", version: int = 4
) -> list[Happening]:
    """A step with a request and its answer; None for one that is never answered."""
    happenings: list[Happening] = [StepBegan(0, BEAT), Sent(0, actor, api, version, {"GroupId": "billing"}, number)]
    if response is not None:
        happenings.append(Received(waited_ms, actor, api, version, response, number, waited_ms))
    return happenings


def played(happenings: list[Happening], start_wall_ms: int) -> Played:
    """What came of one of the two."""
    return Played([], happenings, [], took_ms=0, virtual_ms=0, start_wall_ms=start_wall_ms)


def differences(kafkas: list[Happening], ours: list[Happening], story: Scenario = STORY) -> list[str]:
    """The differences of two plays of a story."""
    return [str(each) for each in differences_between(story, played(kafkas, KAFKAS_MS), played(ours, OUR_MS))]


def test_an_error_that_only_one_answers_is_a_difference() -> None:
    """It is reported by its name, with the step and the request."""
    found = differences(exchange(1, {"ErrorCode": 27}), exchange(1, {"ErrorCode": 0}))

    assert found == ["line 3: a: heartbeat: Heartbeat v4 of a: ErrorCode: fakebroker NONE, Kafka REBALANCE_IN_PROGRESS"]


def test_ids_and_times_of_the_two_runs_are_the_same_thing_by_meaning() -> None:
    """A member id is whatever its broker made of it, if always the same; a time counts from the answer."""
    kafkas = [*exchange(1, {"MemberId": "a-1"}), *exchange(2, {"MemberId": "a-1", "Timestamp": KAFKAS_MS})]
    ours = [*exchange(1, {"MemberId": "a-7"}), *exchange(2, {"MemberId": "a-7", "Timestamp": OUR_MS})]
    another = [*exchange(1, {"MemberId": "a-7"}), *exchange(2, {"MemberId": "a-8", "Timestamp": OUR_MS - 9_000})]

    assert differences(kafkas, ours) == []
    assert [text.partition("of a: ")[2].partition(":")[0] for text in differences(kafkas, another)] == [
        "MemberId",
        "Timestamp",
    ]


@pytest.mark.parametrize(
    ("kafkas", "ours", "said"),
    [
        (exchange(1, {}), [], "it is only sent on Kafka"),
        ([], exchange(1, {}), "it is only sent on fakebroker"),
        (exchange(1, {}, "JoinGroup"), exchange(1, {}), "on fakebroker a sends Heartbeat"),
        (exchange(1, None), exchange(1, {}), "only fakebroker answers"),
        (
            exchange(1, {"ErrorCode": 27}),
            exchange(1, {}, version=3),
            "Heartbeat v4 of a: on fakebroker it is sent in v3",
        ),
        (
            exchange(1, {}, waited_ms=6_000),
            exchange(1, {}, waited_ms=3_000),
            "answered after 3000 ms, by Kafka after 6000",
        ),
        (
            exchange(1, {}, waited_ms=1_000),
            exchange(1, {}, waited_ms=3_000),
            "answered after 3000 ms, by Kafka after 1000",
        ),
    ],
)
def test_requests_without_their_like_and_other_waits_are_differences(
    kafkas: list[Happening], ours: list[Happening], said: str
) -> None:
    """An actor that goes another way is reported once, not for each request that follows."""
    (found,) = differences(kafkas, ours)

    assert said in found


def test_a_wait_is_as_long_as_the_steps_that_end_it() -> None:
    """A JoinGroup that another actor's steps complete waits for these, which take no time in virtual time."""
    waiting = [StepBegan(0, BEAT), Sent(0, "b", "JoinGroup", 9, {}, 1), *[StepBegan(0, BEAT)] * 5]
    kafkas = [*waiting, Received(2_000, "b", "JoinGroup", 9, {}, 1, 2_000)]
    ours = [*waiting, Received(0, "b", "JoinGroup", 9, {}, 1, 0)]

    assert differences(kafkas, ours) == []


def test_the_heartbeats_of_an_automatic_member_are_not_counted() -> None:
    """How many there are depends on the time that other steps take; one that is refused counts."""
    story = scenario([client_step(2, "a", "consume", group_id="billing", topics=["orders"]), BEAT])
    kafkas = [*exchange(1, {"ErrorCode": 0}), *exchange(2, {"ErrorCode": 0}), *exchange(3, {"ErrorCode": 27})]

    assert differences(kafkas, [*exchange(1, {"ErrorCode": 0}), *exchange(2, {"ErrorCode": 27})], story) == []
    assert differences(kafkas, exchange(1, {"ErrorCode": 0}), story) == [
        "line 3: a: heartbeat: Heartbeat v4 of a: it is only sent on Kafka"
    ]


def test_an_expectation_that_holds_in_one_play_only_is_a_difference() -> None:
    """One that holds in neither is distinguished: a scenario without some of its steps may have such ones."""
    look = expect(5, "group", {"state": "Stable"}, group_id="billing")
    failed: list[Happening] = [StepBegan(0, look), Failed(0, look, ("it is Empty",))]

    assert differences(failed, []) == ["line 5: expect: group: does not hold on Kafka: it is Empty"]
    assert differences([], failed) == ["line 5: expect: group: holds on Kafka, not on fakebroker: it is Empty"]
    assert differences(failed, failed) == []
    assert fails_in_both(played(failed, 0), played(failed, 0)) == ["line 5: expect: group: it is Empty"]


def test_records_are_compared_by_what_they_hold() -> None:
    """Their times are those of the producers, so of the two runs."""

    def fetched(value: str, timestamp_ms: int) -> list[Happening]:
        records = [{"offset": 0, "timestamp_ms": timestamp_ms, "key": None, "value": value}]
        return exchange(1, {"Responses": [{"Topic": "orders", "Partitions": [{"Records": records}]}]}, "Fetch")

    assert differences(fetched("a", KAFKAS_MS), fetched("a", OUR_MS)) == []
    assert "value: fakebroker 'b', Kafka 'a'" in differences(fetched("a", 5), fetched("b", 5))[0]


def test_what_others_have_on_the_same_kafka_is_no_difference() -> None:
    """In the list of all groups only those of the play count: their names have its suffix."""
    own = {"GroupId": "billing.7"}
    kafkas = exchange(1, {"Groups": [{"GroupId": "theirs"}, own]}, "ListGroups")
    ours = exchange(1, {"Groups": [own]}, "ListGroups")

    plays = played(kafkas, KAFKAS_MS), played(ours, OUR_MS)
    assert list(differences_between(STORY, *plays, suffix=".7")) == []
    assert len(differences_between(STORY, *plays)) == 1


def test_members_are_distinguished_by_what_they_were_answered_themselves() -> None:
    """The leader's request is the first one sent and the last one answered: its list of members comes in any order."""

    def play(b: str, c: str, listed: list[str]) -> list[Happening]:
        members = [{"MemberId": each, "Metadata": "the same"} for each in listed]
        return [
            *exchange(1, None, "JoinGroup"),
            *exchange(2, {"MemberId": b}, "JoinGroup", actor="b"),
            *exchange(3, {"MemberId": c}, "JoinGroup", actor="c"),
            Received(0, "a", "JoinGroup", 4, {"MemberId": "a-1", "Members": members}, 1, 0),
        ]

    assert differences(play("b-1", "c-1", ["c-1", "b-1"]), play("b-9", "c-9", ["b-9", "c-9"])) == []

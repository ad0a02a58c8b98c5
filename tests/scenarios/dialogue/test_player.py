"""The player notices what is not as recorded: a judge that passes everything would be worthless."""

import dataclasses
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fakebroker.client.connection import ClientConnection
from fakebroker.protocol.listeners import Address
from fakebroker.scenarios.dialogue.player import LATE_MS, Player
from fakebroker.scenarios.dialogue.run import play_in_sim
from fakebroker.scenarios.dialogue.script import Dialogue, read_dialogue
from fakebroker.testing.exchanges.kinds import (
    Closed,
    Ready,
    Receive,
    Send,
    Silent,
    Sleep,
    Step,
)
from tests.conformance.recordings import RECORDINGS


def recording(name: str) -> Dialogue:
    return read_dialogue(RECORDINGS / f"{name}.jsonl")


def with_steps(dialogue: Dialogue, steps: list[Step]) -> Dialogue:
    return replace(dialogue, steps=tuple(steps))


def with_one_answer_changed(dialogue: Dialogue, index: int, **changes: Any) -> Dialogue:
    """The dialogue with other values in its step at `index`, which is an answer."""
    steps = list(dialogue.steps)
    answer = steps[index]
    assert isinstance(answer, Receive)
    steps[index] = replace(answer, message={**answer.message, **changes})
    return with_steps(dialogue, steps)


def test_a_dialogue_as_recorded_has_no_problems() -> None:
    """The yardstick of this file: played unchanged, the recording passes."""
    assert play_in_sim(recording("groups/jg_initial_delay")).problems == []


def test_every_changed_answer_is_noticed() -> None:
    """Whichever answer of a dialogue had another error code in the recording, the player would tell."""
    dialogue = recording("groups/sg_follower_never_syncs")
    answers = [i for i, step in enumerate(dialogue.steps) if isinstance(step, Receive) and "ErrorCode" in step.message]

    for index in answers:
        problems = play_in_sim(with_one_answer_changed(dialogue, index, ErrorCode=99)).problems
        assert any(f"line {index + 2} " in problem and "Kafka 99" in problem for problem in problems)
    assert len(answers) > 5


def test_a_wait_that_differs_by_more_than_the_jitter_is_noticed() -> None:
    """An answer a second too early or too late is a difference, a tenth of a second is none."""
    dialogue = recording("groups/jg_initial_delay")
    index = max(range(len(dialogue.steps)), key=lambda i: getattr(dialogue.steps[i], "waited_ms", -1))
    answer = dialogue.steps[index]
    assert isinstance(answer, Receive)

    def problems(off_ms: int) -> list[str]:
        steps = list(dialogue.steps)
        steps[index] = replace(answer, waited_ms=answer.waited_ms + off_ms)
        return play_in_sim(with_steps(dialogue, steps)).problems

    assert problems(100) == []
    assert any("answered after" in problem for problem in problems(1000))


class BusyMachine:
    """A driver on which every step costs `lost_ms`; each request is answered at once, with nothing in it."""

    keeps_recorded_pace = False
    wall_ms = 0

    def __init__(self, lost_ms: int) -> None:
        self.mono_ms = 0
        self.lost_ms = lost_ms

    def open(self, client: ClientConnection, address: Address | None = None) -> None:
        pass

    def flush(self, client: ClientConnection) -> None:
        frame = client.data_to_send()
        client.receive(bytes((0, 0, 0, 10)) + frame[8:12] + bytes(6))

    def pass_time(self, ms: int, until: Any = None) -> bool:
        self.mono_ms += self.lost_ms + (0 if until else ms)
        return True

    def close(self, client: ClientConnection) -> None:
        pass

    def close_all(self) -> None:
        pass

    def control(self, operation: str, node_id: int) -> None:
        pass

    def tolerance_ms(self, waited_ms: int) -> int:  # noqa: ARG002 - as the protocol has it
        return 10_000


def play_on(lost_ms: int, *steps: Step) -> tuple[bool, bool]:
    """Whether something differs, and whether the play was late before it did."""
    player = Player(BusyMachine(lost_ms), "")
    problems = player.play(Dialogue("n", "", "Kafka 4.3.1", {}, steps))
    return bool(problems), player.was_late


def test_a_play_is_late_only_if_time_was_lost_before_it_differed() -> None:
    """A few lost milliseconds excuse nothing, and neither does what is lost later."""
    send, right = Send(1, "a", "ApiVersions", 0, {}, {}, False), Receive(1, {"ErrorCode": 0, "ApiKeys": []}, 0)
    wrong = replace(right, message={**right.message, "ErrorCode": 35})

    assert play_on(LATE_MS + 1, send, right) == (False, False)
    assert play_on(0, send, wrong) == play_on(LATE_MS, send, wrong, Sleep(1)) == (True, False)
    assert play_on(LATE_MS, send, Sleep(1), wrong) == (True, True)
    assert play_on(LATE_MS // 2 + 1, Sleep(10), Sleep(10), send, wrong) == (True, True)


def test_an_answer_where_kafka_is_silent_is_noticed() -> None:
    """A request that must stay unanswered may not be answered."""
    steps: list[Step] = [
        Ready(None, {}, False, None),
        Send(1, "a", "ApiVersions", 0, {}, {}, False),
        Silent(1, 100),
    ]
    (problem,) = play_in_sim(Dialogue("n", "", "Kafka 4.3.1", {}, tuple(steps))).problems

    assert problem.startswith("line 4 silent 1 ApiVersions v0: must be unanswered for 100 ms, but it was answered: {")


def test_an_answer_where_kafka_closes_is_noticed() -> None:
    """A request that must cost the connection may not be answered."""
    steps: list[Step] = [Send(1, "a", "ApiVersions", 0, {}, {}, False), Closed(1)]
    (problem,) = play_in_sim(Dialogue("n", "", "Kafka 4.3.1", {}, tuple(steps))).problems

    assert problem.startswith("line 3 closed 1 ApiVersions v0: Kafka closes the connection, but it was answered: {")


def test_an_answer_that_never_comes_ends_the_dialogue() -> None:
    """The player gives up ten seconds after the recorded wait, in virtual time."""
    request = {"GroupId": "g", "SessionTimeoutMs": 30000, "RebalanceTimeoutMs": 30000, "ProtocolType": "consumer",
               "Protocols": [{"Name": "range", "Metadata": {"hex": "00"}}]}  # fmt: skip
    steps: list[Step] = [
        Ready("g", {}, False, None),
        Send(1, "a", "JoinGroup", 3, request, {}, False),
        Receive(1, {}, 0),
        Sleep(1),
    ]
    config = {"group.initial.rebalance.delay.ms": "60000"}
    problems = play_in_sim(Dialogue("n", "", "Kafka 4.3.1", config, tuple(steps))).problems

    assert problems == ["line 4 receive 1 JoinGroup v3: no answer within 10000 ms"]


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        (Send(1, "a", "Nonsense", 0, {}, {}, False), "there is no API 'Nonsense'"),
        (
            Send(1, "a", "Heartbeat", 0, {"Group": "g"}, {}, False),
            "HeartbeatRequest has no field Group; its fields are GroupId, ",
        ),
        (Send(1, "a", "Heartbeat", 0, {"GenerationId": "x"}, {}, False), "HeartbeatRequest"),
    ],
)
def test_a_step_that_cannot_be_played_says_why(step: Step, problem: str) -> None:
    """A mistake in a dialogue is reported with its line and what was expected."""
    (line,) = play_in_sim(Dialogue("n", "", "Kafka 4.3.1", {}, (step,))).problems

    assert line.startswith("line 2 ")
    assert problem in line


def test_a_broker_that_cannot_have_the_settings_is_reported() -> None:
    """An unknown setting in the head is a problem of the dialogue, not an exception."""
    (problem,) = play_in_sim(Dialogue("n", "", "Kafka 4.3.1", {"no.such.setting": "1"}, ())).problems

    assert problem.startswith("the broker did not start: there is no setting 'no.such.setting'")


def test_playing_twice_gives_the_same() -> None:
    """In the simulator a dialogue has one outcome; real time does not enter."""
    dialogue = recording("groups/jg_two_members")
    broken = with_one_answer_changed(
        dialogue, next(i for i, s in enumerate(dialogue.steps) if isinstance(s, Receive)), X=1
    )

    first, second = play_in_sim(broken), play_in_sim(broken)
    assert dataclasses.replace(first, took_ms=0) == dataclasses.replace(second, took_ms=0)


def test_recordings_are_where_the_tests_expect_them() -> None:
    """The data travels with the project."""
    assert Path(RECORDINGS).is_dir()


@pytest.mark.parametrize("batch", [{"records": 5}, {"no_such_field": 1}])
def test_a_batch_that_cannot_be_built_says_so(batch: dict[str, Any]) -> None:
    """A mistake in a batch description is a problem of its step."""
    request = {"Acks": 1, "TopicData": [{"Name": "t", "PartitionData": [{"Index": 0, "Records": {"batch": batch}}]}]}
    (line,) = play_in_sim(
        Dialogue("n", "", "Kafka 4.3.1", {}, (Send(1, "a", "Produce", 9, request, {}, True),))
    ).problems

    assert line.startswith("line 2 send 1 Produce v9: TypeError")

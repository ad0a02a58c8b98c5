"""Recorded dialogues over TCP in real time, a fresh broker each, many side by side: most of it is waiting.

`make test` plays the shortest of each API, as virtual time shows them all; `make rest` plays every one.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fakebroker.scenarios.dialogue.run import Outcome, play_on_fresh_broker
from fakebroker.scenarios.dialogue.script import read_dialogue
from tests.conformance.recordings import PATHS, WAITING, name_of, shortest_of_each_api, waits_ms

SIDE_BY_SIDE = (48, 8, 2)  # in the first round, and in those that play again what was late
SLACK = 1.5  # the machine is shared by all these brokers and their clients
SLOW_MS = 30_000

PLAYED = sorted((path for path in PATHS if name_of(path) not in WAITING), key=waits_ms, reverse=True)


def play(path: Path) -> Outcome:
    return play_on_fresh_broker(read_dialogue(path), SLACK)


def differing(paths: list[Path], play: Callable[[Path], Outcome] = play) -> list[str]:
    """Play dialogues side by side; the problems of those that are not as recorded, a line each.

    A busy machine makes any broker late, and then it may answer something else, too: what was late before it differed
    is played again with fewer beside it. What differs though everything was in time stays a problem.
    """
    bad: list[Outcome] = []
    for side_by_side in SIDE_BY_SIDE:
        with ThreadPoolExecutor(side_by_side) as pool:
            outcomes = [outcome for outcome in pool.map(play, paths) if not outcome.is_good]
        late = [outcome for outcome in outcomes if outcome.was_late]
        bad += [outcome for outcome in outcomes if not outcome.was_late]
        paths = [outcome.dialogue.path for outcome in late]
    return [f"{name_of(each.dialogue.path)}: {problem}" for each in bad + late for problem in each.problems]


def test_each_api_answers_as_kafka_over_tcp() -> None:
    """Over sockets and in real time too, the shortest dialogue of each API is as recorded."""
    sample = shortest_of_each_api(PLAYED)

    assert len(sample) > 30
    assert differing(sample) == []


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_answers_as_kafka_over_tcp() -> None:
    """Over sockets and in real time too, answers, silences and closed connections are as recorded."""
    assert differing([path for path in PLAYED if waits_ms(path) < SLOW_MS]) == []


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_slow_dialogues_over_tcp() -> None:
    """The dialogues that took a minute and more to record are as recorded over TCP, too."""
    assert differing([path for path in PLAYED if waits_ms(path) >= SLOW_MS]) == []


def outcomes_of(*rounds: Outcome) -> list[str]:
    """What `differing` says of a dialogue that comes out like this, one time after the other."""
    coming = iter(rounds)
    path = rounds[0].dialogue.path
    return differing([path], lambda _: next(coming))


def test_only_lateness_is_forgiven() -> None:
    """A dialogue that was late is played again, at most twice; one wrong answer in time is a problem for good."""
    dialogue = read_dialogue(PATHS[0])
    good = Outcome(dialogue, [], 1)
    late, wrong = Outcome(dialogue, ["late"], 1, was_late=True), Outcome(dialogue, ["wrong"], 1)
    name = name_of(PATHS[0])

    assert outcomes_of(good) == outcomes_of(late, good) == outcomes_of(late, late, good) == []
    assert outcomes_of(wrong, good, good) == outcomes_of(late, wrong, good) == [f"{name}: wrong"]
    assert outcomes_of(late, late, late, good) == [f"{name}: late"]

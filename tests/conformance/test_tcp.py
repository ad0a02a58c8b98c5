"""Every recorded dialogue over TCP in real time, a fresh broker each, many side by side: most of it is waiting."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fakebroker.dialogue.run import Outcome, play_on_fresh_broker
from fakebroker.dialogue.script import read_dialogue
from tests.conformance.recordings import PATHS, WAITING, name_of, waits_ms

SIDE_BY_SIDE = (48, 8, 2)  # in the first round, and in those that play again what was not as recorded
SLACK = 1.5  # the machine is shared by all these brokers and their clients
SLOW_MS = 30_000

PLAYED = sorted((path for path in PATHS if name_of(path) not in WAITING), key=waits_ms, reverse=True)


def play(path: Path) -> Outcome:
    return play_on_fresh_broker(read_dialogue(path), SLACK)


def differing(paths: list[Path]) -> list[str]:
    """Play dialogues side by side; the problems of those that are never as recorded, a line each.

    In real time a busy machine makes any broker late: what differs gets another chance with fewer beside it.
    """
    outcomes: list[Outcome] = []
    for side_by_side in SIDE_BY_SIDE:
        with ThreadPoolExecutor(side_by_side) as pool:
            outcomes = [outcome for outcome in pool.map(play, paths) if not outcome.is_good]
        paths = [outcome.dialogue.path for outcome in outcomes]
    return [f"{name_of(outcome.dialogue.path)}: {problem}" for outcome in outcomes for problem in outcome.problems]


@pytest.mark.timeout(300)
def test_answers_as_kafka_over_tcp() -> None:
    """Over sockets and in real time too, answers, silences and closed connections are as recorded."""
    assert differing([path for path in PLAYED if waits_ms(path) < SLOW_MS]) == []


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_slow_dialogues_over_tcp() -> None:
    """The dialogues that took a minute and more to record are as recorded over TCP, too."""
    assert differing([path for path in PLAYED if waits_ms(path) >= SLOW_MS]) == []

"""Every recorded dialogue over TCP in real time, a fresh broker each, many side by side: most of it is waiting."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fakebroker.dialogue.run import Outcome, play_on_fresh_broker
from fakebroker.dialogue.script import read_dialogue
from tests.conformance.recordings import PATHS, WAITING, name_of, waits_ms

SIDE_BY_SIDE = 48
SLACK = 1.5  # the machine is shared by all these brokers and their clients
SLOW_MS = 30_000

PLAYED = sorted((path for path in PATHS if name_of(path) not in WAITING), key=waits_ms, reverse=True)


def differing(paths: list[Path]) -> list[str]:
    """Play dialogues side by side; the problems of all of them, a line each."""

    def play(path: Path) -> Outcome:
        return play_on_fresh_broker(read_dialogue(path), SLACK)

    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        outcomes = list(pool.map(play, paths))
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

"""Every recorded dialogue over TCP in real time, a fresh broker each, many side by side: most of it is waiting."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fakebroker.dialogue.run import Outcome, play_on_fresh_broker
from fakebroker.dialogue.script import read_dialogue
from tests.conformance.recordings import PATHS, SLOW_FOLDERS, WAITING, name_of

SIDE_BY_SIDE = 40
SLACK = 1.5  # the machine is shared with forty brokers and forty clients


def play(path: Path) -> Outcome:
    return play_on_fresh_broker(read_dialogue(path), SLACK)


def differing(paths: list[Path]) -> list[str]:
    """The problems of all dialogues, a line each; the longest are started first."""
    paths = sorted(paths, key=lambda path: -path.stat().st_size)
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        outcomes = list(pool.map(play, paths))
    return [f"{name_of(outcome.dialogue.path)}: {problem}" for outcome in outcomes for problem in outcome.problems]


@pytest.mark.timeout(300)
def test_answers_as_kafka_over_tcp() -> None:
    """Over sockets and in real time too, answers, silences and closed connections are as recorded."""
    played = [p for p in PATHS if name_of(p) not in WAITING and p.parent.name not in SLOW_FOLDERS]

    assert differing(played) == []


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_slow_dialogues_over_tcp() -> None:
    """The dialogues that took minutes to record are as recorded over TCP, too."""
    played = [p for p in PATHS if name_of(p) not in WAITING and p.parent.name in SLOW_FOLDERS]

    assert differing(played) == []

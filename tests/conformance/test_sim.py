"""Every recorded dialogue in virtual time: fakebroker answers what Kafka answered, when it answered."""

import json
from pathlib import Path

import pytest

from fakebroker.scenarios.dialogue.old_dialogue import is_old
from fakebroker.scenarios.dialogue.run import play_in_sim
from fakebroker.scenarios.dialogue.script import read_dialogue
from tests.conformance.recordings import JITTER_MS, PATHS, USUAL_JITTER_MS, WAITING, name_of


@pytest.mark.parametrize("path", [p for p in PATHS if name_of(p) not in WAITING], ids=name_of)
def test_answers_as_kafka(path: Path) -> None:
    """Each answer, silence and closed connection is as recorded, each wait within the recorded broker's jitter."""
    jitter_ms = JITTER_MS.get(name_of(path), USUAL_JITTER_MS)

    assert play_in_sim(read_dialogue(path), jitter_ms=jitter_ms).problems == []


@pytest.mark.parametrize("path", [p for p in PATHS if name_of(p) in WAITING], ids=name_of)
def test_a_waiting_dialogue_still_has_to_wait(path: Path) -> None:
    """The list of dialogues that wait for later issues may only shrink: one that passes must leave it."""
    problems = play_in_sim(read_dialogue(path)).problems

    assert problems, f"{name_of(path)} passes: take it out of tests/data/dialogues_waiting.json"


def test_recordings_are_in_the_format_of_today() -> None:
    """What was recorded in the format before is converted (`python -m tools.convert_dialogues`)."""
    heads = {name_of(path): json.loads(path.read_text().partition("\n")[0]) for path in PATHS}

    assert [name for name, head in heads.items() if is_old(head)] == []


def test_the_list_of_waiting_dialogues_is_up_to_date() -> None:
    """Every name on the list is that of a recording."""
    assert WAITING.keys() - {name_of(path) for path in PATHS} == set()

"""The YAML on the pages about scenarios is right: files are played, steps are read and played."""

import re
from pathlib import Path

import pytest

from fakebroker.scenarios.language.reading import read_scenario_text
from fakebroker.scenarios.playing.player import Player
from fakebroker.scenarios.playing.worlds import VirtualWorld
from tests.scenarios.texts import HEAD, problems_of

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "reference" / "scenarios.md"
BLOCKS = re.findall(r"^```yaml\n(.*?)^```", PAGE.read_text(), re.M | re.S)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.split("\n")[0])
def test_the_yaml_of_the_page_plays(block: str) -> None:
    """A file as it is, steps between two actors and a topic."""
    text = block if "about:" in block else HEAD + block
    scenario = read_scenario_text(text, "scenarios.md")

    assert Player(VirtualWorld(scenario), scenario).play().problems == []


def test_the_page_has_examples() -> None:
    """There is something to check."""
    assert len(BLOCKS) >= 9


def test_the_errors_of_the_page_are_those_that_are_said() -> None:
    """Misspelt as the page says, the file of the page has these problems."""
    wrong = (
        BLOCKS[0]
        .replace("session_timeout:", "session_timout:")
        .replace("{a: {orders: [0, 1]}}", "{a: {orders: [zero]}}")
    )
    lines = [line.replace("f.yaml", "scenarios/zombie.yaml") for line in problems_of(wrong)]

    assert "\n".join(lines) in PAGE.read_text()

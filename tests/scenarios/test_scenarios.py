"""The scenarios that come with the project hold."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from fakebroker.cli import main

SCENARIOS = Path(__file__).resolve().parents[2] / "scenarios"


@pytest.mark.parametrize("path", sorted(SCENARIOS.glob("*.jsonl")), ids=lambda path: path.stem)
def test_the_scenario_holds(path: Path) -> None:
    """Played in virtual time, every answer is the one that the scenario wants."""
    played = CliRunner().invoke(main, ["dialogue", "play", str(path)])

    assert played.exit_code == 0, played.output


def test_every_scenario_is_in_the_list() -> None:
    """The folder's page names every file in it."""
    page = (SCENARIOS / "README.md").read_text()

    assert [path.name for path in SCENARIOS.glob("*.jsonl") if path.name not in page] == []

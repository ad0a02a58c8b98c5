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

"""The differences between scenarios on Kafka and here that are agreed: tests/data/scenario_differences.json."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).resolve().parents[1] / "data" / "scenario_differences.json"


class Agreed(NamedTuple):
    """What may differ in one scenario: parts of the sentences that tell it, and the reason."""

    scenario: str
    differences: tuple[str, ...]
    why: str


def agreed() -> dict[str, Agreed]:
    """All of them, by scenario."""
    rows = json.loads(FILE.read_text())
    return {row["scenario"]: Agreed(row["scenario"], tuple(row["differences"]), row["why"]) for row in rows}


def judged(scenario: str, differences: Sequence[str]) -> list[str]:
    """What is not agreed of these differences, and what is agreed and does not differ any more."""
    known = agreed().get(scenario, Agreed(scenario, (), ""))
    new = [each for each in differences if not any(part in each for part in known.differences)]
    gone = [part for part in known.differences if not any(part in each for each in differences)]
    return new + [f"does not differ any more, though it is agreed: {part}" for part in gone]

"""The recordings that this project is judged by, and which of them wait for later issues."""

import json
from pathlib import Path

DATA = Path(__file__).resolve().parent.parent / "data"
PATHS = sorted((DATA / "dialogues").rglob("*.jsonl"))
WAITING: dict[str, str] = json.loads((DATA / "dialogues_waiting.json").read_text())
SLOW_FOLDERS = {"expiry_slow"}


def name_of(path: Path) -> str:
    """ "groups/jg_initial_delay": what a recording is called in tests and in the list of those that wait."""
    return f"{path.parent.name}/{path.stem}"

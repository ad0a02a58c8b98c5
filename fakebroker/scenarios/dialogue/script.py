"""Dialogues as data: what a file in the format of `testing/exchanges/kinds.py` says, or one of the format before."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from fakebroker.protocol.errors import FakebrokerError
from fakebroker.scenarios.dialogue.old_dialogue import is_old, lines_of_old
from fakebroker.testing.exchanges.columns import Row
from fakebroker.testing.exchanges.kinds import DIALOGUE, Json, Step
from fakebroker.testing.exchanges.reading import checked, read_lines

NEWEST_RELEASE: Final = "4.3"
_RELEASE: Final = re.compile(r"(?:Kafka |fakebroker --as )(\d+\.\d+)")


class DialogueError(FakebrokerError):
    """A dialogue that cannot be played; the text says why."""


@dataclass(frozen=True)
class Dialogue:
    """One recording: what it shows, the broker ("Kafka 4.3.1") and the settings it was recorded with, the steps.

    `nodes` is how many brokers there were.
    """

    name: str
    about: str
    broker: str
    config: dict[str, Json]
    steps: tuple[Step, ...]
    path: Path = field(default=Path(), compare=False)
    nodes: int = 1

    @property
    def release(self) -> str:
        """The release of the recorded Kafka, "4.3"; of another broker the one it emulates, by default the newest."""
        found = _RELEASE.match(self.broker)
        return found[1] if found else NEWEST_RELEASE


def read_dialogue(path: Path) -> Dialogue:
    """Read a dialogue, also one of the old format. Raises UnreadableFile naming file and line."""
    lines = read_lines(path, on_cut=None)
    head, *steps = (_read(row) for _, row in checked(path, _new(path, lines), DIALOGUE))
    return Dialogue(head.name, head.about, head.broker, head.config, tuple(steps), path, head.nodes)


def _new(path: Path, lines: Iterator[tuple[int, Row]]) -> Iterator[tuple[int, Row]]:
    """The lines in the format of today."""
    first = next(lines, None)
    if first is not None:
        rest = (first, *lines)
        yield from lines_of_old(path, rest) if is_old(first[1]) else rest


def _read(row: Row) -> Any:
    """The head or the step of a line that was checked."""
    kind = DIALOGUE.kinds[row["kind"]]
    return kind.source(**{column.name: row[column.name] for column in kind.columns if column.name in row})


def find_dialogues(paths: list[Path]) -> list[Path]:
    """Every recording in the files and folders named, in order of path. Raises DialogueError when there is none."""
    found: list[Path] = []
    for path in paths:
        found += sorted(path.rglob("*.jsonl")) if path.is_dir() else [path]
    if not found:
        raise DialogueError(f"no *.jsonl in {', '.join(map(str, paths))}")
    return found

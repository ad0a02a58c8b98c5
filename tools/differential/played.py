"""What plays came to, kept in played.json; the scoreboard shows it.

judged.json says of each difference from Kafka what came of it: "mended", with the rule, or why it is left as it is.
"""

import datetime
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tools.differential.worker import Result

PLAYED = Path(__file__).with_name("played.json")
JUDGED = Path(__file__).with_name("judged.json")


@dataclass
class Chapter:
    """One chapter of a play.

    Attributes:
        kinds: Each kind of difference with its first text, in one line.
        once: How many differences did not come again when their history was played again.
        agreed: How many histories ended with a difference that is meant.
        why_not: Why it was not played.
    """

    steps: int = 0
    histories: int = 0
    kinds: dict[str, str] = field(default_factory=dict)
    once: int = 0
    agreed: int = 0
    why_not: str = ""


@dataclass
class Play:
    """A play of a pair; the brokers are named with their versions."""

    reference: str
    subject: str
    seed: int
    seconds: int = 0
    date: str = ""
    chapters: dict[str, Chapter] = field(default_factory=dict)

    def add(self, result: Result) -> None:
        """Add what came of a part."""
        chapter = self.chapters.setdefault(result.chapter, Chapter())
        chapter.steps += result.steps
        chapter.histories += result.histories
        chapter.once += len(result.once)
        chapter.agreed += result.agreed
        chapter.why_not = result.why_not
        for found in result.differences:
            chapter.kinds.setdefault(found.kind, " ".join(found.text.split()))

    @property
    def steps(self) -> int:
        """Of all chapters."""
        return sum(chapter.steps for chapter in self.chapters.values())

    def lines(self) -> Iterator[str]:
        """A line for each chapter, and one for all."""
        for name, chapter in self.chapters.items():
            if chapter.why_not:
                yield f"{name}: not played: {chapter.why_not}"
                continue
            once = f", {chapter.once} that did not come again" if chapter.once else ""
            yield (
                f"{name}: {chapter.steps} steps in {chapter.histories} histories, "
                f"{len(chapter.kinds)} differences{once}"
            )
        yield f"{self.reference} and {self.subject}: {self.steps} steps in {self.seconds} s"


def keep(play: Play, file: Path) -> None:
    """Add a play to a file."""
    plays = [*read(file), play]
    play.date = datetime.datetime.now(datetime.UTC).date().isoformat()
    text = json.dumps([asdict(each) for each in plays], indent=1, ensure_ascii=False)
    file.write_text(text + "\n", encoding="utf-8")


def read(file: Path = PLAYED) -> list[Play]:
    """The plays of a file, in the order in which they were played; none if it is not there."""
    rows: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    return [
        Play(**{**row, "chapters": {name: Chapter(**chapter) for name, chapter in row["chapters"].items()}})
        for row in rows
    ]


@dataclass(frozen=True)
class Judged:
    """A difference of fakebroker from Kafka, as plays report it (`kinds`), and what came of it: mended, or left."""

    difference: str
    kinds: list[str]
    outcome: str


def judged() -> list[Judged]:
    """All differences that were judged."""
    return [Judged(**row) for row in json.loads(JUDGED.read_text(encoding="utf-8"))]

"""What plays came to, kept in played.json: for each pair, the sum over its chapters. The scoreboard shows it."""

import datetime
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tools.differential.worker import Result

PLAYED = Path(__file__).with_name("played.json")


@dataclass
class Chapter:
    """One chapter of a play.

    Attributes:
        kinds: Each kind of difference with its first text, in one line.
        once: How many differences did not come again.
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
    """A play of a pair."""

    reference: str
    subject: str
    seed: int
    seconds: int = 0
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
        steps = sum(chapter.steps for chapter in self.chapters.values())
        yield f"{self.reference} and {self.subject}: {steps} steps in {self.seconds} s"


def keep(play: Play, file: Path) -> None:
    """Put a play into the file, in the place of an earlier one of the same pair."""
    plays: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    plays[f"{play.reference} | {play.subject.split()[0]}"] = {"date": today, **asdict(play)}
    file.write_text(json.dumps(plays, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

"""Counting: how many cases of each chapter ended how."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from fakebroker.scenarios.conformance.chapters import CHAPTERS, Chapter
from fakebroker.scenarios.conformance.verdicts import Result, Verdict


@dataclass(frozen=True)
class Score:
    """The counts of a chapter, or of all."""

    title: str
    counts: Counter[Verdict] = field(default_factory=Counter)

    @property
    def judged(self) -> int:
        """How many cases were played and compared."""
        return self.counts[Verdict.SAME] + self.counts[Verdict.DIFFERS]

    @property
    def cases(self) -> int:
        """How many there are."""
        return self.counts.total()

    @property
    def percent(self) -> str:
        """The share of those that were judged; "-" when none was. 100 % only if none differs."""
        return percent(self.counts[Verdict.SAME], self.counts[Verdict.DIFFERS])


def percent(same: int, differing: int) -> str:
    """The share of the cases that went as in Kafka, "96.4 %"; "-" of none. 100 % only if none differs."""
    if not same + differing:
        return "-"
    share = 100 * same / (same + differing)
    return f"{min(share, 99.9):.1f} %" if differing else "100 %"


def by_chapter(results: Iterable[Result]) -> list[tuple[Chapter, Score]]:
    """A score for each chapter that has cases, in the order of chapters."""
    counts: dict[Chapter, Counter[Verdict]] = {}
    for result in results:
        counts.setdefault(result.case.chapter, Counter())[result.verdict] += 1
    return [(chapter, Score(chapter.title, counts[chapter])) for chapter in CHAPTERS if chapter in counts]


def total(results: Iterable[Result]) -> Score:
    """The score of all cases."""
    return Score("all", Counter(result.verdict for result in results))

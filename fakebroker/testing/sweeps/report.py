"""What came of a sweep: data, and the text that a person reads."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fakebroker.testing.sweeps.cases import Case

MAX_SHOWN = 20  # breaks of one kind in the text
MAX_NAMES = 5
HELD, BROKEN, HUNG, NOT_REACHED = "held", "broken", "hung", "not reached"


class CaseResult(NamedTuple):
    """One run. `outcome` is "held", "broken", "hung" or "not reached".

    `error` is the exception of the run, if available, and `message` its text; `story` is the broker's view.
    `was_reached` says whether the request was sent: a run may break before.
    """

    case: Case
    outcome: str
    error: BaseException | None = None
    message: str = ""
    story: str = ""
    was_reached: bool = True

    @property
    def name(self) -> str:
        """The name of the case, e.g. "OffsetCommit#3:lost-answer"."""
        return self.case.name


@dataclass
class SweepReport:
    """The result of a sweep. `print(report)` shows `text`; `check()` raises if any case broke the test.

    `requests` is the number of requests of the swept APIs in the first run, `cases` the number of plausible faults at
    them; `results` has an entry for each run. `cut_off` says why the sweep ended early, "" if it did not.
    """

    name: str
    requests: int
    cases: int
    results: list[CaseResult]
    repeat: Callable[[str], str]
    seed: int = 0
    cut_off: str = ""

    @property
    def runs(self) -> int:
        """The number of cases run."""
        return len(self.results)

    @property
    def held(self) -> int:
        """The number of runs in which the fault happened and the test passed."""
        return len(self._with(HELD))

    @property
    def broken(self) -> list[CaseResult]:
        """The runs in which the test failed."""
        return self._with(BROKEN)

    @property
    def hung(self) -> list[CaseResult]:
        """The runs that exceeded the time limit."""
        return self._with(HUNG)

    @property
    def not_reached(self) -> list[CaseResult]:
        """The runs that passed without sending the request of the fault."""
        return self._with(NOT_REACHED)

    @property
    def is_held(self) -> bool:
        """Whether all cases were run, and no run broke or hung."""
        return not (self.broken or self.hung or self.cut_off)

    def check(self) -> None:
        """Raise AssertionError with the text if a run broke or hung, caused by the exception of the first one."""
        if not self.is_held:
            raise AssertionError(self.text) from next((r.error for r in (*self.broken, *self.hung)), None)

    @property
    def text(self) -> str:
        """The summary, with each break and the line that repeats it."""
        return "\n".join(self._lines())

    def __str__(self) -> str:
        return self.text

    def _with(self, outcome: str) -> list[CaseResult]:
        return [result for result in self.results if result.outcome == outcome]

    def _lines(self) -> Iterator[str]:
        yield self._summary()
        if self.cut_off:
            yield f"  cut off: {self.cut_off}; {self.cases - self.runs} of {self.cases} cases were not run"
        elif self.runs < self.cases:
            yield f"  {self.runs} of {self.cases} cases, chosen by seed {self.seed}; a larger budget runs more"
        for outcome, results in (("broken", self.broken), ("hung", self.hung)):
            for result in results[:MAX_SHOWN]:
                early = (
                    "" if result.was_reached else f" (already {outcome} before the fault, which may not be the cause)"
                )
                yield f"  {outcome} by: {result.case.sentence}{early}"
                yield from (f"    {line}" for line in result.message.splitlines()[:1])
                yield f"    repeat: {self.repeat(result.name)}"
            if len(results) > MAX_SHOWN:
                yield f"  and {len(results) - MAX_SHOWN} more {outcome}: {_names(results[MAX_SHOWN:])}"
        if self.not_reached:
            yield f"  not reached, the request did not come in that run: {_names(self.not_reached)}"

    def _summary(self) -> str:
        if not self.cases:
            return f"{self.name}: no cases: no client sent a request for which one of the faults is plausible"
        counts = [_counted(self.requests, "request")] if self.requests else []
        counts += [_counted(self.runs, "run"), f"{self.held} held"]
        others = ((self.broken, BROKEN), (self.hung, HUNG), (self.not_reached, NOT_REACHED))
        counts += [f"{len(results)} {outcome}" for results, outcome in others if results]
        return f"{self.name}: {', '.join(counts)}"


def _names(results: Sequence[CaseResult]) -> str:
    names = [result.name for result in results[:MAX_NAMES]]
    more = len(results) - len(names)
    return ", ".join(names) + (f" and {more} more" if more else "")


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"

"""The cases on a broker that runs and that others may use."""

import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fakebroker.scenarios.conformance.access import Access
from fakebroker.scenarios.conformance.cases import Case
from fakebroker.scenarios.conformance.cleaning import Cleaner
from fakebroker.scenarios.conformance.needs import needs_of
from fakebroker.scenarios.conformance.one_play import Playing
from fakebroker.scenarios.conformance.plays import SIDE_BY_SIDE, Plays, Tags
from fakebroker.scenarios.conformance.selection import Conditions, why_not
from fakebroker.scenarios.conformance.survey import Survey, survey
from fakebroker.scenarios.conformance.verdicts import Result
from fakebroker.scenarios.conformance.warming import warm

TIME_LIMIT_S = 1800


@dataclass(frozen=True)
class Options:
    """How a run is done.

    Attributes:
        side_by_side: How many cases are played at a time on one broker.
        slack: A factor on the tolerance of waits.
        time_limit_s: After which the cases that are not done are not run.
        is_exclusive: Whether cases may be played that are about the whole broker.
    """

    side_by_side: int = SIDE_BY_SIDE
    slack: float = 1.0
    time_limit_s: float = TIME_LIMIT_S
    is_exclusive: bool = False


def fresh_run(taken: frozenset[str]) -> str:
    """What is in the names of a run: nothing that is there has it in its name."""
    while True:
        run = f"-{uuid.uuid4().hex[:8]}"
        if not any(run in name for name in taken):
            return run


class OnRunning:
    """Judges a broker that runs. `left` is what could not be deleted afterwards."""

    def __init__(self, access: Access, options: Options) -> None:
        """Asks the broker what it has. Raises Unavailable if none answers, or it wants TLS or a login."""
        self._access = access
        self._options = options
        self.survey: Survey = survey(access)
        self.left: list[str] = []

    def run(self, cases: Sequence[Case]) -> Iterator[Result]:
        """Judge it by each case; each result as it comes. What was made is deleted at the end, whatever ends it."""
        end_s = time.monotonic() + self._options.time_limit_s
        has_it_alone = self._options.is_exclusive or self.survey.is_empty
        conditions = Conditions(self.survey, is_own=has_it_alone)
        alone: list[Case] = []
        beside: list[Case] = []
        for case in cases:
            if (result := why_not(case, conditions)) is not None:
                yield result
            else:
                (alone if needs_of(case).broker_wide else beside).append(case)
        tags = Tags(fresh_run(self.survey.topics | self.survey.groups))
        playing = Playing(self._access, self.survey.versions, self.survey.nodes[0], self._options.slack)
        cleaner = Cleaner(self._access, self.survey, tags.run)
        fixed = {name for case in cases for name in needs_of(case).fixed_topics}
        if any(needs_of(case).broker_wide for case in alone):
            cleaner.note_state()
        try:
            warm(self._access, [*alone, *beside], tags.next())
            for case in alone:
                yield from Plays(playing, tags, end_s, 1).run([case])
                self.left = cleaner.clean(fixed)
            yield from Plays(playing, tags, end_s, self._options.side_by_side).run(beside)
        finally:
            self.left = cleaner.clean(fixed)

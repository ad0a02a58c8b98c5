"""Playing many cases side by side on one broker.

A busy machine makes any broker late, and then it may answer something else, too; and what other clients do at the same
moment can show in a real broker's answers. So what differs is played again with fewer beside it; what was late before
it differed once more by itself, and so is the rest if that is little. What differs twice in the same way is not played
again. The last play counts.
"""

import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import count

from fakebroker.scenarios.conformance.access import is_alive
from fakebroker.scenarios.conformance.cases import Case
from fakebroker.scenarios.conformance.one_play import Playing
from fakebroker.scenarios.conformance.verdicts import Gone, Result, Verdict
from fakebroker.scenarios.dialogue.run import Outcome

SIDE_BY_SIDE = 16
FEW = 12  # cases that differ; each may wait for an answer that does not come
_LOOK_S = 0.5  # how often the end of the time is looked for


class Tags:
    """Tags for names: the same beginning in one run, another number for each play."""

    def __init__(self, run: str) -> None:
        self.run = run
        self._numbers = count()
        self._lock = threading.Lock()

    def next(self) -> str:
        """A tag that no play had before."""
        with self._lock:
            return f"{self.run}{next(self._numbers):03x}"


class Plays:
    """Plays cases on one broker until all are done, the broker is gone or the time is over."""

    def __init__(
        self, playing: Playing, tags: Tags, end_s: float, side_by_side: int = SIDE_BY_SIDE, max_plays: int = 3
    ) -> None:
        """`end_s` is a time of the monotonic clock; what is not done then is not run."""
        self._max_plays = max_plays
        self._playing = playing
        self._tags = tags
        self._end_s = end_s
        self._side_by_side = side_by_side
        self._gone = ""  # why no more cases are played
        self._under_way: set[str] = set()  # the cases that were played when the broker stopped answering

    def run(self, cases: Sequence[Case]) -> Iterator[Result]:
        """Play them, the longest first; each result as it comes."""
        rounds = [self._side_by_side, max(1, self._side_by_side // 2), 1][: self._max_plays]
        waiting = sorted(cases, key=lambda case: case.usual_ms, reverse=True)
        before: dict[str, list[str]] = {}  # the problems of the last play, by the name of the case
        for plays, side_by_side in enumerate(rounds, 1):
            bad: list[tuple[Case, Outcome]] = []
            for case, outcome in self._round(waiting, side_by_side):
                if outcome is None:
                    yield Result(case, Verdict.NOT_RUN, self._gone, gone=None if self._is_over else Gone.BEFORE)
                elif case.name in self._under_way:
                    yield Result(case, Verdict.NOT_RUN, self._gone, outcome.problems, plays=plays, gone=Gone.DURING)
                elif outcome.problems:
                    bad.append((case, outcome))
                else:
                    yield _result(case, outcome, plays)
            is_last = plays == len(rounds)
            are_few = plays == 1 or len(bad) <= FEW
            waiting = [
                case
                for case, outcome in bad
                if not is_last and (are_few or outcome.was_late) and before.get(case.name) != outcome.problems
            ]
            before |= {case.name: outcome.problems for case, outcome in bad}
            yield from (_result(case, outcome, plays) for case, outcome in bad if case not in waiting)

    def _round(self, cases: Sequence[Case], side_by_side: int) -> Iterator[tuple[Case, Outcome | None]]:
        with ThreadPoolExecutor(side_by_side) as pool:
            try:
                left = {pool.submit(self._play, case): case for case in cases}
                while left:
                    done = self._some(set(left))
                    for future in done:
                        yield left.pop(future), future.result()
            finally:
                if left:  # interrupted
                    self._playing.is_over.set()
                    pool.shutdown(cancel_futures=True)

    def _some(self, futures: "set[Future[Outcome | None]]") -> "set[Future[Outcome | None]]":
        """Those that are done, at least one; what is not done at the end of the time is told to end."""
        while True:
            done = wait(futures, _LOOK_S, FIRST_COMPLETED).done
            if done:
                return done
            if time.monotonic() > self._end_s:
                self._gone = self._gone or "the time limit was reached"
                self._playing.is_over.set()

    def _play(self, case: Case) -> Outcome | None:
        """The outcome; None if the broker was gone, or the time over."""
        if self._gone:
            return None
        outcome = self._playing.play(case, self._tags.next())
        if self._is_over and outcome.problems:
            return None
        if outcome.problems and (self._gone or not is_alive(self._playing.access)):
            self._gone = self._gone or f"the broker stopped answering while {case.name} or another case was played"
            self._under_way.add(case.name)
        return outcome

    @property
    def _is_over(self) -> bool:
        return self._playing.is_over.is_set()


def _result(case: Case, outcome: Outcome, plays: int) -> Result:
    verdict = Verdict.DIFFERS if outcome.problems else Verdict.SAME
    return Result(case, verdict, problems=outcome.problems, took_ms=outcome.took_ms, plays=plays)

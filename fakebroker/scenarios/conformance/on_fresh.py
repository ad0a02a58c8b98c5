"""The cases on brokers that a command starts: one for all cases with the same settings, or one for each case."""

import time
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from queue import Empty, SimpleQueue
from threading import Event

from fakebroker.protocol.errors import FakebrokerError
from fakebroker.scenarios.conformance.broker_command import BrokerCommand, NotStarted, SettingsRefused
from fakebroker.scenarios.conformance.cases import Case
from fakebroker.scenarios.conformance.needs import needs_of
from fakebroker.scenarios.conformance.on_running import Options
from fakebroker.scenarios.conformance.one_play import Playing
from fakebroker.scenarios.conformance.plays import Plays, Tags
from fakebroker.scenarios.conformance.selection import Conditions, why_not
from fakebroker.scenarios.conformance.survey import Survey, survey, survey_before_login
from fakebroker.scenarios.conformance.verdicts import Gone, Result, Verdict
from fakebroker.scenarios.conformance.warming import warm

JOBS = 2
MAX_PLAYS = 3  # of a case that has a broker of its own
_LOOK_S = 0.5  # a signal that comes right before a wait does not end it: Python hears of it after the wait
MAX_BROKERS = 8  # for the cases of a group, if one after the other stops answering
_Settings = tuple[tuple[str, str], ...]


class OnFresh:
    """Judges the brokers that a command starts."""

    def __init__(self, command: BrokerCommand, options: Options, jobs: int = JOBS, is_per_case: bool = False) -> None:
        """Starts one without settings, to see what it serves. Raises NotStarted, also if it refuses to start so.

        Args:
            jobs: How many brokers run at a time.
            is_per_case: Whether each case has a broker of its own.
        """
        self._command = command
        self._options = options
        self._jobs = jobs
        self._is_per_case = is_per_case
        self._is_over = Event()
        try:
            with command.running({}) as started:
                self.survey: Survey = survey(started.access)
        except SettingsRefused as refused:
            text = f"the command ended with status 2 when it was started without settings: {refused.said}"
            raise NotStarted(text) from None

    def run(self, cases: Sequence[Case]) -> Iterator[Result]:
        """Judge it by each case; each result as it comes."""
        self._end_s = time.monotonic() + self._options.time_limit_s
        playable: list[Case] = []
        for case in cases:
            result = why_not(case, self._conditions(self.survey, self._settings_of(case)))
            # With settings the broker may show others than now; that is seen when it has started with them.
            if result is None or self._may_have(case, result):
                playable.append(case)
            else:
                yield result
        results: SimpleQueue[Result | None] = SimpleQueue()
        with ThreadPoolExecutor(self._jobs) as pool:
            try:
                groups = self._groups(playable)
                futures = [pool.submit(self._run_group, group, results) for group in groups]
                for future in futures:
                    future.add_done_callback(lambda _: results.put(None))
                left = len(futures)
                while left:
                    try:
                        result = results.get(timeout=_LOOK_S)
                    except Empty:
                        continue
                    if result is None:
                        left -= 1
                    else:
                        yield result
                for future in futures:
                    future.result()
            finally:
                self._is_over.set()
                pool.shutdown(cancel_futures=True)

    def _may_have(self, case: Case, missing: Result) -> bool:
        """Whether a broker that is started for a case may have what this one has not."""
        if needs_of(case).nodes > 1 and missing.verdict is not Verdict.NOT_SERVED:
            return self._command.takes_nodes
        return missing.verdict is Verdict.NEEDS_SETTINGS and self._command.takes_settings

    def _groups(self, cases: Sequence[Case]) -> list[list[Case]]:
        """The cases that share a broker; those that take longest first."""
        groups: dict[object, list[Case]] = {}
        for case in cases:
            shared = (needs_of(case).nodes, self._settings_of(case))
            groups.setdefault(case.name if self._is_alone(case) else shared, []).append(case)
        return sorted(groups.values(), key=lambda group: sum(case.usual_ms for case in group), reverse=True)

    def _is_alone(self, case: Case) -> bool:
        """Whether a case has a broker of its own; any other is played again on one that is warm by then."""
        return self._is_per_case or needs_of(case).broker_wide is not None

    def _settings_of(self, case: Case) -> _Settings:
        if not self._command.takes_settings:
            return ()
        return tuple(needs_of(case).settings.items())

    def _conditions(self, found: Survey, settings: _Settings) -> Conditions:
        return Conditions(found, True, frozenset(settings), has_login=self._command.takes_settings)

    def _run_group(self, cases: list[Case], results: "SimpleQueue[Result | None]") -> None:
        """Play cases on one broker; when it is gone, those that were under way by themselves, the rest on another."""
        if self._is_alone(cases[0]):
            results.put(self._alone(cases[0]))
            return
        waiting = cases
        for _ in range(MAX_BROKERS):
            left: list[Case] = []
            under_way: list[Case] = []
            for result in self._on_one_broker(waiting, MAX_PLAYS):
                if result.gone is None:
                    results.put(result)
                else:
                    (left if result.gone is Gone.BEFORE else under_way).append(result.case)
            for case in under_way:
                results.put(self._alone(case))
            if not left:
                return
            waiting = left
        for case in waiting:
            results.put(Result(case, Verdict.NOT_RUN, f"{MAX_BROKERS} brokers stopped answering before it"))

    def _alone(self, case: Case) -> Result:
        """A case with a broker of its own for each play: what it left there is not there when it is played again."""
        plays = 0
        while True:
            plays += 1
            (result,) = self._on_one_broker([case], max_plays=1)
            is_again = result.verdict is Verdict.DIFFERS or result.gone is not None
            if not is_again or plays == MAX_PLAYS or not self._has_time():
                break
        if result.gone is Gone.DURING:
            problems = [*result.problems, "the broker stopped answering"]
            return replace(result, verdict=Verdict.DIFFERS, reason="", problems=problems, plays=plays)
        return replace(result, plays=plays if result.plays else 0)

    def _has_time(self) -> bool:
        return not self._is_over.is_set() and time.monotonic() < self._end_s

    def _on_one_broker(self, cases: list[Case], max_plays: int) -> Iterator[Result]:
        if not self._has_time():
            yield from (Result(case, Verdict.NOT_RUN, "the time limit was reached") for case in cases)
            return
        settings, nodes = self._settings_of(cases[0]), needs_of(cases[0]).nodes
        done: set[str] = set()
        try:
            with self._command.running(dict(settings), nodes, self._is_over) as (access, control):
                found = survey_before_login(access) if needs_of(cases[0]).login else survey(access)
                conditions = replace(self._conditions(found, settings), can_control=control is not None)
                playable = []
                for case in cases:
                    if (result := why_not(case, conditions)) is None:
                        playable.append(case)
                    else:
                        done.add(case.name)
                        yield result
                playing = Playing(access, found.versions, found.nodes[0], self._options.slack, self._is_over, control)
                tags = Tags(f"-{uuid.uuid4().hex[:8]}")
                if not needs_of(cases[0]).login:
                    warm(access, playable, tags.next())
                side_by_side = self._options.side_by_side if nodes == 1 else 1  # leaders move, brokers are stopped
                plays = Plays(playing, tags, self._end_s, side_by_side, max_plays)
                for result in plays.run(playable):
                    done.add(result.case.name)
                    yield result
        except (FakebrokerError, OSError) as error:
            verdict = Verdict.NEEDS_SETTINGS if isinstance(error, SettingsRefused) else Verdict.NOT_RUN
            yield from (Result(case, verdict, str(error)) for case in cases if case.name not in done)

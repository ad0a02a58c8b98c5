"""`fakebroker.sweep(run)`: a function is run once plainly, and then once for each case, side by side in threads."""

import asyncio
import inspect
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from fakebroker.protocol.arguments.checks import check_options
from fakebroker.protocol.errors import InvalidArgument
from fakebroker.serve.net.preload import Preload
from fakebroker.testing.broker import FakeBroker
from fakebroker.testing.broker import broker_options as options_of_brokers
from fakebroker.testing.sweeps.cases import Case, RequestSeen, parse_case
from fakebroker.testing.sweeps.inject import Injection
from fakebroker.testing.sweeps.limit import limit_s
from fakebroker.testing.sweeps.recorder import Recorder
from fakebroker.testing.sweeps.relief import RunTooLong, disconnect_clients, raise_in, relieve
from fakebroker.testing.sweeps.report import BROKEN, HELD, HUNG, NOT_REACHED, CaseResult, SweepReport
from fakebroker.testing.sweeps.selection import DEFAULT_BUDGET, Selection, cases_of, check_whole, sample, selection

GRACE_S = 5.0  # for a run that was given up

Run = Callable[[FakeBroker], Any]


def sweep(
    run: Run,
    *,
    apis: str | None = None,
    faults: str | None = None,
    seed: int = 0,
    budget: int | None = DEFAULT_BUDGET,
    jobs: int = 4,
    timeout_s: float | None = None,
    only: str | None = None,
    **broker_options: Any,
) -> SweepReport:
    """Run `run(broker)` once without faults, then once for each plausible fault at each request of its clients.

    Each run gets its own running broker, created with `broker_options` (those of FakeBroker); `run` starts clients, and
    raises if its assertions do not hold. It may be a coroutine function. Runs are concurrent in `jobs` threads, so they
    must not share state.

    `apis` ("OffsetCommit|Heartbeat|*Group") and `faults` ("lost-answer|not-coordinator|disconnect|rebalance|pause", or
    errors of Kafka by name) choose the cases; by default the APIs whose loss has consequences, with the plausible
    faults of each. Of more than `budget` cases (None: no limit) a sample is run, chosen by `seed`. A run that takes
    longer than `timeout_s` counts as hung; by default ten times the first run, at least 30 s.
    `only="OffsetCommit#3:lost-answer"` runs just that case, as in the report's repeat line.

    Returns a SweepReport. An error of the first run, without faults, is raised. Raises InvalidArgument for unknown
    names and invalid numbers.
    """
    if not callable(run):
        raise InvalidArgument("run", run, f"run={run!r} is not a function that takes a broker")
    check_options("a sweep", broker_options, (*(sweep.__kwdefaults__ or ()), *options_of_brokers()))
    chosen = selection(apis, faults, seed, budget)
    check_whole("jobs", jobs, 1)
    if timeout_s is not None and not (isinstance(timeout_s, int | float) and timeout_s > 0):
        raise InvalidArgument(
            "timeout_s", timeout_s, f"timeout_s must be a number of seconds above 0, not {timeout_s!r}"
        )
    sweeper = _Sweeper(run, broker_options, timeout_s)
    _load_all()
    if only is not None:
        return sweeper.run_all([parse_case(only)], 1, sweeper.report([], 1, seed))
    seen = sweeper.first_run(chosen)
    cases = cases_of(seen, chosen)
    return sweeper.run_all(sample(cases, seed, budget), jobs, sweeper.report(seen, len(cases), seed))


class _Sweeper:
    """One sweep: the function, and how its brokers are made."""

    def __init__(self, run: Run, broker_options: dict[str, Any], timeout_s: float | None) -> None:
        self._run = run
        self._options = broker_options
        function = getattr(run, "func", run)  # of a partial
        self._name = getattr(function, "__name__", repr(run))
        self._file = getattr(getattr(function, "__code__", None), "co_filename", "")
        self._timeout_s = timeout_s or limit_s(0)
        self._is_timeout_given = timeout_s is not None

    def first_run(self, chosen: Selection) -> list[RequestSeen]:
        """Without a fault, in the caller's thread."""
        began = time.monotonic()
        with FakeBroker(**self._options) as broker:
            recorder = Recorder(broker, chosen.apis)
            self._call(broker)
        if not self._is_timeout_given:
            self._timeout_s = limit_s(time.monotonic() - began)
        return recorder.seen

    def run_all(self, cases: Sequence[Case], jobs: int, report: SweepReport) -> SweepReport:
        """All cases, `jobs` at a time; the results are put into the report in their order, which is returned.

        An exception that comes meanwhile, as by Ctrl-C, ends it; its notes have the report of the runs that had ended.
        """
        waiting: SimpleQueue[tuple[Case, Future[CaseResult]]] = SimpleQueue()
        futures: list[Future[CaseResult]] = []
        for case in cases:
            futures.append(Future())
            waiting.put((case, futures[-1]))
        for number in range(min(jobs, len(cases))):
            # Daemons: a program that ends, e.g. by Ctrl-C, does not wait for them.
            threading.Thread(target=self._work, args=(waiting,), name=f"fakebroker sweep {number}", daemon=True).start()
        try:
            for case, future in zip(cases, futures, strict=True):
                _show_progress(f"{self._name}: {len(report.results) + 1}/{len(cases)} {case.name}")
                report.results.append(future.result())
        except BaseException as error:
            with suppress(Empty):
                while True:
                    waiting.get_nowait()
            ended = [future for future in futures if future.done() and future.exception() is None]
            report.results[:] = [future.result() for future in ended]
            report.cut_off = f"interrupted by {type(error).__name__}"
            error.add_note(report.text)
            raise
        finally:
            _show_progress("")
        return report

    def report(self, seen: Sequence[RequestSeen], cases: int, seed: int) -> SweepReport:
        """A report of no runs yet."""
        return SweepReport(self._name, len(seen), cases, [], self._repeat, seed)

    def _repeat(self, name: str) -> str:
        options = "".join(f", {option}={value!r}" for option, value in self._options.items())
        return f"fakebroker.sweep({self._name}, only={name!r}{options}).check()"

    def _work(self, waiting: "SimpleQueue[tuple[Case, Future[CaseResult]]]") -> None:
        with suppress(Empty):
            while True:
                case, future = waiting.get_nowait()
                try:
                    future.set_result(self._run_case(case))
                except BaseException as error:  # a broker that could not be made or stopped, a fault that cannot be
                    future.set_exception(error)

    def _run_case(self, case: Case) -> CaseResult:
        broker = FakeBroker(**self._options).start()
        ended: Future[None] = Future()
        was_hung, internal = False, None
        try:
            injection = Injection(broker, case)
            thread = threading.Thread(target=self._end, args=(broker, ended), name=case.name, daemon=True)
            thread.start()
            thread.join(self._timeout_s)
            was_hung = thread.is_alive()
            error = None if was_hung else ended.exception()
            story = broker.story() if was_hung or error is not None else ""
            if was_hung:
                _give_up(broker, thread)
        finally:
            if was_hung:
                ended.add_done_callback(lambda _: _stop(broker))  # librdkafka's calls wait for ever without a broker
            else:
                internal = _stop(broker)
        if was_hung:
            error = ended.exception() if ended.done() else None
            error = None if isinstance(error, RunTooLong) else error
            text = f"it had not ended after {self._timeout_s:g} s"
            return CaseResult(case, HUNG, error, text, story, injection.was_reached)
        error = error or internal
        if error is not None:
            return CaseResult(case, BROKEN, error, self._described(error), story, injection.was_reached)
        return CaseResult(case, HELD if injection.was_reached else NOT_REACHED, was_reached=injection.was_reached)

    def _described(self, error: BaseException) -> str:
        """The exception on one line, with the place in the swept function's file that it came by."""
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == self._file]
        lines = str(error).strip().splitlines() or [frame.line or "" for frame in frames[-1:]]
        where = "".join(f" ({Path(frame.filename).name}:{frame.lineno})" for frame in frames[-1:])
        return f"{type(error).__name__}{f': {lines[0]}' if lines else ''}{where}"

    def _end(self, broker: FakeBroker, ended: "Future[None]") -> None:
        """Run it to its end, which the future tells."""
        try:
            self._call(broker)
        except BaseException as error:  # an outcome of pytest's is no Exception
            ended.set_exception(error)
        else:
            ended.set_result(None)

    def _call(self, broker: FakeBroker) -> None:
        result = self._run(broker)
        if inspect.iscoroutine(result):
            asyncio.run(result)


def _load_all() -> None:
    """Import in this thread what runs would import in theirs.

    Under pytest an import may parse source text for its assertions, and Python 3.11 raises SystemError when two threads
    do that at once (cpython issue 106905).
    """
    preload = Preload()
    preload.prepare()
    preload.finish()
    broker = FakeBroker()
    broker.story()
    broker.group("g")
    broker.clear_faults()


def _give_up(broker: FakeBroker, thread: threading.Thread) -> None:
    """Have a run end: the broker lets go of its clients, then disconnects them. One that stays is left to itself."""
    for steps in ((relieve,), (relieve, disconnect_clients)):
        raise_in(thread.ident or 0, RunTooLong)
        for step in steps:
            with suppress(Exception):
                step(broker)
        thread.join(GRACE_S)
        if not thread.is_alive():
            return


def _show_progress(text: str) -> None:
    """On a terminal: one line that changes."""
    if sys.stderr is not None and sys.stderr.isatty():
        sys.stderr.write(f"\r{text}\x1b[K")
        sys.stderr.flush()


def _stop(broker: FakeBroker) -> Exception | None:
    """Stop a broker; gives its internal error, which fails the run."""
    try:
        broker.stop()
    except Exception as error:
        return error
    return None

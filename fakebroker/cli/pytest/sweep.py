"""The sweep in pytest: what `@pytest.mark.fakebroker_sweep(...)` and `--fakebroker-fault` do with a test.

A marked test runs once as it is, then once for each case, each time with all its function-scoped fixtures set up
anew; fixtures of wider scopes stay. The runs are one after the other: pytest sets up fixtures in one thread of one
process, and a process for each run would set up those of the session again. pytest-xdist spreads whole tests as ever;
`fakebroker.sweep(run)` has runs side by side.
"""

import re
import shlex
import time
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any, Literal

import pytest
from _pytest.runner import runtestprotocol

from fakebroker.cli.pytest.brokers import MARKED_FIXTURES, PREPARE, forget
from fakebroker.cli.pytest.sweep_progress import Progress
from fakebroker.cli.pytest.sweep_watch import Watch
from fakebroker.protocol.errors import InvalidArgument
from fakebroker.testing.sweeps.cases import Case, RequestSeen, parse_case
from fakebroker.testing.sweeps.inject import Injection
from fakebroker.testing.sweeps.limit import limit_s
from fakebroker.testing.sweeps.recorder import Recorder
from fakebroker.testing.sweeps.report import BROKEN, HELD, HUNG, NOT_REACHED, CaseResult, SweepReport
from fakebroker.testing.sweeps.selection import DEFAULT_BUDGET, Selection, cases_of, sample, selection

if TYPE_CHECKING:
    from fakebroker.cli.pytest.brokers import AnyBroker

SWEEP_RESULT, FAULT_RESULT = "fakebroker_sweep", "fakebroker_fault"  # properties of reports
MARKER_OPTIONS = ("apis", "budget", "faults", "seed")
MAX_DETAILS = 3  # broken cases whose traceback and story are in the report


# The marker


def run_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Run a marked test and its sweep in place of `pytest_runtest_protocol`; to the outside it is one test."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in _run(item):
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logreport(report=_tear_down(item, nextitem))
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def _run(item: pytest.Item) -> Iterator[pytest.TestReport]:
    """The reports of the test's setup and call; of its own teardown only if that failed."""
    problem, chosen = _asked(item)
    if chosen is None:
        yield _error_report(item, problem)
        return
    began = time.monotonic()
    reports, seen = _first_run(item, chosen)
    if not all(report.passed for report in reports):
        yield from (report for report in reports if report.when != "teardown" or report.failed)
        return
    timeout_s = limit_s(time.monotonic() - began)
    cases = cases_of(seen, chosen)
    runs: list[_CaseRun] = []
    sweep = SweepReport(item.name, len(seen), len(cases), [], lambda name: _repeat(item, name), chosen.seed)
    _run_cases(item, sample(cases, chosen.seed, chosen.budget), timeout_s, sweep, runs)
    setup, call, _ = reports
    call.duration = time.monotonic() - began
    call.user_properties.append((SWEEP_RESULT, sweep.text.splitlines()[0]))
    call.sections.append(("fakebroker sweep", sweep.text))
    if not sweep.is_held:
        _fail(call, sweep, [(result, failure) for result, failure in runs if failure is not None])
    yield setup
    yield call


_CaseRun = tuple[CaseResult, pytest.TestReport | None]


def _run_cases(
    item: pytest.Item, cases: list[Case], timeout_s: float, sweep: SweepReport, runs: list[_CaseRun]
) -> None:
    """Run all cases, into `sweep` and `runs`. A time limit of pytest-timeout ends them; Ctrl-C, too, and is raised."""
    progress = Progress(item, len(cases))
    try:
        for case in cases:
            progress.begins(case.name)
            run = _run_case(item, case, timeout_s)
            runs.append(run)
            sweep.results.append(run[0])
            if _is_of_time_limit(run[0].message):
                sweep.cut_off = f"pytest-timeout ended the test in {progress.current}"
                break
            progress.ended(run[0])
    except pytest.fail.Exception as error:  # pytest-timeout's, between two runs
        sweep.cut_off = f"{error} in {progress.current}"
    except BaseException as error:
        sweep.cut_off = f"{type(error).__name__} in {progress.current}"
        progress.say(sweep.text)
        raise
    finally:
        progress.over()


def _is_of_time_limit(message: str) -> bool:
    return re.match(r"Failed: Timeout \(?>", message) is not None


def _asked(item: pytest.Item) -> tuple[str, Selection | None]:
    """What the marker and the options ask for, or what is wrong with it and None."""
    marker = item.get_closest_marker("fakebroker_sweep")
    assert marker is not None
    unknown = sorted(marker.kwargs.keys() - set(MARKER_OPTIONS))
    if unknown or marker.args:
        wrong = f"no {', '.join(unknown)}" if unknown else f"the unnamed value {marker.args[0]!r}"
        return f"it has {wrong}; it takes {', '.join(MARKER_OPTIONS)}", None
    if not any(name in MARKED_FIXTURES for name in getattr(item, "fixturenames", ())):
        return f"the test uses neither of the fixtures with a broker, {' and '.join(MARKED_FIXTURES)}", None
    options = {"budget": DEFAULT_BUDGET, **marker.kwargs}
    if item.config.option.fakebroker_sweep_budget is not None:
        options["budget"] = item.config.option.fakebroker_sweep_budget
    try:
        return "", selection(**options)
    except InvalidArgument as error:
        return str(error), None


def _error_report(item: pytest.Item, problem: str) -> pytest.TestReport:
    return _report_of(item, "setup", lambda: pytest.fail(f"mark fakebroker_sweep: {problem}", pytrace=False))


def _tear_down(item: pytest.Item, nextitem: pytest.Item | None) -> pytest.TestReport:
    """After the last run the fixtures of wider scopes may go, too, as far as the next test does not need them.

    The hook `pytest_runtest_teardown` was called in each run, and must not be without a setup before.
    """
    return _report_of(item, "teardown", lambda: item.session._setupstate.teardown_exact(nextitem))


def _report_of(
    item: pytest.Item, phase: Literal["setup", "teardown"], function: Callable[[], object]
) -> pytest.TestReport:
    report: pytest.TestReport = item.ihook.pytest_runtest_makereport(
        item=item, call=pytest.CallInfo.from_call(function, phase)
    )
    return report


def _first_run(item: pytest.Item, chosen: Selection) -> tuple[list[pytest.TestReport], list[RequestSeen]]:
    """The test as it is, and the requests that its clients sent."""
    recorders: list[Recorder] = []
    reports = _run_once(item, lambda broker: recorders.append(Recorder(broker, chosen.apis)))
    return reports, [request for recorder in recorders for request in recorder.seen]


def _run_case(item: pytest.Item, case: Case, timeout_s: float) -> tuple[CaseResult, pytest.TestReport | None]:
    """The test with one fault; with the report of the failure if there was one."""
    injections: list[Injection] = []
    watch = Watch(timeout_s)
    item.config.pluginmanager.register(watch)
    properties = len(item.user_properties)
    try:
        reports = _run_once(item, lambda broker: injections.append(Injection(broker, case)))
    finally:
        item.config.pluginmanager.unregister(watch)
        del item.user_properties[properties:]
    was_reached = any(injection.was_reached for injection in injections)
    failed = next((report for report in reports if report.failed), None)
    if failed is None:
        return CaseResult(case, HELD if was_reached else NOT_REACHED), None
    outcome = HUNG if watch.has_fired else BROKEN
    story = "\n".join(text for title, text in failed.sections if title.startswith("fakebroker "))
    return CaseResult(case, outcome, None, _message(failed), story, was_reached), failed


def _run_once(item: pytest.Item, on_start: "Callable[[AnyBroker], None]") -> list[pytest.TestReport]:
    """Setup, call and teardown of the test alone; `on_start` is given the fixture's broker before the test has it."""
    forget(item)
    item._report_sections.clear()  # what earlier runs printed
    _renew_instance(item)
    item.stash[PREPARE] = on_start
    try:
        # With its parent as the next, everything but the test itself stays set up.
        return runtestprotocol(item, log=False, nextitem=item.parent)  # type: ignore[arg-type]
    finally:
        del item.stash[PREPARE]


def _renew_instance(item: Any) -> None:
    """A method has a new instance of its class in each run: pytest makes one for an item, and keeps it."""
    if getattr(item, "_instance", None) is not None and isinstance(item.parent, pytest.Class):
        item._instance = item.parent.newinstance()  # type: ignore[no-untyped-call]
        item._obj = getattr(item._instance, item.originalname)


def _fail(report: pytest.TestReport, sweep: SweepReport, failures: list[tuple[CaseResult, pytest.TestReport]]) -> None:
    """Make the report one of a failure: the summary, then traceback and story of the first with each message."""
    different = {result.message: (result, failure) for result, failure in reversed(failures)}
    parts, report.sections = [sweep.text], []
    for result, failure in list(reversed(different.values()))[:MAX_DETAILS]:
        parts += ["", f"{f' {result.name} ':-^80}", failure.longreprtext]
        report.sections += [(f"{title} ({result.name})", text) for title, text in failure.sections]
    report.outcome, report.longrepr = "failed", "\n".join(parts)


def _message(report: pytest.TestReport) -> str:
    """What the failure says, on one line; with the phase, if it was not the test itself."""
    crash = getattr(report.longrepr, "reprcrash", None)
    lines = (crash.message if crash is not None else report.longreprtext).strip().splitlines()
    phase = "" if report.when == "call" else f"in {report.when}: "
    return phase + (lines[0] if lines else "it failed")


def _repeat(item: pytest.Item, name: str) -> str:
    return f"pytest {shlex.quote(item.nodeid)} --fakebroker-fault {shlex.quote(name)}"


# The options


def configure(config: pytest.Config) -> None:
    """Check the options of the command line; raises UsageError."""
    budget = config.option.fakebroker_sweep_budget
    try:
        selection(budget=budget)
    except InvalidArgument:
        raise pytest.UsageError(f"--fakebroker-sweep-budget must be a number from 1, not {budget}") from None
    if config.option.fakebroker_fault is not None:
        try:
            case = parse_case(config.option.fakebroker_fault, "--fakebroker-fault")
        except InvalidArgument as error:
            raise pytest.UsageError(str(error)) from None
        config.pluginmanager.register(OneFault(case))


class OneFault:
    """`--fakebroker-fault`: every test with the fixture has this fault in its broker."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self._injection: Injection | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Have the fixture set the fault."""
        self._injection = None
        item.stash[PREPARE] = self._inject

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Say whether the request came: a test that never met its fault does not count as held."""
        report = yield
        if report.when == "call" and self._injection is not None:
            report.user_properties.append((FAULT_RESULT, "reached" if self._injection.was_reached else "not reached"))
        return report

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """One line that counts."""
        reports = [report for reports in terminalreporter.stats.values() for report in reports]
        results = [text for r in reports for name, text in getattr(r, "user_properties", ()) if name == FAULT_RESULT]
        happened = results.count("reached")
        what = self.case.name
        if happened:
            line = f"{what} happened in {happened} of {len(results)} tests with a broker"
        else:
            line = f"{what} never happened: no test sent that request"
        terminalreporter.write_line(f"fakebroker: {line}", yellow=not happened, bold=not happened)

    def _inject(self, broker: "AnyBroker") -> None:
        self._injection = Injection(broker, self.case)

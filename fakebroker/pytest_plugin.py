"""The pytest plugin: a broker per test, and what it saw (`story()`) in the report of a test that fails.

    def test_orders(fakebroker): ...                       a fresh broker on a port of its own
    def test_cheap(fakebroker_session): ...                one broker for the whole run
    def test_two(fakebroker_factory):                      as many as one likes: fakebroker_factory(nodes=3)
    @pytest.mark.fakebroker(config={"num.partitions": 3}, seed=7)
    @pytest.mark.fakebroker_sweep(apis="OffsetCommit|Fetch")    once more for each fault that is plausible (sweeps/)

An internal error of the broker fails the test that caused it, in its teardown.
"""

from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from fakebroker.broker import FakeBroker

MARKER_OPTIONS = ("as_release", "config", "nodes", "profile", "seed")
_BROKERS = pytest.StashKey["list[FakeBroker]"]()
ON_START = pytest.StashKey["Callable[[FakeBroker], None]"]()  # called with the `fakebroker` fixture's broker
SWEEP_RESULT, FAULT_RESULT = "fakebroker_sweep", "fakebroker_fault"  # properties of reports


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    group = parser.getgroup("fakebroker")
    group.addoption(
        "--fakebroker-fault", metavar="[CLIENT/]API#N:FAULT",
        help="run tests once, with one fault in the broker of the `fakebroker` fixture: OffsetCommit#3:lost-answer",
    )  # fmt: skip
    group.addoption(
        "--fakebroker-sweep-budget", metavar="N", type=int,
        help="at most so many runs in each test marked fakebroker_sweep, chosen by its seed",
    )  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers, and check the options."""
    options = ", ".join(f"{option}=..." for option in MARKER_OPTIONS)
    config.addinivalue_line("markers", f"fakebroker({options}): how the `fakebroker` fixture's broker is made")
    config.addinivalue_line(
        "markers",
        "fakebroker_sweep(apis=..., faults=..., seed=..., budget=...): run the test once more for each plausible fault "
        "at each request of its clients",
    )
    if config.option.fakebroker_fault is not None or config.option.fakebroker_sweep_budget is not None:
        from fakebroker.sweeps import pytest_sweep

        pytest_sweep.configure(config)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run a marked test with its sweep; with `--fakebroker-fault` it runs once, as any other."""
    if item.get_closest_marker("fakebroker_sweep") is None or item.config.option.fakebroker_fault is not None:
        return None
    from fakebroker.sweeps import pytest_sweep

    return pytest_sweep.run_protocol(item, nextitem)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """A line for each sweep that held; the others are among the failures."""
    for report in terminalreporter.stats.get("passed", ()):
        for name, text in report.user_properties:
            if name == SWEEP_RESULT:
                terminalreporter.write_line(f"fakebroker sweep: {text}")


@pytest.fixture
def fakebroker(request: pytest.FixtureRequest) -> Iterator["FakeBroker"]:
    """A fresh broker, running on a port of its own; stopped after the test."""
    broker = _start(**_marked_options(request.node))
    _brokers_to_report(request.node).append(broker)
    try:
        on_start = request.node.stash.get(ON_START, None)
        if on_start is not None:
            on_start(broker)
        yield broker
    finally:
        _stop([broker])


@pytest.fixture
def fakebroker_factory(request: pytest.FixtureRequest) -> Iterator[Callable[..., "FakeBroker"]]:
    """A function that starts brokers (options as of FakeBroker); all are stopped after the test."""
    brokers: list[FakeBroker] = []

    def make(**options: Any) -> "FakeBroker":
        broker = _start(**options)
        brokers.append(broker)
        _brokers_to_report(request.node).append(broker)
        return broker

    yield make
    _stop(brokers)


@pytest.fixture(scope="session")
def fakebroker_session(request: pytest.FixtureRequest) -> Iterator["FakeBroker"]:
    """One broker for all tests of the run that use this fixture."""
    broker = _start()
    _brokers_to_report(request.session).append(broker)
    yield broker
    _stop([broker])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add what the test's brokers saw to the report of a failure."""
    report = yield
    if report.failed and report.when in ("setup", "call"):
        for broker in brokers_of(item):
            report.sections.append((f"fakebroker {broker.bootstrap}", _story(broker)))
    return report


def _story(broker: "FakeBroker") -> str:
    """The text of `story()`, or why there is none: reporting a failed test must not fail itself."""
    try:
        return broker.story()
    except Exception as error:
        return f"no story: {error!r}"


def _start(**options: Any) -> "FakeBroker":
    from fakebroker.broker import FakeBroker  # costly: only for tests that want one

    broker = FakeBroker(**options)
    broker.start()
    return broker


def _stop(brokers: list["FakeBroker"]) -> None:
    """Stop all of them, then raise the internal errors (bugs of the broker) that they kept."""
    errors: list[Exception] = []
    for broker in brokers:
        try:
            broker.stop()
        except Exception as error:
            errors.append(error)
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise ExceptionGroup("internal errors of brokers", errors)


def _marked_options(item: pytest.Item) -> dict[str, Any]:
    marker = item.get_closest_marker("fakebroker")
    if marker is None:
        return {}
    unknown = sorted(marker.kwargs.keys() - set(MARKER_OPTIONS))
    if unknown or marker.args:
        wrong = ", ".join(unknown) or "a positional argument"
        raise pytest.UsageError(f"{item.nodeid}: mark fakebroker has no {wrong}; it has {', '.join(MARKER_OPTIONS)}")
    return dict(marker.kwargs)


def _brokers_to_report(node: pytest.Item | pytest.Session) -> list["FakeBroker"]:
    """The brokers whose stories a failing test shows; kept on the test, or on the session for the shared one."""
    return node.stash.setdefault(_BROKERS, [])


def forget_brokers(item: pytest.Item) -> None:
    """The test runs once more: its report is about the brokers of that run."""
    item.stash[_BROKERS] = []


def brokers_of(item: pytest.Item) -> list["FakeBroker"]:
    """The brokers that the test uses; the session's only if its fixture is among the test's."""
    shared = item.session.stash.get(_BROKERS, []) if "fakebroker_session" in getattr(item, "fixturenames", ()) else []
    return [*item.stash.get(_BROKERS, []), *shared]

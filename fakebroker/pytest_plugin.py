"""The pytest plugin: a broker per test, and what it saw (`story()`) in the report of a test that fails.

    def test_orders(fakebroker): ...                       a fresh broker on a port of its own
    def test_cheap(fakebroker_session): ...                one broker for the whole run
    def test_two(fakebroker_factory):                      as many as one likes: fakebroker_factory(nodes=3)
    @pytest.mark.fakebroker(config={"num.partitions": 3}, seed=7)

An internal error of the broker fails the test that caused it, in its teardown.
"""

from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from fakebroker.broker import FakeBroker

MARKER_OPTIONS = ("as_release", "config", "nodes", "profile", "seed")
_BROKERS = pytest.StashKey["list[FakeBroker]"]()


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    options = ", ".join(f"{option}=..." for option in MARKER_OPTIONS)
    config.addinivalue_line("markers", f"fakebroker({options}): how the `fakebroker` fixture's broker is made")


@pytest.fixture
def fakebroker(request: pytest.FixtureRequest) -> Iterator["FakeBroker"]:
    """A fresh broker, running on a port of its own; stopped after the test."""
    broker = _start(**_marked_options(request.node))
    _brokers_to_report(request.node).append(broker)
    yield broker
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
        for broker in _brokers_of(item):
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


def _brokers_of(item: pytest.Item) -> list["FakeBroker"]:
    """The brokers that the test uses; the session's only if its fixture is among the test's."""
    shared = item.session.stash.get(_BROKERS, []) if "fakebroker_session" in getattr(item, "fixturenames", ()) else []
    return [*item.stash.get(_BROKERS, []), *shared]

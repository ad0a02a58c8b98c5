"""The pytest plugin: a broker per test, and what it saw (`story()`) in the report of a test that fails.

    def test_orders(fakebroker): ...                       a fresh broker on a port of its own
    async def test_loop(fakebroker_async): ...             a fresh AsyncFakeBroker in the test's loop
    def test_two(fakebroker_factory):                      as many as one likes: fakebroker_factory(nodes=3)
    def test_cheap(fakebroker_session): ...                one broker for the whole run
    @pytest.mark.fakebroker(nodes=3, config={"num.partitions": 3}, seed=7)
    @pytest.mark.fakebroker_scenario("moves.yaml")         its timeline is played while the test runs
    @pytest.mark.fakebroker_sweep(apis="OffsetCommit|Fetch")    once more for each fault that is plausible there

An internal error of the broker fails the test that caused it, in its teardown. Every run of pytest loads this file, so
it imports nothing; what it does is in `fakebroker/cli/pytest`.
"""

from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from fakebroker.scenarios.running.background import BackgroundPlay
    from fakebroker.testing.broker import AsyncFakeBroker, FakeBroker


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options for all brokers of a run."""
    group = parser.getgroup("fakebroker")
    group.addoption("--fakebroker-seed", metavar="N", help="seed of the random ids of brokers")
    group.addoption("--fakebroker-profile", metavar="NAME", help='default settings of brokers: "test" or "kafka"')
    group.addoption("--fakebroker-journal", metavar="DIR", help="write the journal of each broker to DIR/TEST")
    group.addoption(
        "--fakebroker-fault",
        metavar="[CLIENT/]API#N:FAULT",
        help="run each test once, with one fault in its broker, e.g. OffsetCommit#3:lost-answer",
    )
    group.addoption(
        "--fakebroker-sweep-budget",
        metavar="N",
        type=int,
        help="maximum number of runs of each test with the mark fakebroker_sweep",
    )
    group.addoption(
        "--fakebroker-switch-interval-ms",
        metavar="MS",
        help="Python's switch interval during the run, in ms: how long a broker's thread waits for a "
        "busy one, e.g. 0.2",
    )
    parser.addini("fakebroker_seed", "seed of the random ids of brokers", default="")
    parser.addini("fakebroker_profile", 'default settings of brokers: "test" or "kafka"', default="")
    parser.addini("fakebroker_switch_interval_ms", "Python's switch interval in the run", default="")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers; load the fixtures for the plugins that run async tests, where those are."""
    config.addinivalue_line(
        "markers",
        "fakebroker(nodes=..., node_id=..., racks=..., config=..., users=..., seed=..., as_release=..., "
        "profile=...): options of the broker of the fixtures `fakebroker` and `fakebroker_async`",
    )
    config.addinivalue_line(
        "markers",
        "fakebroker_sweep(apis=..., faults=..., seed=..., budget=...): repeat the test with each "
        "plausible fault at each request of its clients",
    )
    config.addinivalue_line(
        "markers",
        "fakebroker_scenario(file, parameter=value, ...): play a scenario while the test runs, on the broker of the "
        "fixture `fakebroker`",
    )
    _spare_the_rewriting(config)
    if any(config.getoption(name) for name in ("fakebroker_seed", "fakebroker_profile", "fakebroker_journal")) or any(
        config.getini(name) for name in ("fakebroker_seed", "fakebroker_profile")
    ):
        from fakebroker.cli.pytest import options

        options.check_run(config)
    if config.option.fakebroker_switch_interval_ms or config.getini("fakebroker_switch_interval_ms"):
        from fakebroker.cli.pytest import switch_interval

        switch_interval.configure(config)
    if config.option.fakebroker_fault is not None or config.option.fakebroker_sweep_budget is not None:
        from fakebroker.cli.pytest import sweep

        sweep.configure(config)
    for name in ("asyncio", "anyio"):
        if config.pluginmanager.hasplugin(name):
            config.pluginmanager.import_plugin(f"fakebroker.cli.pytest.in_{name}")


def _spare_the_rewriting(config: pytest.Config) -> None:
    """Import fakebroker as any other library. pytest rewrites the `assert`s of a plugin's whole package: of no use
    here, slow at the first import, and CPython 3.11's parser may fail where two threads import at once.
    """
    names = getattr(getattr(config.pluginmanager, "rewrite_hook", None), "_must_rewrite", None)
    if isinstance(names, set):
        names.discard("fakebroker")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run a test with the mark fakebroker_sweep and its sweep; with `--fakebroker-fault` it runs once, as any other."""
    if item.get_closest_marker("fakebroker_sweep") is None or item.config.option.fakebroker_fault is not None:
        return None
    from fakebroker.cli.pytest import sweep

    return sweep.run_protocol(item, nextitem)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """A line for each sweep that held; the others are among the failures."""
    for report in terminalreporter.stats.get("passed", ()):
        for name, text in report.user_properties:
            if name == "fakebroker_sweep":
                terminalreporter.write_line(f"fakebroker sweep: {text}")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Refuse a mark that nothing would heed."""
    if item.get_closest_marker("fakebroker") is not None:
        from fakebroker.cli.pytest import brokers

        brokers.check_marked(item)
    if item.get_closest_marker("fakebroker_scenario") is not None:
        from fakebroker.cli.pytest import scenarios

        scenarios.check_marked(item)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """After the test's own code: what its scenario found."""
    yield
    if item.get_closest_marker("fakebroker_scenario") is not None:
        from fakebroker.cli.pytest import scenarios

        scenarios.finish(item)


@pytest.fixture
def fakebroker(request: pytest.FixtureRequest) -> Iterator["FakeBroker"]:
    """A fresh broker, running on a port of its own; stopped after the test."""
    from fakebroker.cli.pytest import brokers

    item = request.node
    if item.get_closest_marker("fakebroker_scenario") is None:
        broker = brokers.start(item, brokers.marked_options(item))
        yield broker
        brokers.stop([broker])
    else:
        from fakebroker.cli.pytest import scenarios

        yield from scenarios.broker_of(item)


@pytest.fixture
def fakebroker_scenario(request: pytest.FixtureRequest, fakebroker: "FakeBroker") -> "BackgroundPlay":  # noqa: ARG001 - it plays
    """The scenario of the mark `fakebroker_scenario`, played while the test runs.

    It has `wait(timeout_s)`, `is_done`, `problems` and `transcript`.
    """
    from fakebroker.cli.pytest import scenarios

    return scenarios.play_of(request.node)


@pytest.fixture
def fakebroker_async(request: pytest.FixtureRequest) -> "AsyncFakeBroker":
    """A fresh AsyncFakeBroker, running in the loop of an `async def` test (pytest-asyncio or anyio)."""
    from fakebroker.cli.pytest.async_brokers import fixture_for

    broker: AsyncFakeBroker = request.getfixturevalue(fixture_for(request))
    return broker


@pytest.fixture
def fakebroker_factory(request: pytest.FixtureRequest) -> Iterator[Callable[..., "FakeBroker"]]:
    """A function that starts brokers (options as of FakeBroker); all are stopped after the test."""
    from fakebroker.cli.pytest import brokers

    made: list[FakeBroker] = []
    yield brokers.factory_of(request.node, made)
    brokers.stop(made)


@pytest.fixture(scope="session")
def fakebroker_session(request: pytest.FixtureRequest) -> Iterator["FakeBroker"]:
    """One broker for all tests of the run that use this fixture; not emptied between them, `reset()` does that."""
    from fakebroker.cli.pytest import brokers, options

    broker = brokers.start(request.session, options.options_of_run(request.config))
    yield broker
    brokers.stop([broker])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add what the test's brokers saw to the report of a failure."""
    report = yield
    if report.failed and report.when in ("setup", "call") and _uses_brokers(item):
        from fakebroker.cli.pytest.brokers import stories

        report.sections += stories(item)
        if item.get_closest_marker("fakebroker_scenario") is not None:
            from fakebroker.cli.pytest import scenarios

            report.sections += scenarios.sections(item)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    """After the teardown: an internal error of the session's broker is the test's that caused it."""
    yield
    if "fakebroker_session" in getattr(item, "fixturenames", ()):
        from fakebroker.cli.pytest.brokers import of_session, raise_errors

        raise_errors(of_session(item))


def _uses_brokers(item: pytest.Item) -> bool:
    return any(name.startswith("fakebroker") for name in getattr(item, "fixturenames", ()))

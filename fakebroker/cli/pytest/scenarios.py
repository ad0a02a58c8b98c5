"""`@pytest.mark.fakebroker_scenario("file.yaml", parameter=value)`: a scenario as the environment of a test.

The broker of the fixture `fakebroker` is made as the scenario says, and its timeline is played in the background from
the broker's start on. What does not come out as the scenario says fails the test.
"""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from fakebroker.cli.pytest import brokers
from fakebroker.cli.pytest.options import checked
from fakebroker.protocol.errors import FakebrokerError, WaitTimeout

if TYPE_CHECKING:
    from fakebroker.scenarios.running.background import BackgroundPlay
    from fakebroker.scenarios.script import Scenario
    from fakebroker.testing.broker import FakeBroker

MARKER, FIXTURE = "fakebroker_scenario", "fakebroker"
AFTER_TEST_S = 5.0  # how long a scenario may go on after the test's own code
PLAY = pytest.StashKey["BackgroundPlay"]()
SCENARIO = pytest.StashKey["Scenario"]()


def check_marked(item: pytest.Item) -> None:
    """Fail a test whose mark nothing would heed, or whose file is no scenario."""
    if FIXTURE not in getattr(item, "fixturenames", ()):
        if any(mark.name == MARKER for mark in item.own_markers):
            _refuse(item, f"the test does not use the fixture {FIXTURE}")
        return
    item.stash[SCENARIO] = _read(item)


def broker_of(item: pytest.Item) -> "Iterator[FakeBroker]":
    """The running broker of a test with the mark, prepared by the beginning of its scenario; stopped after the test."""
    broker = brokers.start(item, _options(item))
    try:
        _begin(item, broker)
        yield broker
        if PLAY in item.stash:
            item.stash[PLAY].cancel()
    finally:
        brokers.stop([broker])


def _options(item: pytest.Item) -> dict[str, Any]:
    """The options of the broker: those of the scenario, and what marks say beside it."""
    from fakebroker.scenarios.running.options import broker_options

    marked: dict[str, Any] = {}
    try:
        for mark in reversed(list(item.iter_markers("fakebroker"))):
            marked |= checked(mark)
        return broker_options(item.stash[SCENARIO], marked)
    except FakebrokerError as error:
        _refuse(item, error)


def _begin(item: pytest.Item, broker: "FakeBroker") -> None:
    """Begin to play, and wait until the timeline first waits for something."""
    from fakebroker.scenarios.playing.worlds import BrokerWorld
    from fakebroker.scenarios.running.background import BackgroundPlay
    from fakebroker.scenarios.running.options import create_topics

    try:
        create_topics(item.stash[SCENARIO], broker)
        item.stash[PLAY] = BackgroundPlay(item.stash[SCENARIO], BrokerWorld(broker)).start().prepare()
    except FakebrokerError as error:
        _refuse(item, error)


def play_of(item: pytest.Item) -> "BackgroundPlay":
    """The play of the test's mark. Fails a test without one."""
    if PLAY not in item.stash:
        pytest.fail(f'the fixture {MARKER} is for tests with @pytest.mark.{MARKER}("file.yaml")', pytrace=False)
    return item.stash[PLAY]


def finish(item: pytest.Item) -> None:
    """The test's own code is done: wait a moment for the end of the timeline. What is wrong fails the test."""
    if PLAY not in item.stash:
        return
    play = item.stash[PLAY]
    try:
        play.wait(AFTER_TEST_S)
    except WaitTimeout as error:
        text = f"{error}, counted from the end of the test; {MARKER}.wait(timeout_s) in the test waits longer"
        raise pytest.fail.Exception(text, pytrace=False) from None
    except AssertionError as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None


def sections(item: pytest.Item) -> list[tuple[str, str]]:
    """What a failed test tells of its scenario: what happened last."""
    if PLAY not in item.stash:
        return []
    play = item.stash[PLAY]
    return [(f"scenario {play.scenario.path}", play.tail)]


def _read(item: pytest.Item) -> "Scenario":
    mark = item.get_closest_marker(MARKER)
    assert mark is not None
    if len(mark.args) != 1 or not isinstance(mark.args[0], str | os.PathLike):
        _refuse(
            item, f'it takes one file, relative to the file of the test: @pytest.mark.{MARKER}("file.yaml", name=value)'
        )
    path = os.path.join(item.path.parent, os.fspath(mark.args[0]))
    try:
        from fakebroker.scenarios.language.reading import read_scenario

        return read_scenario(os.path.relpath(path) if not os.path.isabs(mark.args[0]) else path, dict(mark.kwargs))
    except OSError as error:
        _refuse(item, f"{path}: {error.strerror or error}")
    except FakebrokerError as error:
        _refuse(item, error)


def _refuse(item: pytest.Item, error: Exception | str) -> NoReturn:
    raise pytest.fail.Exception(f"{item.nodeid}: mark {MARKER}: {error}", pytrace=False) from None

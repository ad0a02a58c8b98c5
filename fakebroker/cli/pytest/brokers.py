"""The brokers of tests: made and started, stopped, and what they tell when a test fails."""

import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from fakebroker.cli.pytest.options import options_of, options_of_run
from fakebroker.protocol.errors import FakebrokerError, InvalidArgument
from fakebroker.testing.broker import AsyncFakeBroker, FakeBroker

if TYPE_CHECKING:
    AnyBroker = FakeBroker | AsyncFakeBroker

BROKERS = pytest.StashKey["list[AnyBroker]"]()
FORGOTTEN = pytest.StashKey[int]()  # how many there were in earlier runs of the test
PREPARE = pytest.StashKey["Callable[[AnyBroker], None]"]()  # called with the broker of a fixture before it starts


def marked_options(item: pytest.Item) -> dict[str, Any]:
    """The arguments of FakeBroker that the test's marks and the run ask for; wrong ones fail the test."""
    try:
        return options_of(item)
    except ValueError as error:
        _refuse(item, error)


MARKED_FIXTURES = ("fakebroker", "fakebroker_async")


def check_marked(item: pytest.Item) -> None:
    """Fail a test with the mark whose own mark no broker will be made by. One of a class or module is for those in it
    that use a broker.
    """
    uses_one = any(name in MARKED_FIXTURES for name in getattr(item, "fixturenames", ()))
    if not uses_one and any(mark.name == "fakebroker" for mark in item.own_markers):
        _refuse(item, f"the test uses neither of its fixtures, {' and '.join(MARKED_FIXTURES)}")


def start(node: pytest.Item | pytest.Session, options: dict[str, Any]) -> FakeBroker:
    """A running broker, whose story is printed when the test fails. Invalid options fail the test."""
    broker: FakeBroker = made(FakeBroker, node, options)
    return broker.start()


def made(kind: type[Any], node: pytest.Item | pytest.Session, options: dict[str, Any]) -> Any:
    """A broker of that kind that is not started, whose story is printed when the test fails."""
    try:
        broker = kind(**journal_option(node), **options)
    except (FakebrokerError, ValueError, TypeError) as error:
        _refuse(node, error)
    node.stash.setdefault(BROKERS, []).append(broker)
    if PREPARE in node.stash:
        node.stash[PREPARE](broker)
    return broker


def forget(item: pytest.Item) -> None:
    """The test runs once more: its report tells the stories of that run's brokers."""
    item.stash[FORGOTTEN] = item.stash.get(FORGOTTEN, 0) + len(item.stash.get(BROKERS, []))
    item.stash[BROKERS] = []


def factory_of(item: pytest.Item, brokers: list[FakeBroker]) -> Callable[..., FakeBroker]:
    """A function that starts brokers, which it adds to the list; it takes the options of FakeBroker."""
    defaults = options_of_run(item.config)

    def make(**options: Any) -> FakeBroker:
        broker = FakeBroker(**(journal_option(item) | defaults | options))
        brokers.append(broker)
        item.stash.setdefault(BROKERS, []).append(broker)
        return broker.start()

    return make


def journal_option(node: pytest.Item | pytest.Session) -> dict[str, Any]:
    """Where the next broker of a test writes its journal (`--fakebroker-journal DIR`): DIR/TEST, DIR/TEST.2 and so on.

    TEST is the test's node id, with other characters than letters, digits and "-" as "_".
    """
    folder = node.config.getoption("fakebroker_journal", None)
    if not folder:
        return {}
    name = re.sub(r"[^A-Za-z0-9-]+", "_", node.nodeid or f"session-{os.environ.get('PYTEST_XDIST_WORKER', '')}")
    count = len(node.stash.get(BROKERS, [])) + node.stash.get(FORGOTTEN, 0)
    return {"journal_dir": os.path.join(folder, name.strip("_-") + (f".{count + 1}" if count else ""))}


def stop(brokers: list[FakeBroker]) -> None:
    """Stop all of them, then raise the internal errors (bugs of the broker) that they kept."""
    errors: list[Exception] = []
    for broker in brokers:
        try:
            broker.stop()
        except Exception as error:
            errors.append(error)
    _raise(errors)


def raise_errors(brokers: "list[AnyBroker]") -> None:
    """Raise the internal errors that brokers have kept so far, once."""
    errors = [error for broker in brokers for error in broker.errors]
    for broker in brokers:
        broker.errors.clear()
    _raise(errors)


def of_session(item: pytest.Item) -> "list[AnyBroker]":
    """The session's broker, if the test uses it."""
    uses_it = "fakebroker_session" in getattr(item, "fixturenames", ())
    return item.session.stash.get(BROKERS, []) if uses_it else []


def stories(item: pytest.Item) -> list[tuple[str, str]]:
    """A section of the report for each broker that the test uses: its title and text."""
    brokers = [*item.stash.get(BROKERS, []), *of_session(item)]
    return [(f"fakebroker {_address(broker)}", _story(broker)) for broker in brokers]


def _address(broker: "AnyBroker") -> str:
    try:
        return broker.bootstrap
    except InvalidArgument:
        return "that was not started"


def _story(broker: "AnyBroker") -> str:
    """The text of `story()`, or why there is none: reporting a failed test must not fail itself."""
    try:
        return broker.story()
    except Exception as error:
        return f"no story available: {error!r}"


def _raise(errors: list[Exception]) -> None:
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise ExceptionGroup("internal errors of brokers", errors)


def _refuse(node: pytest.Item | pytest.Session, error: Exception | str) -> NoReturn:
    marked = "mark fakebroker: " if isinstance(node, pytest.Item) and node.get_closest_marker("fakebroker") else ""
    text = f"{node.nodeid or 'fakebroker_session'}: {marked}{error}"
    raise pytest.fail.Exception(text, pytrace=False) from None  # the cause's traceback says nothing to the user

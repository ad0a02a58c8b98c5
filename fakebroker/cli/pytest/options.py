"""How the brokers of a test are made: the marker before the command line before the ini file before the defaults.

    @pytest.mark.fakebroker(nodes=3, config={"num.partitions": 3}, seed=7, as_release="3.9", profile="kafka")
    pytest --fakebroker-seed 7 --fakebroker-profile kafka          fakebroker_seed, fakebroker_profile in the ini file

Of several marks (on the module, the class, the function) the nearest that has an option counts for it.
"""

import os
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from fakebroker.protocol.arguments.checks import check_options, check_users
from fakebroker.protocol.errors import InvalidArgument
from fakebroker.testing.releases import PROFILES, UnknownRelease, release

MARKER = "fakebroker"


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_release(value: object) -> bool:
    try:
        return isinstance(value, str) and bool(release(value))
    except UnknownRelease:
        return False


def _is_config(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(name, str) for name in value)


def _is_racks(value: object) -> bool:
    return isinstance(value, list | tuple) and all(rack is None or isinstance(rack, str) for rack in value)


def _is_users(value: object) -> bool:
    try:
        return bool(check_users(value)) or value == {}
    except InvalidArgument:
        return False


# Each option of the marker: what is right, and how that is called.
OPTIONS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "nodes": (lambda value: _is_whole(value) and value >= 1, "a number of brokers, from 1"),
    "node_id": (lambda value: _is_whole(value) and value >= 0, "the id of the first broker, from 0"),
    "racks": (_is_racks, 'the rack of each broker: ["a", "b", None]'),
    "config": (_is_config, 'settings by their Kafka names: {"num.partitions": 3}'),
    "users": (_is_users, 'passwords by user: {"alice": "secret"}'),
    "seed": (_is_whole, "a whole number"),
    "as_release": (_is_release, 'a release of Kafka: "4.3", "3.9", "2.1"'),
    "profile": (lambda value: isinstance(value, str) and value in PROFILES, " or ".join(map(repr, PROFILES))),
}


def options_of(item: pytest.Item) -> dict[str, Any]:
    """The arguments of FakeBroker for a test. Raises InvalidArgument that names the mark's wrong option."""
    options = options_of_run(item.config)
    for mark in reversed(list(item.iter_markers(MARKER))):
        options |= checked(mark)
    return options


def options_of_run(config: pytest.Config) -> dict[str, Any]:
    """What the command line and the ini file say. Raises InvalidArgument."""
    options: dict[str, Any] = {}
    seed, called = given(config, "fakebroker_seed")
    if seed:
        try:
            options["seed"] = int(seed)
        except ValueError:
            raise InvalidArgument("seed", seed, f"{called} is {seed!r}, which is not a whole number") from None
    profile, called = given(config, "fakebroker_profile")
    if profile:
        _check("profile", profile, called)
        options["profile"] = profile
    return options


def check_run(config: pytest.Config) -> None:
    """Raises UsageError, which ends the run, for invalid options of the command line and the ini file."""
    try:
        options_of_run(config)
    except InvalidArgument as error:
        raise pytest.UsageError(str(error)) from None
    folder = config.getoption("fakebroker_journal", None)
    if folder and not _can_have_folders(folder):
        raise pytest.UsageError(f"--fakebroker-journal is {folder!r}, but the folder cannot be created")


def _can_have_folders(path: str) -> bool:
    """Whether it is a folder that can be written to, or one that can be made."""
    while not os.path.lexists(path) and path != os.path.dirname(path):
        path = os.path.dirname(path) or os.curdir
    return os.path.isdir(path) and os.access(path, os.W_OK | os.X_OK)


def checked(mark: pytest.Mark) -> dict[str, Any]:
    """The options of a mark. Raises InvalidArgument for an unknown option or an invalid value."""
    if mark.args:
        raise InvalidArgument(
            "args", mark.args[0], f"the mark has the unnamed value {mark.args[0]!r}; it takes {_listed()}"
        )
    for name, value in mark.kwargs.items():
        _check(name, value, name)
    return dict(mark.kwargs)


def _check(option: str, value: object, called: str) -> None:
    check_options("the mark", {option: value}, OPTIONS)
    is_right, what = OPTIONS[option]
    if not is_right(value):
        shown = "(passwords)" if option == "users" else value
        raise InvalidArgument(called, shown, f"{called} is {shown!r}, which is not {what}")


def _listed() -> str:
    return ", ".join(f"{option}=..." for option in OPTIONS)


def given(config: pytest.Config, name: str) -> tuple[str, str]:
    """The option of the command line, else that of the ini file, empty without both; and what it is called there."""
    given = config.getoption(name, None)
    if given:
        return str(given), f"--{name.replace('_', '-')}"
    return str(config.getini(name) or ""), name

"""The table of the HTTP API and the object model are the same powers."""

import json
from collections.abc import Iterator

import pytest

from fakebroker.cli.http.endpoint import Endpoint
from fakebroker.cli.http.extras import EXTRAS
from fakebroker.cli.http.operations import OPERATIONS, PYTHON_ONLY, PYTHON_ONLY_ARGUMENTS, Operation
from fakebroker.protocol.arguments.signatures import data_kind
from fakebroker.testing.broker import AsyncFakeBroker
from fakebroker.testing.reflection.members import Member, is_handle, members_of, parameters_of, reachable_handles


def powers() -> Iterator[Member]:
    """Every public member of a broker and of every handle that a test can get from it."""
    for owner in (AsyncFakeBroker, *reachable_handles()):
        yield from members_of(owner).values()


def covered() -> set[str]:
    """What rows and extras do: what a row ends at, what it passes, and the properties of handles that are shown."""
    names = {str(member) for row in OPERATIONS for member in row.members if not row.is_setting}
    shown = [row.returns for row in OPERATIONS if row.verb == "GET" and is_handle(row.returns)]
    names |= {str(member) for handle in shown for member in members_of(handle).values() if member.is_property}
    return names | {name for extra in EXTRAS for name in extra.covers}


def test_every_power_has_a_row_or_a_reason() -> None:
    """A public member of the object model has a row, or is Python only for a reason."""
    assert sorted({str(power) for power in powers()} - covered() - PYTHON_ONLY.keys()) == []


def test_what_can_be_set_in_python_can_be_set_by_http() -> None:
    """A property with a setter has a PUT."""
    settable = {str(power) for power in powers() if power.is_settable}

    assert sorted(settable - {str(row.members[-1]) for row in OPERATIONS if row.is_setting}) == []


def test_every_row_leads_to_a_power() -> None:
    """No row and no exception names what is not there."""
    assert sorted(PYTHON_ONLY.keys() - {str(power) for power in powers()}) == []
    assert sorted(PYTHON_ONLY.keys() & covered()) == []
    for row in OPERATIONS:
        assert row.members, row


def test_a_row_to_nothing_is_an_error() -> None:
    """A name that is not there is named."""
    with pytest.raises(LookupError, match="ClockHandle has no 'advanced'"):
        _ = Operation("POST", "/clock/advanced", "clock.advanced").members


def test_every_argument_can_be_said() -> None:
    """An argument that JSON cannot say is a Python function or object, and listed."""
    unsayable = {
        f"{row.members[-1]}({parameter.name})"
        for row in OPERATIONS
        if not row.members[-1].is_property or row.is_setting
        for parameter in parameters_of(row.members[-1])
        if data_kind(parameter.annotation) is None
    }

    assert unsayable == PYTHON_ONLY_ARGUMENTS.keys()


def test_the_examples_are_arguments() -> None:
    """The example of a row is accepted by its own checks."""
    for row in OPERATIONS:
        arguments = Endpoint(row).arguments
        assert set(row.example or {}) <= arguments.parameters.keys(), row
        if row.has_body and row.example:
            arguments.from_body(json.dumps(row.example).encode())


def test_a_path_is_there_once() -> None:
    """Method and path name one thing."""
    places = [(row.verb, row.path) for row in OPERATIONS] + [(extra.verb, extra.path) for extra in EXTRAS]

    assert len(places) == len(set(places))

"""The object model read from its classes."""

from collections.abc import Mapping
from typing import get_args

import pytest

from fakebroker.protocol.annotations import type_hints
from fakebroker.protocol.arguments.types import Offset
from fakebroker.testing.broker import AsyncFakeBroker
from fakebroker.testing.handles.clock import ClockHandle
from fakebroker.testing.handles.expectation import RequestPattern
from fakebroker.testing.handles.group import GroupHandle
from fakebroker.testing.handles.hold import HoldHandle
from fakebroker.testing.reflection.members import (
    find,
    handles_in,
    is_handle,
    is_optional,
    members_of,
    parameters_of,
    reachable_handles,
)


def test_a_power_is_found_by_its_name() -> None:
    """The members on the way, itself last; a list of handles is gone through."""
    assert [str(member) for member in find("group.wait")] == ["AsyncFakeBroker.group", "GroupHandle.wait"]
    way = ["AsyncFakeBroker.group", "GroupHandle.holds", "HoldHandle.release"]
    assert [str(member) for member in find("group.holds[].release")] == way
    with pytest.raises(LookupError, match=r"ClockHandle has no 'advanced' \(in 'clock.advanced'\)"):
        find("clock.advanced")


def test_arguments_have_types() -> None:
    """Those of a method, and the value of a property that can be set under its own name."""
    (offsets, metadata) = members_of(GroupHandle)["commit"].parameters
    (rate,) = parameters_of(members_of(ClockHandle)["rate"])

    assert (offsets.name, offsets.annotation) == ("offsets", Mapping[tuple[str, int], Offset])
    assert (metadata.name, metadata.default) == ("metadata", "")
    assert (rate.name, get_args(rate.annotation)[0]) == ("rate", float)
    assert members_of(ClockHandle)["rate"].is_settable
    assert not members_of(ClockHandle)["now"].is_settable


def test_types_that_only_type_checkers_import_are_resolved() -> None:
    """A handle that another module names in quotes, and the fields of a named tuple."""
    assert members_of(AsyncFakeBroker)["clock"].returns is ClockHandle
    assert type_hints(RequestPattern)["node"] == int | None


def test_handles_are_distinguished_from_values() -> None:
    """What a handle gives may be a handle, a list of them, or a value."""
    assert list(handles_in(members_of(GroupHandle)["holds"].returns)) == [HoldHandle]
    assert not is_handle(RequestPattern)
    assert not is_handle(int)
    assert {ClockHandle, GroupHandle, HoldHandle} <= set(reachable_handles())
    assert is_optional(members_of(GroupHandle)["leader"].returns)
    assert not is_optional(members_of(GroupHandle)["state"].returns)


def test_private_names_are_no_members() -> None:
    """What begins with an underscore is nobody's business."""
    assert all(name[0] != "_" for name in members_of(GroupHandle))
    assert members_of(GroupHandle)["state"].doc.strip().startswith('"Empty"')

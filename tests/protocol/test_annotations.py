"""Annotations become types, also those of names that only type checkers import."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import pytest

from fakebroker.protocol.annotations import _imported, _names_in, type_hints
from fakebroker.testing.handles.broker_control import BrokerControl


def test_the_types_of_a_method_are_classes() -> None:
    """The property `clock` returns a handle whose module its own does not import."""
    clock = vars(BrokerControl)["clock"]
    assert type_hints(clock.fget)["return"].__name__ == "ClockHandle"


def test_only_names_of_the_annotations_are_imported() -> None:
    """The module of a handle that they do not name may need an extra that is not installed."""
    names = _imported("fakebroker.testing.handles.broker_control", ["ClockHandle | None", "NoSuchName"])
    assert {name: kind.__name__ for name, kind in names.items()} == {"ClockHandle": "ClockHandle"}


@pytest.mark.parametrize(
    ("hint", "names"),
    [
        (int, []),
        ("A", ["A"]),
        ("dict[A, list[B]] | None", ["dict", "A", "list", "B"]),
        ("list['A']", ["list", "A"]),
        (list["int"], ["int"]),
        (Iterator["int"], ["int"]),
        (Annotated["int", 5], ["int"]),
        (Literal["two words"], []),
    ],
)
def test_names_are_found_in_every_form_of_an_annotation(hint: Any, names: list[str]) -> None:
    """Texts, and types that have texts as their arguments."""
    assert sorted(_names_in(hint)) == sorted(names)

"""Annotations become types, also those of names that only type checkers import."""

from fakebroker.protocol.annotations import _Names, type_hints
from fakebroker.testing.handles.broker_control import BrokerControl


def test_names_that_only_type_checkers_import_are_found() -> None:
    """By looking them up, as Python up to 3.13 does, and by asking for them first, as Python 3.14 does."""
    names = _Names("fakebroker.testing.handles.broker_control")
    assert "ClockHandle" in names
    assert names["ClockHandle"].__name__ == "ClockHandle"
    assert "NoSuchName" not in names


def test_the_types_of_a_method_are_classes() -> None:
    """The property `clock` returns a handle whose module its own does not import."""
    clock = vars(BrokerControl)["clock"]
    assert type_hints(clock.fget)["return"].__name__ == "ClockHandle"

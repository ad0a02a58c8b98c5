"""Arguments as steps and powers take them."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fakebroker.client.record_steps import ProducedRecord
from fakebroker.client.steps import ClientSteps
from fakebroker.protocol.arguments.signatures import signature_of as signature_with_kinds
from fakebroker.protocol.errors import InvalidArgument
from fakebroker.scenarios.playing.arguments import as_taken, names_file, signature_of
from fakebroker.testing.handles.broker_control import BrokerControl
from fakebroker.testing.handles.handle import Handle

STEPS = ClientSteps()


def arguments_of(method: Callable[..., Any]) -> dict[str, Any]:
    try:
        return dict(signature_with_kinds(method).arguments)
    except (TypeError, NameError):  # it is no part of the object model
        return {}


@pytest.mark.parametrize("text", ["orders", "-0", "orders-", "orders-x"])
def test_what_is_no_partition(text: str) -> None:
    """A partition is a topic, a hyphen and a number."""
    with pytest.raises(InvalidArgument, match=r"^partitions\[0\]: should be a topic and a partition, such as orders-0"):
        as_taken(STEPS.committed, "partitions", [text])


def test_partitions_are_written_with_a_hyphen() -> None:
    """The last hyphen splits; what is split already is taken, too."""
    assert as_taken(STEPS.committed, "partitions", ["a-b-12", ("c", 1)]) == [("a-b", 12), ("c", 1)]
    assert as_taken(STEPS.commit, "offsets", {"a-0": 1, ("b", 2): 3}) == {("a", 0): 1, ("b", 2): 3}


def test_records_to_produce() -> None:
    """Values alone, pairs, and mappings with names that exist, among records that are made already."""
    made = ProducedRecord(value="v")
    given = ["x", ["k", "v"], {"key": "k", "headers": {"a": {"hex": "00"}}}, made]
    assert as_taken(STEPS.produce, "records", given) == [
        "x",
        ("k", "v"),
        ProducedRecord("k", headers={"a": b"\0"}),
        made,
    ]
    with pytest.raises(InvalidArgument, match=r"^records\[0\]: there is no field 'valeu'; did you mean 'value'"):
        as_taken(STEPS.produce, "records", [{"valeu": "k"}])


def test_saved_values_are_of_the_kind_of_their_argument() -> None:
    """One that is not gets the sentence that it gets in a file; what the method does not have is left to the call."""
    with pytest.raises(InvalidArgument, match=r"^partition: should be a whole number, not .x."):
        as_taken(STEPS.fetch, "partition", "x")
    assert as_taken(STEPS.fetch, "no_such_argument", 3) == 3


@pytest.mark.parametrize("path", ["/etc/passwd", b"/etc/passwd", Path("/etc/passwd")])
def test_a_scenario_names_no_files(path: object) -> None:
    """Whatever was saved: a caller of the control port without the token would have the broker read any of them."""
    owners = [BrokerControl, *Handle.__subclasses__()]
    methods = [each for owner in owners for each in vars(owner).values() if inspect.isfunction(each)]
    named = [(each, name) for each in methods for name, taken in arguments_of(each).items() if names_file(taken.kind)]
    assert {name for _, name in named} >= {"snapshot", "path", "other"}
    for method, name in named:
        with pytest.raises(InvalidArgument, match="was not saved by a step; a scenario names no files"):
            as_taken(method, name, path)


def test_signatures_are_those_that_python_gives() -> None:
    """Of methods, whose object is no argument, and of functions."""
    assert signature_of(ClientSteps().join) == inspect.signature(ClientSteps().join)
    assert signature_of(as_taken) == inspect.signature(as_taken)

"""Arguments as steps and powers take them."""

import inspect

import pytest

from fakebroker.client.steps import ClientSteps
from fakebroker.protocol.errors import InvalidArgument
from fakebroker.scenarios.playing.arguments import as_taken, signature_of


@pytest.mark.parametrize("text", ["orders", "-0", "orders-", "orders-x"])
def test_what_is_no_partition(text: str) -> None:
    """A partition is a topic, a hyphen and a number."""
    with pytest.raises(InvalidArgument, match="should be a topic and a partition"):
        as_taken("partitions", [text])


def test_partitions_are_written_with_a_hyphen() -> None:
    """The last hyphen splits; tables of tables are taken, too, and what is split already."""
    assert as_taken("partitions", ["a-b-12", ("c", 1)]) == [("a-b", 12), ("c", 1)]
    assert as_taken("offsets", {"a-0": 1, ("b", 2): 3, "c": {"4": 5}}) == {("a", 0): 1, ("b", 2): 3, ("c", 4): 5}
    assert as_taken("partitions", 3) == 3


def test_signatures_are_those_that_python_gives() -> None:
    """Of methods, whose object is no argument, and of functions."""
    assert signature_of(ClientSteps().join) == inspect.signature(ClientSteps().join)
    assert signature_of(as_taken) == inspect.signature(as_taken)

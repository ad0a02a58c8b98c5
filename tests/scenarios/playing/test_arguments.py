"""Arguments as steps and powers take them."""

import inspect

import pytest

from fakebroker.client.record_steps import ProducedRecord
from fakebroker.client.steps import ClientSteps
from fakebroker.protocol.errors import InvalidArgument
from fakebroker.scenarios.playing.arguments import as_taken, signature_of

STEPS = ClientSteps()


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


def test_signatures_are_those_that_python_gives() -> None:
    """Of methods, whose object is no argument, and of functions."""
    assert signature_of(ClientSteps().join) == inspect.signature(ClientSteps().join)
    assert signature_of(as_taken) == inspect.signature(as_taken)

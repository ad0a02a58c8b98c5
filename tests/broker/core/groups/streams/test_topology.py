"""Topologies: what they read, what has to exist, and when two are the same."""

import pytest

from fakebroker.broker.core.groups.streams.topology import in_hash_order
from tests.support.streams_groups import subtopology, topology


@pytest.mark.rules("STT-1")
def test_what_a_topology_reads_and_needs() -> None:
    """Tasks read source and repartition source topics; changelogs have to exist as well, topics only written do not."""
    made = topology(
        subtopology("0", ["b", "a"], sinks=["r", "elsewhere"]),
        subtopology("1", repartition={"r": 0}, changelogs=["c"]),
    )

    assert made.source_topics == {"b": "0", "a": "0", "r": "1"}
    assert made.required_topics == ("a", "b", "c", "r")


@pytest.mark.rules("STT-3")
def test_which_topologies_are_the_same() -> None:
    """The order of subtopologies does not matter, that of the topics in them does, and so does the epoch."""
    one, other = subtopology("0", ["a", "b"]), subtopology("1", ["c"])

    assert topology(one, other).is_same(topology(other, one))
    assert not topology(one).is_same(topology(subtopology("0", ["b", "a"])))
    assert not topology(one).is_same(topology(one, epoch=2))
    assert not topology(one).is_same(topology(one, other))


def test_the_order_of_a_hash_map() -> None:
    """Names come as Java's hash map lists them."""
    assert in_hash_order(["b", "10", "a", "9"]) == ["a", "b", "9", "10"]

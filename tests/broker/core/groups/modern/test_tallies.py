"""Counting what members have in common."""

from fakebroker.broker.core.groups.modern.tallies import tally


def test_a_tally_says_what_came_and_went() -> None:
    """Only the first and the last of a key change what is counted."""
    counts: dict[str, int] = {}

    assert tally(counts, ["a", "b"], 1)
    assert not tally(counts, ["a"], 1)
    assert counts == {"a": 2, "b": 1}
    assert not tally(counts, ["a"], -1)
    assert tally(counts, ["a"], -1)
    assert counts == {"b": 1}
    assert not tally(counts, [], -1)

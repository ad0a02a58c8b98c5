"""Counts of what members of a group subscribe to."""

from fakebroker.broker.core.groups.modern.subscription_counts import add_to_counts


def test_counts_say_what_came_and_went() -> None:
    """Only the first and the last of a key change what is counted."""
    counts: dict[str, int] = {}

    assert add_to_counts(counts, ["a", "b"], 1)
    assert not add_to_counts(counts, ["a"], 1)
    assert counts == {"a": 2, "b": 1}
    assert not add_to_counts(counts, ["a"], -1)
    assert add_to_counts(counts, ["a"], -1)
    assert counts == {"b": 1}
    assert not add_to_counts(counts, [], -1)

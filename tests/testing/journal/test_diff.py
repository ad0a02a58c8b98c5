"""What two timelines have in common, and what differs. Whole journals: tests/testing/handles/test_journal.py."""

import pytest

from fakebroker.testing.journal import diff as diff_module


def test_timelines_that_differ_in_very_many_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is equal at both ends is left out; all between the first and the last difference counts as replaced."""
    monkeypatch.setattr(diff_module, "MOST_COMPARED", 8)
    ours = ["a", "b", "x", "c", "d", "e", "z"]
    theirs = ["a", "b", "y", "c", "D", "e", "z"]

    assert diff_module._parts(ours, theirs) == [("equal", 0, 2, 0, 2), ("replace", 2, 5, 2, 5), ("equal", 5, 7, 5, 7)]
    monkeypatch.setattr(diff_module, "MOST_COMPARED", 9)
    assert [part[0] for part in diff_module._parts(ours, theirs)] == ["equal", "replace", "equal", "replace", "equal"]

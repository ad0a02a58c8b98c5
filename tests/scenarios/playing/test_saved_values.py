"""Saved values: put in where they are named, by path, and what is said of a name that nobody saved."""

import pytest

from fakebroker.protocol.errors import UnknownThing
from fakebroker.scenarios.comparison.names import value_at
from fakebroker.scenarios.playing.saved_values import SavedValues


def test_values_are_put_in_everywhere() -> None:
    """In mappings, their keys, lists; whole texts only; two dollars are one."""
    saved = SavedValues()
    saved.save("id", "m-1")
    saved.save("answer", {"members": [{"id": 7}]})

    assert saved.filled({"$id": ["$id", "x$id", "$$id", 3]}) == {"m-1": ["m-1", "x$id", "$id", 3]}
    assert saved.filled("$answer.members.0.id") == 7
    assert saved.filled(("orders", 0)) == ("orders", 0)


def test_names_of_others() -> None:
    """What was not saved may have a value of its own; what was saved goes first."""
    saved = SavedValues(lambda name: {"member_id": "m-2"} if name == "a" else None)
    assert saved.filled("$a.member_id") == "m-2"
    saved.save("a", None)
    assert saved.filled("$a") is None


def test_a_name_that_nobody_saved() -> None:
    """The nearest name is reported."""
    saved = SavedValues()
    saved.save("first", 1)

    with pytest.raises(UnknownThing, match="no step has saved 'frist'; did you mean 'first'"):
        saved.filled({"a": ["$frist"]})


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("b", "'b' is missing: the answer has a"),
        ("a.2", "'2' is missing: a has 2 elements"),
        ("a.0.x", "'x' is missing: a.0 is 1"),
        ("a.x", "'x' is missing: a has 2 elements"),
    ],
)
def test_a_path_that_leads_nowhere(path: str, said: str) -> None:
    """The error says how far it leads."""
    with pytest.raises(UnknownThing, match=said):
        value_at({"a": [1, 2]}, path)

"""Matching: what is contained, what is equal, and the sentence for what is not."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.scenarios.language import read_expectations
from fakebroker.scenarios.playing.matching import MATCHERS, is_matcher, mismatches, shown

SCALARS = st.none() | st.booleans() | st.integers() | st.text()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=12
)


def has_matcher(value: Any) -> bool:
    """Whether data looks like a matcher somewhere."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return is_matcher(value) or any(map(has_matcher, inner))


PLAIN = VALUES.filter(lambda value: not has_matcher(value))


@given(PLAIN)
def test_everything_matches_itself(value: Any) -> None:
    """Data without matchers is as expected when it is the same."""
    assert mismatches(value, value) == []


@given(PLAIN, st.dictionaries(st.text(min_size=1), PLAIN, min_size=1, max_size=3))
def test_other_fields_are_free(value: Any, others: dict[str, Any]) -> None:
    """A mapping is contained in a larger one, at any depth."""
    seen = {**others, "field": [value]}

    assert mismatches({"field": [value]}, seen) == []


@given(PLAIN, PLAIN)
def test_not_is_the_opposite(expected: Any, seen: Any) -> None:
    """`not` holds exactly where its argument does not."""
    assert bool(mismatches({"not": expected}, seen)) is not bool(mismatches(expected, seen))


@given(st.lists(PLAIN, max_size=5), st.randoms())
def test_unordered_takes_every_order(values: list[Any], chance: Any) -> None:
    """The same elements in another order match; with one too many they do not."""
    shuffled = list(values)
    chance.shuffle(shuffled)

    assert mismatches({"unordered": values}, shuffled) == []
    assert mismatches({"unordered": values}, [*shuffled, 1]) != []


@given(st.lists(PLAIN, min_size=1, max_size=4))
def test_one_of_and_contains_take_every_element(values: list[Any]) -> None:
    """What is among the values is one of them, and they contain it."""
    for value in values:
        assert mismatches({"one_of": values}, value) == []
        assert mismatches({"contains": value}, values) == []


@given(st.integers(), st.integers())
def test_numbers_are_compared(expected: int, seen: int) -> None:
    """At least and at most are what they say."""
    assert bool(mismatches({"at_least": expected}, seen)) is (seen < expected)
    assert bool(mismatches({"at_most": expected}, seen)) is (seen > expected)


@given(VALUES, VALUES)
def test_a_mismatch_is_a_line_with_both_sides(expected: Any, seen: Any) -> None:
    """Whatever is compared, each difference is one sentence that says what was expected and what was seen."""
    try:
        problems = mismatches({"field": expected}, {"field": seen})
    except (TypeError, ValueError):  # a matcher with an argument that the language refuses
        assert has_matcher(expected)
        return
    for problem in problems:
        assert problem.startswith("field")
        assert ": expected " in problem
        assert ", but " in problem


def test_unordered_finds_the_one_assignment() -> None:
    """The first fit is not the only one: each expected element gets one of its own if there is a way."""
    expected = {"unordered": [{"any": True}, {"id": 1}]}

    assert mismatches(expected, [{"id": 1}, {"id": 2}]) == []
    assert mismatches({"unordered": [{"id": 1}, {"id": 1}]}, [{"id": 1}, {"id": 2}]) != []


@pytest.mark.parametrize(
    ("expected", "seen", "sentence"),
    [
        ({"error": "NONE"}, {"error": "X"}, "error: expected NONE, but saw X"),
        ({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}}, "a.b[1]: expected 2, but saw 3"),
        ({"a": [1]}, {"a": []}, "a: expected 1 element, [1], but saw []"),
        ({"a": [1]}, {"a": [1, 2]}, "a: expected 1 element, [1], but saw 2: [1, 2]"),
        ({"members": 2}, {"members": ["x"]}, "members: expected 2, but saw 1 (x)"),
        ({"members": 1}, {"members": []}, "members: expected 1, but saw none"),
        (
            {"members": 1},
            {"members": [{"member_id": "a-" + "1" * 300, "client_id": "a"}, {"member_id": "b-2", "client_id": "b"}]},
            "members: expected 1, but saw 2 (a, b)",
        ),
        ({"a": 1}, {"b": 1, "c": 2}, "a: expected 1, but it is missing; there is b, c"),
        ({"a": {"b": 1}}, {"a": None}, "a: expected {b: 1}, but saw null"),
        ({"a": {}}, {"a": {"x": 1}}, "a: expected an empty mapping, but saw {x: 1}"),
        (True, 1, "it: expected true, but saw 1"),
        ("", " ", "it: expected '', but saw ' '"),
        ({"at_least": 3}, 2, "it: expected at least 3, but saw 2"),
        ({"at_least": 2}, [1], "it: expected at least 2, but saw [1]"),
        ({"at_most": 3}, "x", "it: expected at most 3, but saw x"),
        ({"any": True}, None, "it: expected any value, but saw null"),
        ({"any": False}, 3, "it: expected null, but saw 3"),
        ({"contains": "b"}, "ac", "it: expected something that contains b, but saw ac"),
        ({"contains": {"id": 2}}, [{"id": 1}], "it: expected something that contains {id: 2}, but saw [{id: 1}]"),
        ({"contains": "k"}, {"j": 1}, "it: expected something that contains k, but saw {j: 1}"),
        ({"matches": "^svc-[0-9]$"}, "svc-x", "it: expected text that matches ^svc-[0-9]$, but saw svc-x"),
        ({"not": {"at_least": 2}}, 3, "it: expected anything but at least 2, but saw 3"),
        ({"one_of": ["a", {"contains": "b"}]}, "c", "it: expected one of a, contains b, but saw c"),
        ({"unordered": [1, 2]}, [1, 3], "it: expected in any order [1, 2]: 2 is missing, but saw 2: [1, 3]"),
        ({"atleast": 2}, [], "it: expected {atleast: 2}, but saw []; did you mean the matcher 'at_least'?"),
        (["x"], [{"value": "x"}], "[0]: expected x, but saw {value: x}; a record is a mapping: {value: x}"),
    ],
)
def test_the_sentence(expected: Any, seen: Any, sentence: str) -> None:
    """The text of a difference."""
    assert mismatches(expected, seen) == [sentence]


def test_what_is_as_expected() -> None:
    """Null stands for what is not there; keys are compared as texts; a number counts a list."""
    assert mismatches({"orders-0": None}, {}) == []
    assert mismatches({"0": 1}, {0: 1}) == []
    assert mismatches({"a": {}}, {"a": {}}) == []
    assert mismatches(2, ["x", "y"]) == []
    assert mismatches({"at_most": 2}, ["x", "y"]) == []
    assert mismatches(1, 1.0) == []


def test_a_mapping_with_more_keys_is_no_matcher() -> None:
    """Only one key that is a matcher's name makes a matcher."""
    assert mismatches({"any": 1, "not": 2}, {"any": 1, "not": 2, "other": 3}) == []
    assert all(is_matcher({name: []}) for name in MATCHERS)
    assert MATCHERS.keys() == read_expectations.MATCHERS.keys()  # the language knows the same


def test_long_values_are_cut() -> None:
    """A sentence stays a sentence."""
    assert len(shown("x" * 1000)) < 210

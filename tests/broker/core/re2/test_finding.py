"""Places of matches and groups: those that Python's re finds, in a time that the pattern bounds."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.core.re2.finding import Finder, _Search

ATOMS = st.sampled_from(["a", "b", ".", "[ab]", "[^a]", r"\w", r"\d", "^", "$", "ab"])
REPEATS = st.sampled_from(["*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,2}?"])


def patterns() -> st.SearchStrategy[str]:
    """Patterns of all kinds, but for repetitions of what can be empty: there engines differ."""
    repeated = st.builds(
        "{}{}".format, st.sampled_from(["a", "[ab]", ".", "(a)", "(a|b)", "(?:ab|b)", "(ab?)"]), REPEATS
    )
    parts = st.lists(ATOMS | repeated, min_size=1, max_size=4).map("".join)
    groups = (
        st.builds("({})".format, parts) | st.builds("(?:{})".format, parts) | st.builds("{}|{}".format, parts, parts)
    )
    return st.lists(parts | groups, min_size=1, max_size=3).map("".join)


def found_by_re(pattern: str, text: str) -> list[list[int | None]]:
    """What Python's re finds, in the form of a Finder."""
    matches = re.finditer(pattern, text)
    return [[None if at < 0 else at for span in match.regs for at in span] for match in matches]


@given(patterns(), st.text("ab1 ,", max_size=8))
def test_it_finds_what_python_finds(pattern: str, text: str) -> None:
    """Greedy and lazy repetitions, alternatives in their order, groups, assertions."""
    finder = Finder(pattern)
    assert list(finder.find_all(text)) == found_by_re(pattern, text)
    assert finder.matches(text) is (re.fullmatch(pattern, text) is not None)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(a+)+$", "a" * 40 + "!"),
        ("(a|a)*b", "a" * 500),
        ("(?:a+)*b", "a" * 500),
        ("a.*X", "a" * 900),
        ("(.*)(.*)(.*)(.*)X", "x" * 500),
    ],
)
def test_no_step_is_tried_twice(pattern: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Python's re needs the square of the steps, or more than there is time for."""
    tried: list[tuple[int, int]] = []
    original = _Search._following

    def noted(search: _Search, state: int, at: int) -> list[int]:
        tried.append((state, at))
        return original(search, state, at)

    monkeypatch.setattr(_Search, "_following", noted)
    assert list(Finder(pattern).find_all(text)) == []
    assert len(tried) == len(set(tried)) > len(text)


def test_groups_have_names_and_numbers() -> None:
    """By their opening parentheses."""
    finder = Finder("(a)(?:b)(?<x>(c))(?<y>d)")
    assert finder.group_names == {"x": 2, "y": 4}
    assert finder.group_count == 4
    assert list(finder.find_all("-abcd")) == [[1, 5, 1, 2, 3, 4, 3, 4, 4, 5]]

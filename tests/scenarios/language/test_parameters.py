"""Parameters in nodes."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.scenarios.errors import ScenarioError
from fakebroker.scenarios.language.kinds import Reading, plain
from fakebroker.scenarios.language.parameters import MAX_CHARS, Filling, node_of
from fakebroker.scenarios.language.yaml_file import Scalar, parse_yaml
from fakebroker.scenarios.script import SourceLine

PLACE = SourceLine("f", 1)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def filled(text: str, **values: object) -> tuple[object, list[str]]:
    """The data of a text with these parameters, and what is wrong with it."""
    reading = Reading()
    nodes = {name: node_of(value, PLACE) for name, value in values.items()}
    data = plain(Filling(nodes, reading).filled(parse_yaml(text, "f")))
    try:
        reading.problems.raise_if_any()
    except ScenarioError as error:
        return data, [str(problem) for problem in error.problems]
    return data, []


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ('a: "${n}"', {"a": 3}),
        ("a: ${n}", {"a": 3}),
        ('a: "${n}${n}"', {"a": "33"}),
        ('a: "x ${n} ${t} y"', {"a": "x 3 t y"}),
        ('["${l}"]', [[1, 2]]),
        ('"${t}-0": 1', {"t-0": 1}),
        ('a: "$n $ {n} ${"', {"a": "$n $ {n} ${"}),
        ('a: "${ ${n}"', {"a": "${ 3"}),
    ],
)
def test_names_are_replaced_by_values(text: str, data: object) -> None:
    """As the whole of a value with its type, else as text."""
    assert filled(text, n=3, t="t", l=[1, 2]) == (data, [])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('a: "${m}"', "f:1: there is no parameter 'm'; there are n, l"),
        ('a: "x${l}"', "f:1: the parameter 'l' is not a string that can be part of another"),
        ('"${l}": 1', "f:1: ${l}: a key is a text, and this parameter is none"),
        ('{"${n}": 1, "3": 2}', "f:1: with these parameters two keys are the same"),
    ],
)
def test_what_cannot_be_replaced_is_said(text: str, problem: str) -> None:
    """With the line where it stands."""
    assert filled(text, n=3, l=[1])[1] == [problem]


@given(VALUES)
def test_data_are_nodes_and_back(value: object) -> None:
    """Values that come from a caller are what they were."""
    assert plain(node_of(value, PLACE)) == value


@pytest.mark.parametrize(("like", "value"), [(3, 5), (True, 5), ("x", "5"), (None, 5)])
def test_a_text_means_what_it_would_mean_in_the_file(like: object, value: object) -> None:
    """From a command line everything is a text."""
    given_text = node_of("5", PLACE, node_of(like, PLACE))

    assert isinstance(given_text, Scalar)
    assert given_text.value == value


def test_what_no_file_could_have_is_an_error() -> None:
    """An object of Python is no parameter."""
    with pytest.raises(TypeError, match="is nothing that a file could have"):
        node_of(object(), PLACE)


def test_a_text_of_many_beginnings_is_read_in_one_pass() -> None:
    """Each of them is looked at once: a text of this length would take an hour otherwise."""
    text = "${" * 200_000

    assert filled(f'a: "{text}"', n=3) == ({"a": text}, [])


LONG = "x" * 1_000_000
FITS = MAX_CHARS // len(LONG)


@pytest.mark.parametrize("text", ['a: "uses"', 'a: "uses"\nb: "uses"'])
def test_texts_have_a_bound_of_characters(text: str) -> None:
    """A parameter that is used very often in texts is refused, and the long text is not made."""
    tracemalloc.start()
    try:
        data, problems = filled(text.replace("uses", "${p}" * 400), p=LONG)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert all(f"more than {MAX_CHARS} characters" in problem for problem in problems)
    assert len(problems) == text.count("uses")
    assert peak_bytes < len(LONG)
    assert data == dict.fromkeys(("a", "b")[: len(problems)], "${p}" * 400)


def test_values_have_the_same_bound() -> None:
    """A long parameter that is used as a value counts with each use."""
    _, problems = filled("[" + ", ".join(['"${p}"'] * (FITS + 1)) + "]", p=LONG)
    assert len(problems) == 1
    assert f"more than {MAX_CHARS} characters" in problems[0]


def test_texts_within_the_bound_are_filled() -> None:
    """As many characters as fit are put in."""
    assert filled('a: "' + "${p}" * FITS + '"', p=LONG) == ({"a": LONG * FITS}, [])

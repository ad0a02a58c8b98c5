"""Kinds and columns: one vocabulary for journals, sessions and dialogues."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from fakebroker.testing.exchanges.columns import Column, Form, kind_of, problems
from fakebroker.testing.exchanges.kinds import DIALOGUE, SESSION
from fakebroker.testing.exchanges.meanings import MEANINGS
from fakebroker.testing.journal.schema import JOURNAL

# A connection has a number where it was recorded and a name where it is to be made; the journal's internal errors have
# a text as message.
TWO_TYPES = {"connection": {"int", "string"}, "message": {"object", "string"}}


@dataclass(frozen=True)
class Waiting:
    """Something waits."""

    for_ms: int
    who: str | None
    tags: list[str] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)


FORM = Form("a test", {"waiting": kind_of("waiting", Waiting)}, 1, spans=frozenset({"for_ms"}))
LINE = {"kind": "waiting", "for_ms": 1, "who": None}


def test_a_column_has_one_type_and_a_meaning() -> None:
    """Lines of all three sorts of files are read alike; every kind says what it is, and every column."""
    types: dict[str, set[str]] = {"kind": {"string"}}
    for form in (JOURNAL, SESSION, DIALOGUE):
        for kind in form.kinds.values():
            assert kind.about, kind.name
            for column in (*form.common, *kind.columns):
                types.setdefault(column.name, set()).add(column.type)

    ambiguous = {name: found for name, found in types.items() if len(found - {"json"}) > 1}
    assert ambiguous == TWO_TYPES
    assert set(types) == set(MEANINGS)


def test_a_class_declares_a_kind() -> None:
    """Fields are columns; those with a default may be missing."""
    assert FORM.kinds["waiting"].about == "Something waits."
    assert FORM.kinds["waiting"].columns == (
        Column("for_ms", "int", False),
        Column("who", "string", True),
        Column("tags", "strings", False, False),
        Column("details", "object", False, False),
    )


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"for_ms": True}, "for_ms is True, not an integer"),
        ({"for_ms": -1}, "for_ms is -1, not from 0 to a year"),
        ({"for_ms": float("nan")}, "for_ms is nan, not an integer"),
        ({"who": 1}, "who is 1, not a string or null"),
        ({"tags": "ab"}, "tags is 'ab', not a list of strings"),
        ({"tags": None}, "tags is None, not a list of strings"),
        ({"details": []}, "details is [], not an object"),
        ({"kind": "wating"}, "there is no kind 'wating'; did you mean 'waiting'?"),
        ({"kind": ["waiting"]}, "there is no kind ['waiting']; did you mean 'waiting'?"),
    ],
)
def test_a_wrong_value_is_named(changed: dict[str, Any], problem: str) -> None:
    """The problem says column, value and what would be right."""
    assert list(problems({**LINE, **changed}, FORM)) == [problem]


def test_a_right_line_has_no_problems() -> None:
    """Further columns are no problem."""
    assert list(problems(LINE, FORM)) == []
    assert list(problems({**LINE, "tags": ["a"], "details": {"b": 1}, "later": 1}, FORM)) == []

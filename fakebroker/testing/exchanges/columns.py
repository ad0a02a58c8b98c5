"""Kinds of lines and their columns, read from classes: a field is a column, its type hint the column's type.

The docstring says what a line of the kind tells. Journals, sessions and dialogues declare their kinds so; the checks of
lines, the JSON Schema and the pages come from the declarations.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from types import UnionType
from typing import Any, Final, NamedTuple, Union, get_args, get_origin, get_type_hints

from fakebroker.protocol.errors import nearest

Row = dict[str, Any]

YEAR_MS = 366 * 86_400_000

_TYPES = {int: "int", float: "float", str: "string", bool: "boolean"}
TYPE_NAMES: Final = {
    "int": "an integer",
    "float": "a number",
    "string": "a string",
    "boolean": "true or false",
    "strings": "a list of strings",
    "ints": "a list of integers",
    "object": "an object",
}
"""What errors call the types of columns."""


class Column(NamedTuple):
    """One column: `type` is "int", "float", "string", "boolean", "strings", "ints", "object" or "json"."""

    name: str
    type: str
    is_nullable: bool
    is_required: bool = True


class Kind(NamedTuple):
    """One kind of line. `source` is the class of what it is made of."""

    name: str
    about: str
    columns: tuple[Column, ...]
    source: type[Any]


class Form(NamedTuple):
    """A sort of file: the kinds of its lines, and the version of the format, which `schema_version` of a line names.

    Every line has the columns of `common`. `head` is the kind of the first line, if that is of another kind than all
    others. `spans` are columns of times that a player waits for: no file makes it wait for more than a year.
    """

    name: str
    kinds: Mapping[str, Kind]
    version: int
    common: tuple[Column, ...] = ()
    head: str | None = None
    spans: frozenset[str] = frozenset()


def kind_of(name: str, source: type[Any]) -> Kind:
    """The kind that a dataclass declares; a field with a default may be missing in a line."""
    hints = get_type_hints(source)
    columns = (
        column_of(each.name, hints[each.name])._replace(
            is_required=each.default is MISSING and each.default_factory is MISSING
        )
        for each in fields(source)
    )
    return Kind(name, about(source), tuple(columns), source)


def about(source: type[Any]) -> str:
    """What a class says of itself, on one line."""
    return " ".join((source.__doc__ or "").split())


def column_of(name: str, hint: Any) -> Column:
    """The column of a field with that type hint."""
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    rest = [part for part in parts if part is not type(None)]
    return Column(name, _type(rest[0]) if len(rest) == 1 else "json", len(rest) < len(parts))


def _type(hint: Any) -> str:
    if hint in _TYPES:
        return _TYPES[hint]
    if isinstance(hint, type) and issubclass(hint, str | int):  # an enumeration
        return "string" if issubclass(hint, str) else "int"
    if get_origin(hint) is dict:
        return "object"
    if get_origin(hint) in (list, tuple) and get_args(hint)[0] in (str, int):
        return f"{_TYPES[get_args(hint)[0]]}s"
    return "json"


def problems(row: Any, form: Form) -> Iterator[str]:
    """What is wrong with a line of a file of this form; nothing if it is right. It may have further columns."""
    if not isinstance(row, Mapping):
        yield f"a line must be an object, not {row!r:.100}"
        return
    name = row.get("kind", "")
    kind = form.kinds.get(name) if isinstance(name, str) else None
    if kind is None:
        yield f"there is no kind {name!r:.100}; {nearest(name, form.kinds)}"
    for column in (*form.common, *(kind.columns if kind else ())):
        if wrong := _problem(row, column, form.spans):
            yield wrong


def _problem(row: Mapping[str, Any], column: Column, spans: frozenset[str]) -> str | None:
    if column.name not in row:
        return f"{column.name} is missing" if column.is_required else None
    value = row[column.name]
    if not _fits(value, column):
        or_null = " or null" if column.is_nullable else ""
        return f"{column.name} is {value!r:.100}, not {TYPE_NAMES[column.type]}{or_null}"
    if column.name in spans and value is not None and not 0 <= value <= YEAR_MS:
        return f"{column.name} is {value!r:.100}, not from 0 to a year"
    return None


def _fits(value: Any, column: Column) -> bool:
    if value is None:
        return column.is_nullable or column.type == "json"
    fits = _FITS.get(column.type)
    return fits is None or fits(value)


def _is_list_of(value: Any, kind: type[Any]) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and all(type(each) is kind for each in value)


_FITS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "int": lambda value: type(value) is int,
    "float": lambda value: type(value) in (int, float),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "object": lambda value: isinstance(value, dict),
    "strings": lambda value: _is_list_of(value, str),
    "ints": lambda value: _is_list_of(value, int),
}

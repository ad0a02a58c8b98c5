"""Answers for people: a list of objects as an aligned table, one object as its fields."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Final

Json = Any
MAX_CELL_CHARS: Final = 60
EMPTY: Final = "none"
OF_EVERY_ROW: Final = {"exists"}  # what is listed exists


def text_of(data: Json) -> str:
    """Data of JSON as text for people."""
    if isinstance(data, Mapping):
        return "\n".join(_fields(data)) or EMPTY
    if isinstance(data, list):
        return "\n".join(_list(data)) or EMPTY
    return cell(data)


def cell(value: Json) -> str:
    """A value in a table. Long ones are cut."""
    text = _words(value)
    return text if len(text) <= MAX_CELL_CHARS else f"{text[: MAX_CELL_CHARS - 3]}..."


def _words(value: Json) -> str:
    if value is None or value in ({}, []):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={_words(each)}" for key, each in _flat(value))
    if isinstance(value, list):
        return ", ".join(map(_name, value))
    return " ".join(str(value).split())


def _flat(value: Mapping[str, Json], path: str = "") -> Iterable[tuple[str, Json]]:
    """The values of tables in tables by their whole keys: orders-0 of a partition, a.b of anything else."""
    for key, each in value.items():
        name = f"{path}{'-' if key.isdecimal() else '.'}{key}" if path else key
        if isinstance(each, Mapping) and each:
            yield from _flat(each, name)
        else:
            yield name, each


def _name(value: Json) -> str:
    """An element of a list: of an object what it is called by."""
    if not isinstance(value, Mapping):
        return _words(value)
    return _words(next(iter(value.values()), None)) if value else "-"


def _list(rows: Sequence[Json]) -> Iterable[str]:
    if not all(isinstance(row, Mapping) for row in rows):
        return [_words(row) for row in rows]
    return _table(rows)


def _table(rows: Sequence[Mapping[str, Json]]) -> Iterable[str]:
    """The rows under the names of their fields; fields that no row has a value for are left out."""
    names = [name for name in dict.fromkeys(chain.from_iterable(rows)) if name not in OF_EVERY_ROW]
    shown = [name for name in names if any(row.get(name) not in (None, "", {}, []) for row in rows)]
    headings = [name.upper().replace("_", " ") for name in shown]
    cells = [[cell(row.get(name)) for name in shown] for row in rows]
    return _aligned([headings, *cells]) if shown else []


def _fields(data: Mapping[str, Json]) -> Iterable[str]:
    """A line for each field; lists of objects as tables below."""
    nested = {name: each for name, each in data.items() if _is_table(each)}
    plain = [[name.replace("_", " "), cell(each)] for name, each in data.items() if name not in nested]
    yield from _aligned(plain)
    for name, rows in nested.items():
        yield f"{name.replace('_', ' ')}:"
        yield from (f"  {line}" for line in _table(rows))


def _is_table(value: Json) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, Mapping) for each in value)


def _aligned(rows: Sequence[Sequence[str]]) -> Iterable[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]

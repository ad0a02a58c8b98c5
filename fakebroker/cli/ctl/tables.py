"""Answers for people: a list of objects as an aligned table, one object as its fields."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain
from typing import Any, Final

Json = Any
MAX_CELL_CHARS: Final = 60  # in a terminal
_FIRST_TIME_MS: Final = 10**11  # 1973: less is a duration
_LAST_TIME_MS: Final = 253_402_300_799_999  # the end of the year 9999
EMPTY: Final = "none"
OF_EVERY_ROW: Final = {"exists"}  # what is listed exists


def text_of(data: Json, *, is_terminal: bool = False) -> str:
    """Data of JSON as text for people. In a terminal long values of tables are cut, so that lines do not break."""
    data = _with_times(data)
    if isinstance(data, Mapping):
        return "\n".join(_fields(data, is_terminal)) or EMPTY
    if isinstance(data, list):
        return "\n".join(_list(data, is_terminal)) or EMPTY
    return _words(data)


def _with_times(data: Json) -> Json:
    """The data with points in time as texts in UTC, under names without their unit."""
    if isinstance(data, list):
        return [_with_times(each) for each in data]
    if not isinstance(data, Mapping):
        return data
    shown = {}
    for name, value in data.items():
        is_time = name.endswith("_ms") and type(value) is int and _FIRST_TIME_MS <= value <= _LAST_TIME_MS
        shown[name.removesuffix("_ms") if is_time else name] = _time(value) if is_time else _with_times(value)
    return shown


def _time(ms: int) -> str:
    moment = datetime.fromtimestamp(ms // 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{ms % 1000:03}Z"


def cell(value: Json, is_terminal: bool) -> str:
    """A value in a table. Long ones are cut in a terminal."""
    text = _words(value)
    return text if len(text) <= MAX_CELL_CHARS or not is_terminal else f"{text[: MAX_CELL_CHARS - 3]}..."


def _words(value: Json) -> str:
    if value is None or value in ({}, []):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        if value.keys() == {"host", "port"}:
            return f"{value['host']}:{value['port']}"
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


def _list(rows: Sequence[Json], is_terminal: bool) -> Iterable[str]:
    if not all(isinstance(row, Mapping) for row in rows):
        return [_words(row) for row in rows]
    return _table(rows, is_terminal)


def _table(rows: Sequence[Mapping[str, Json]], is_terminal: bool) -> Iterable[str]:
    """The rows under the names of their fields; fields that no row has a value for are left out."""
    names = [name for name in dict.fromkeys(chain.from_iterable(rows)) if name not in OF_EVERY_ROW]
    shown = [name for name in names if any(row.get(name) not in (None, "", {}, []) for row in rows)]
    headings = [name.upper().replace("_", " ") for name in shown]
    cells = [[cell(row.get(name), is_terminal) for name in shown] for row in rows]
    return _aligned([headings, *cells]) if shown else []


def _fields(data: Mapping[str, Json], is_terminal: bool) -> Iterable[str]:
    """A line for each field, whole; lists of objects as tables below."""
    nested = {name: each for name, each in data.items() if _is_table(each)}
    plain = [[name.replace("_", " "), _words(each)] for name, each in data.items() if name not in nested]
    yield from _aligned(plain)
    for name, rows in nested.items():
        yield f"{name.replace('_', ' ')}:"
        yield from (f"  {line}" for line in _table(rows, is_terminal))


def _is_table(value: Json) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, Mapping) for each in value)


def _aligned(rows: Sequence[Sequence[str]]) -> Iterable[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]

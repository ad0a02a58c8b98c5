"""A line of a journal becomes a row of the table `journal_lines`: an event or, with a reason, a reject.

Both engines call this function, so they agree on what is wrong with a line and how it is said.
"""

import json
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any, Final, NamedTuple, NoReturn

from fakebroker.analysis.pipeline.contract import FIRST_TIME_MS, LAST_TIME_MS, Row
from fakebroker.testing.exchanges.columns import TYPE_NAMES, Column
from fakebroker.testing.journal.schema import COMMON, KINDS, SCHEMA_VERSION, all_columns

MAX_SAMPLE_CHARACTERS: Final = 200

_COLUMNS: Final = all_columns()
# Numbers that tables have with 32 bits; and the times of the broker, of which tables have the years 1 to 9999. Clients
# may send any commit timestamp.
_INT32: Final = ("node", "api_key", "version", "partition", "generation", "leader_epoch")
_TIMES: Final = ("wall_ms", "received_wall_ms")
_SPANS: Final[dict[str, tuple[int, int, str]]] = {
    **{c.name: (-(2**63), 2**63 - 1, "not a 64-bit number") for c in _COLUMNS.values() if c.type == "int"},
    **dict.fromkeys(_INT32, (-(2**31), 2**31 - 1, "not a 32-bit number")),
    **dict.fromkeys(_TIMES, (FIRST_TIME_MS, LAST_TIME_MS, "not a time in the years 1 to 9999")),
}


class _Columns:
    """The columns that a line must have."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns = columns
        self._all = itemgetter(*(column.name for column in columns))
        self._not_null = itemgetter(*(column.name for column in columns if not column.is_nullable))

    def check(self, found: Row) -> None:
        """Raise _Wrong for one that is missing, or null though it may not be."""
        try:
            self._all(found)
            if None not in self._not_null(found):
                return
        except KeyError as error:
            raise _Wrong(f"{error.args[0]} is missing") from None
        (name, *_) = [each.name for each in self.columns if not each.is_nullable and found[each.name] is None]
        raise _Wrong(f"{name} is null")


_COLUMNS_OF_KIND: Final = {name: _Columns((*COMMON, *kind.columns)) for name, kind in KINDS.items()}
_COLUMNS_OF_ANY: Final = _Columns(COMMON)


class Line(NamedTuple):
    """A line and where it stands: `number` counts from 1, `is_ended` says whether a line feed follows."""

    file: str
    number: int
    data: bytes
    is_ended: bool = True


class _Wrong(Exception):
    """What is wrong with a line."""


def parse_line(line: Line) -> Row:
    """The row of a line, without the columns that are null: most are, and each would take time to write.

    Raises nothing: what is wrong with the line is in the row of the reject.
    """
    text, found = "", None
    try:
        text = line.data.decode()
        found = _loads(text, line)
        return _event(found, line)
    except UnicodeDecodeError as error:
        reason = f"byte {error.start + 1} of the line is not UTF-8"
        return reject_row(line.file, line.number, reason, line.data[: MAX_SAMPLE_CHARACTERS // 2].hex())
    except _Wrong as error:
        run = found.get("run") if isinstance(found, dict) else None
        return reject_row(line.file, line.number, str(error), text, run if isinstance(run, str) else None)


def reject_row(file: str, number: int, reason: str, sample: str | None = None, run: str | None = None) -> Row:
    """The row of a reject; `run` if it is known, `number` 0 for a whole file."""
    row: Row = {"file": file, "line": number, "reject_reason": _storable(reason)}
    if sample is not None:
        row["reject_sample"] = _storable(sample[:MAX_SAMPLE_CHARACTERS])
    if run is not None:
        row["run"] = _storable(run)
    return row


def _loads(text: str, line: Line) -> Any:
    try:
        return _decode(text)
    except ValueError as error:
        what = "the line is not JSON" if line.is_ended else "the last line is incomplete"
        raise _Wrong(f"{what}: {error}") from None
    except RecursionError:
        raise _Wrong("the line is nested too deeply") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_decode: Final = json.JSONDecoder(parse_constant=_no_constant).decode


def _event(found: Any, line: Line) -> Row:
    """The row of an object. Raises _Wrong."""
    if not isinstance(found, dict):
        raise _Wrong(f"the line is {_shown(found)}, not a JSON object")
    _check_version(found)
    kind = found.get("kind")
    (_COLUMNS_OF_KIND.get(kind, _COLUMNS_OF_ANY) if isinstance(kind, str) else _COLUMNS_OF_ANY).check(found)
    row: Row = {"file": line.file, "line": line.number}
    for name, value in found.items():
        if value is None or name not in _COLUMNS:
            continue
        if type(value) is int and name in _SPANS:  # most values are numbers and plain texts
            low, high, problem = _SPANS[name]
            if not low <= value <= high:
                raise _Wrong(f"{name} is {value}, {problem}")
            row[name] = value
        else:
            row[name] = _stored(_COLUMNS[name], value)
    return row


def _check_version(found: Row) -> None:
    version = found.get("schema_version")
    if version is None and "schema_version" not in found:
        raise _Wrong("schema_version is missing")
    if type(version) is not int or version != SCHEMA_VERSION:
        raise _Wrong(f"schema_version is {_shown(version)}; only {SCHEMA_VERSION} is supported")


def _stored(column: Column, value: Any) -> Any:
    """A value that is no integer as the table has it. Raises _Wrong for one of another type."""
    kind = column.type
    if kind == "string" and type(value) is str:
        return value if value.isascii() else _storable(value)
    if kind == "json":
        return _storable(_dumps(value))
    if kind == "boolean" and type(value) is bool:
        return value
    if kind in ("strings", "ints") and type(value) is list:
        return list(_elements(column, value))
    if kind == "float" and type(value) in (int, float):
        return float(value)
    raise _Wrong(f"{column.name} is {_shown(value)}, not {TYPE_NAMES[kind]}")


def _elements(column: Column, values: list[Any]) -> Iterator[Any]:
    wanted = str if column.type == "strings" else int
    for value in values:
        if type(value) is not wanted:
            raise _Wrong(f"{column.name} has {_shown(value)}, not {TYPE_NAMES[column.type]}")
        yield _storable(value) if isinstance(value, str) else value


_dumps: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def _storable(text: str) -> str:
    """Text without lone surrogates, which no file of tables can have: they become their escapes."""
    return text.encode("utf-8", "backslashreplace").decode()


def _shown(value: Any) -> str:
    """A value in a reason, not longer than a line."""
    text = _dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."

"""What powers return, as JSON and as the JSON Schema that says so.

A handle is the object of its properties. A named tuple is an object of its fields. A table whose keys are tuples, as
the offsets by topic and partition, is a table of tables. Bytes are their text if they are UTF-8, else
`{"base64": "..."}`. Times of day are ISO 8601 in UTC. What JSON has no numbers for is "NaN", "Infinity", "-Infinity".
"""

import inspect
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from enum import Enum
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from fakebroker.broker.engine.journal import Event, Exchange, Recorded
from fakebroker.protocol.annotations import type_hints
from fakebroker.protocol.schema.jsonable import number_to_json
from fakebroker.testing.handles.journal import RUN_IN_MEMORY
from fakebroker.testing.handles.telemetry import MetricValue
from fakebroker.testing.journal.rows import rows_of
from fakebroker.testing.reflection.members import Member, is_handle, is_optional, members_of

Json = Any
Schema = dict[str, Json]

_SIMPLE: dict[Any, Schema] = {
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    NoneType: {"type": "null"},
    datetime: {"type": "string", "format": "date-time"},
    Exchange: {"$ref": "#/components/schemas/JournalLine"},
    Recorded: {"$ref": "#/components/schemas/JournalLine"},
    bytes: {"$ref": "#/components/schemas/Bytes"},
    Any: {},
    object: {},
}
BYTES: Schema = {
    "description": "The text if the bytes are UTF-8, else their base64.",
    "anyOf": [
        {"type": "string"},
        {
            "type": "object",
            "properties": {"base64": {"type": "string", "format": "byte"}},
            "required": ["base64"],
            "additionalProperties": False,
        },
    ],
}
_ANY_NUMBER: Schema = {
    "description": "A number, or the text of what JSON has no number for.",
    "anyOf": [{"type": "number"}, {"enum": ["NaN", "Infinity", "-Infinity"]}],
}
_OF_CLIENTS: dict[tuple[type, str], Schema] = {
    (MetricValue, "value"): _ANY_NUMBER
}  # all other numbers are the broker's own, and finite
JOURNAL_LINE: Schema = {
    "type": "object",
    "description": "A line of the journal; its fields depend on its kind ; `GET /names` has the kinds.",
    "properties": {"seq": {"type": "integer"}, "kind": {"type": "string"}, "wall_ms": {"type": "integer"}},
    "required": ["seq", "kind", "wall_ms"],
}


def to_json(value: Any, separate: frozenset[str]) -> Json:
    """A value as data for JSON, without the properties in `separate` ("GroupHandle.committed"): they have own paths."""
    if value is None or isinstance(value, bool | int | str):
        return value.value if isinstance(value, Enum) else value
    if isinstance(value, float):
        return number_to_json(value)
    if isinstance(value, bytes):
        return _bytes(value)
    if isinstance(value, Exchange | Recorded):
        return _rows(value)
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if is_handle(type(value)):
        return {name: to_json(each, separate) for name, each in shown_properties(value, separate)}
    return _collection(value, separate)


def _collection(value: Any, separate: frozenset[str]) -> Json:
    if isinstance(value, Mapping):
        return _table(value, separate)
    if hasattr(value, "as_json"):  # of many rows that are made for JSON: to walk through them takes most of the time
        return value.as_json()
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: to_json(getattr(value, name), separate) for name in value._fields}
    if is_dataclass(value):
        return {each.name: to_json(getattr(value, each.name), separate) for each in fields(value)}
    return [to_json(each, separate) for each in value]


def _rows(entry: Exchange | Recorded[Event]) -> Json:
    """An entry of the journal: a request as its line in a journal file, an event as its first one."""
    rows = list(rows_of(entry, RUN_IN_MEMORY))
    return rows[0] if rows else {}


def _bytes(value: bytes) -> Json:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"base64": b64encode(value).decode()}


def _table(table: Mapping[Any, Any], separate: frozenset[str]) -> Json:
    return raw_table({key: to_json(value, separate) for key, value in table.items()})


def raw_table(table: Mapping[Any, Any]) -> dict[str, Any]:
    """A table whose keys are tuples as a table of tables, with the values as they are."""
    result: dict[str, Any] = {}
    for key, value in table.items():
        *outer, last = key if isinstance(key, tuple) else (key,)
        inner = result
        for part in outer:
            inner = inner.setdefault(str(part), {})
        inner[str(last)] = value
    return result


def shown_properties(handle: Any, separate: frozenset[str]) -> Iterator[tuple[str, Any]]:
    """What a handle is shown with."""
    for name, _ in identity(type(handle)):
        yield name, getattr(handle, name)
    for member in state_of(type(handle), separate):
        yield member.name, getattr(handle, member.name)


def identity(handle: type) -> list[tuple[str, Any]]:
    """The public attributes that say which thing a handle is, with their types: what it is made with."""
    hints = type_hints(handle.__init__)  # type: ignore[misc]
    names = list(inspect.signature(handle.__init__).parameters)[1:]  # type: ignore[misc]
    return [(name, hints[name]) for name in names if _is_word(hints[name])]


def _is_word(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, int | str)


def state_of(handle: type, separate: frozenset[str]) -> list[Member]:
    """The properties that a handle is shown with: those without a path of their own."""
    members = members_of(handle).values()
    return [m for m in members if m.is_property and str(m) not in separate and not is_handle(m.returns)]


class Schemas:
    """JSON Schemas of types; classes are put into `components` and referred to."""

    def __init__(self, separate: frozenset[str]) -> None:
        self._separate = separate
        self.components: dict[str, Schema] = {"Bytes": BYTES, "JournalLine": JOURNAL_LINE}

    def of(self, hint: Any) -> Schema:
        """The schema of what `to_json` makes of a value of this type."""
        for known in (hint, get_origin(hint)):
            if known in _SIMPLE:
                return dict(_SIMPLE[known])
        if is_optional(hint):
            return {"anyOf": [self.of(part) for part in get_args(hint)]}
        if isinstance(hint, type) and get_origin(hint) is None:
            return self._class(hint)
        return self._generic(hint)

    def _generic(self, hint: Any) -> Schema:
        origin, parts = get_origin(hint), get_args(hint)
        if not isinstance(origin, type):  # a union or a literal
            values = [part for part in parts if not isinstance(part, type)]
            return {"enum": values} if len(values) == len(parts) else {"anyOf": [self.of(part) for part in parts]}
        if issubclass(origin, Mapping):
            return self._table(*parts)
        if issubclass(origin, tuple) and parts[-1] is not Ellipsis:
            items, count = [self.of(part) for part in parts], len(parts)
            return {"type": "array", "prefixItems": items, "minItems": count, "maxItems": count}
        return {"type": "array", "items": self.of(parts[0])}

    def _table(self, key: Any, value: Any) -> Schema:
        schema = self.of(value)
        for _ in get_args(key) or (key,):
            schema = {"type": "object", "additionalProperties": schema}
        return schema

    def _class(self, kind: type) -> Schema:
        if issubclass(kind, Enum):
            return {"enum": [each.value for each in kind]}
        if kind.__name__ not in self.components:
            self.components[kind.__name__] = {}  # it may refer to itself
            self.components[kind.__name__] = self._object(kind)
        return {"$ref": f"#/components/schemas/{kind.__name__}"}

    def _object(self, kind: type) -> Schema:
        if is_handle(kind):
            members = [(m.name, m.returns, m.doc) for m in state_of(kind, self._separate)]
            members = [*((name, hint, "") for name, hint in identity(kind)), *members]
        elif issubclass(kind, tuple) or is_dataclass(kind):
            members = [(name, hint, "") for name, hint in get_type_hints(kind).items() if name[0] != "_"]
        else:
            raise TypeError(f"no schema for {kind}")
        properties = {name: _OF_CLIENTS.get((kind, name)) or self._described(hint, doc) for name, hint, doc in members}
        about = {"description": " ".join((inspect.getdoc(kind) or "").split())}
        return {"type": "object", **about, "properties": properties, "required": list(properties)}

    def _described(self, hint: Any, doc: str) -> Schema:
        schema = self.of(hint)
        return {**schema, "description": " ".join(doc.split())} if doc and "$ref" not in schema else schema

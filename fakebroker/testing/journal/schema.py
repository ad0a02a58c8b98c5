"""The schema of the journal in files: which kinds of lines there are, and which columns each has.

A line is a JSON object: the columns of `COMMON`, then those of its kind. The kinds are NamedTuples: the fields are the
columns, type hints are their types, the docstring says what happened. Those of events are the events' own classes
(`engine.journal.Event`); of a class with a method `each` those of what it gives. So a new event is a new kind.

Writer, reader, JSON Schema and page come from here. A column has one type and one meaning in all kinds
(`exchanges/meanings.py`), also in those of sessions and dialogues (`exchanges/kinds.py`).
"""

from typing import Any, NamedTuple, get_args, get_type_hints

from fakebroker.broker.engine.journal import Event, Peer
from fakebroker.testing.exchanges.columns import Column, Form, Kind, about, column_of
from fakebroker.testing.exchanges.meanings import MEANINGS
from fakebroker.testing.explanations.event_wording import kind_name

SCHEMA_VERSION = 1

# The columns of fields that have another name in files: the words of queries.
COLUMN_NAMES = {"group_id": "group", "node_id": "node", "client_id": "client", "connection_id": "connection"}


class Request(NamedTuple):
    """A client's request was answered, or ended without an answer."""

    api: str
    api_key: int
    version: int
    correlation_id: int
    groups: list[str]
    topics: list[str]
    errors: list[str]
    is_answered: bool
    waited_ms: int
    received_wall_ms: int
    received_mono_ms: int
    request_bytes: int
    response_bytes: int
    request: dict[str, Any] | None
    response: dict[str, Any] | None


class OffsetCommitted(NamedTuple):
    """An offset was stored for a group: one line for each partition of an OffsetCommit or TxnOffsetCommit.

    `committed_ms` is the client's own commit timestamp if it sent one (v1).
    """

    group_id: str
    topic: str
    partition: int
    offset: int
    leader_epoch: int
    metadata: str | None
    member_id: str
    generation: int
    committed_ms: int
    expire_ms: int | None
    transactional: bool


class RecordsAppended(NamedTuple):
    """Records of a Produce request were appended to a partition."""

    topic: str
    partition: int
    base_offset: int
    records: int
    size_bytes: int


COMMON = (
    Column("schema_version", "int", False),
    Column("run", "string", False),
    Column("seq", "int", False),
    Column("part", "int", False),
    Column("kind", "string", False),
    Column("wall_ms", "int", False),
    Column("mono_ms", "int", False),
    Column("node", "int", True),
    Column("connection", "int", True),
    Column("client", "string", True),
)

_JSON_TYPES: dict[str, dict[str, Any]] = {
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "string": {"type": "string"},
    "boolean": {"type": "boolean"},
    "strings": {"type": "array", "items": {"type": "string"}},
    "ints": {"type": "array", "items": {"type": "integer"}},
    "json": {},
}
SPARK_TYPES = {
    "int": "BIGINT", "float": "DOUBLE", "string": "STRING", "boolean": "BOOLEAN",
    "strings": "ARRAY<STRING>", "ints": "ARRAY<BIGINT>", "json": "STRING",
}  # fmt: skip


def columns_of(source: type[Any]) -> tuple[Column, ...]:
    """The columns of a class's fields, without those that every line has."""
    common = {column.name for column in COMMON}
    columns = []
    for field, hint in get_type_hints(source).items():
        if hint is Peer:
            columns.append(Column("address", "string", False))
        elif COLUMN_NAMES.get(field, field) not in common:
            column = column_of(COLUMN_NAMES.get(field, field), hint)
            columns.append(column._replace(type="json") if column.type == "object" else column)
    return tuple(columns)


def line_class(event: type[Any]) -> type[Any]:
    """The class whose fields are the columns of an event: its own, or that of what its `each` gives."""
    each = getattr(event, "each", None)
    found: type[Any] = event if each is None else get_args(get_type_hints(each)["return"])[0]
    return found


def _kind(source: type[Any]) -> Kind:
    return Kind(kind_name(source), about(source), columns_of(source), source)


EVENTS: tuple[type[Any], ...] = get_args(Event)
KIND_OF_EVENT = {event: kind_name(line_class(event)) for event in EVENTS}
KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in map(_kind, (Request, OffsetCommitted, RecordsAppended, *(line_class(event) for event in EVENTS)))
}
JOURNAL = Form("a journal", KINDS, SCHEMA_VERSION, COMMON)


def all_columns() -> dict[str, Column]:
    """Every column of any kind by its name; nullable, because no kind has them all."""
    found = {column.name: column for column in COMMON}
    for kind in KINDS.values():
        found.update({column.name: column._replace(is_nullable=True) for column in kind.columns})
    return found


def spark_ddl() -> str:
    """All columns as Spark reads them; decoded messages come as their JSON text."""
    return ", ".join(f"`{column.name}` {SPARK_TYPES[column.type]}" for column in all_columns().values())


def json_schema() -> dict[str, Any]:
    """A JSON Schema (2020-12) of one line. Further properties are allowed: newer brokers may write them."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of a fakebroker journal",
        "type": "object",
        "properties": {column.name: _json_type(column) for column in COMMON},
        "required": [column.name for column in COMMON],
        "oneOf": [
            {
                "title": kind.name,
                "description": kind.about,
                "properties": {
                    "kind": {"const": kind.name},
                    **{column.name: _json_type(column) for column in kind.columns},
                },
                "required": [column.name for column in kind.columns],
            }
            for kind in KINDS.values()
        ],
    }


def _json_type(column: Column) -> dict[str, Any]:
    schema: dict[str, Any] = dict(_JSON_TYPES[column.type])
    if column.is_nullable and "type" in schema:
        schema["type"] = [schema["type"], "null"]
    if meaning := MEANINGS.get(column.name):
        schema["description"] = meaning
    return schema

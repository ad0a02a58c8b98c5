"""The schema of the journal in files: which kinds of lines there are, and which columns each has.

A line is a JSON object: the columns of `COMMON`, then those of its kind. The kinds are NamedTuples: the fields are the
columns, type hints are their types, the docstring says what happened. Those of events are the events' own classes
(`engine.journal.Event`); of a class with a method `each` those of what it gives. So a new event is a new kind.

Writer, reader, JSON Schema and page come from here. A column has one type and one meaning in all kinds.
"""

from collections.abc import Iterator, Mapping, Sequence
from types import UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from fakebroker.broker.engine.journal import Event, Peer
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


class Column(NamedTuple):
    """One column: `type` is "int", "float", "string", "boolean", "strings", "ints" or "json"."""

    name: str
    type: str
    is_nullable: bool


class Kind(NamedTuple):
    """One kind of line. `source` is the class of what it is made of."""

    name: str
    about: str
    columns: tuple[Column, ...]
    source: type[Any]


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

MEANINGS = {
    "schema_version": "version of this schema; a new number when a column changes its meaning or goes",
    "run": "the broker's run; `seq` counts within it",
    "seq": "the entry's number in the journal; order lines by it, never by time",
    "part": "the line's number among those of the same `seq`, from 0",
    "kind": "what happened: the tables below",
    "wall_ms": "the broker's time of day when it happened, in ms since 1970; a test may move it, also backwards",
    "mono_ms": "the monotonic time when it happened, in ms since some moment; of a request: when it was answered",
    "node": "the broker of the cluster, null if it concerns all",
    "connection": "the client's connection, counted from the start of the run; null without one",
    "client": "the client id in the request; null without one",
    "address": "HOST:PORT of the client",
    "api": "the name of the API in Kafka",
    "api_key": "the API's number",
    "version": "the version of the request",
    "correlation_id": "the number the client gave to the request",
    "group": "the group id",
    "groups": "ids of the groups that the request names",
    "topics": "names of the topics that the request names; the id of one that does not exist",
    "errors": "names of the errors in the answer, each once; empty when all went well",
    "is_answered": "false for a request that ended without an answer (acks=0, the client left, the connection failed)",
    "waited_ms": "monotonic time from receiving the request to its answer",
    "received_wall_ms": "`wall_ms` when the request was received",
    "received_mono_ms": "`mono_ms` when the request was received",
    "request_bytes": "size of the request without its length prefix",
    "response_bytes": "size of the answer without its length prefix, 0 without one",
    "request": "the request with Kafka's field names; null when it was too large to be kept or malformed",
    "response": "the answer with Kafka's field names; null when there was none or it was too large to be kept",
    "topic": "the topic's name",
    "partition": "the partition's number",
    "offset": "the committed offset",
    "leader_epoch": "the leader epoch committed beside the offset, -1 without one",
    "metadata": "the text committed beside the offset",
    "member_id": "the member; of a commit the one that committed, empty without one",
    "generation": "a classic group's generation, another's group epoch, -1 without one; of a commit the member's",
    "epoch": "the group epoch; of a member its member epoch",
    "assignor": "the assignor that computed the assignment",
    "base_offset": "the offset of the first record",
    "records": "how many records",
    "size_bytes": "their size as they were sent, of metrics without compression",
    "reason": "why, an English clause",
    "tls_version": "the version of TLS that client and broker agreed on: TLSv1.3",
    "cipher": "the cipher suite that client and broker agreed on, by OpenSSL's name",
    "subject": "the name in the client's certificate, CN=alice; empty if it has shown none",
    "client_instance_id": "the id that the broker gave to the client for its metrics",
    "is_terminating": "whether the client closes, and pushes its last metrics",
    "quota": "the key of the quota: producer_byte_rate",
    "entity": "whose quota it is: user alice, client-id app",
    "limit": "the quota: how much is allowed per second",
    "measured": "how much it was per second; of controller_mutation_rate how many tokens are left",
    "throttle_ms": "for how long the client's connection is not read",
    "group_type": "the kind of group: classic, consumer, share or streams",
    "before": "the state before",
    "after": "the state after",
    "committed_ms": "the commit timestamp: the broker's time of day, unless the client sent one",
    "expire_ms": "when it expires by a retention of its own (OffsetCommit v2-v4); null without one",
    "transactional": "whether it was committed in a transaction, and takes effect with that",
    "due_ms": "`wall_ms` from which the offset was due",
    "rule": "the rule that decided, such as EX-3",
    "what": "what happened to it",
    "mechanism": "the mechanism of SASL, empty if none was chosen",
    "principal": "who the client is, or says it is (`User:alice`); empty if it has not said so",
    "from_ms": "the broker's time of day before",
    "to_ms": "the broker's time of day after",
    "how": "how it came about",
    "fault_id": "the fault's number, as `broker.faults` has it",
    "description": "the fault as it was declared",
    "release": "the release of Kafka that it is like",
    "settings": "the settings it was given, as texts by name",
    "protocol_type": "the protocol type of the group, empty without one",
    "protocol": "the protocol that its members agreed on; null without one",
    "leader": "the member id of the leader; null without one",
    "members": "how many members it has",
    "subscribed_topics": "the topics that its members subscribe to; null if unknown",
    "transactional_id": "the transactional id",
    "producer_id": "the producer id of the transactional id, after the change",
    "producer_epoch": "the producer epoch, after the change",
    "partitions": "how many partitions are in the transaction, after the change",
    "state_ms": "`wall_ms` when the group entered its state, -1 if unknown",
    "host": "the client's address",
    "operation": "the operation of ACLs that was refused, such as READ",
    "resource_type": "what it was to be done with: TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID, USER or DELEGATION_TOKEN",
    "resource_name": "the name of that",
    "acl": "the entry of the access control lists, in words",
    "error": "the exception's class",
    "message": "the exception's text",
}  # fmt: skip

_TYPES = {int: "int", float: "float", str: "string", bool: "boolean"}
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
            columns.append(_column(COLUMN_NAMES.get(field, field), hint))
    return tuple(columns)


def line_class(event: type[Any]) -> type[Any]:
    """The class whose fields are the columns of an event: its own, or that of what its `each` gives."""
    each = getattr(event, "each", None)
    found: type[Any] = event if each is None else get_args(get_type_hints(each)["return"])[0]
    return found


def _column(name: str, hint: Any) -> Column:
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    rest = [part for part in parts if part is not type(None)]
    return Column(name, _type(rest[0]) if len(rest) == 1 else "json", len(rest) < len(parts))


def _type(hint: Any) -> str:
    if hint in _TYPES:
        return _TYPES[hint]
    if isinstance(hint, type) and issubclass(hint, str | int):  # an enumeration
        return "string" if issubclass(hint, str) else "int"
    if get_origin(hint) in (list, tuple) and get_args(hint)[0] in (str, int):
        return _TYPES[get_args(hint)[0]] + "s" if get_args(hint)[0] is int else "strings"
    return "json"


def _kind(source: type[Any]) -> Kind:
    about = " ".join((source.__doc__ or "").split())
    return Kind(kind_name(source), about, columns_of(source), source)


EVENTS: tuple[type[Any], ...] = get_args(Event)
KIND_OF_EVENT = {event: kind_name(line_class(event)) for event in EVENTS}
KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in map(_kind, (Request, OffsetCommitted, RecordsAppended, *(line_class(event) for event in EVENTS)))
}


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


def problems(row: Any) -> Iterator[str]:
    """What is wrong with a line, measured by the schema: nothing, if it is of this version."""
    if not isinstance(row, Mapping):
        yield f"a line is an object, not {row!r}"
        return
    name = row.get("kind", "")
    kind = KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        yield f"there is no kind {row.get('kind')!r}"
    for column in (*COMMON, *(kind.columns if kind else ())):
        if column.name not in row:
            yield f"{column.name} is missing"
        elif not _fits(row[column.name], column):
            yield f"{column.name} is {row[column.name]!r}, not {column.type}"


def _fits(value: Any, column: Column) -> bool:
    if value is None:
        return column.is_nullable or column.type == "json"
    match column.type:
        case "int":
            return type(value) is int
        case "float":
            return type(value) in (int, float)
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "strings":
            return _is_list_of(value, str)
        case "ints":
            return _is_list_of(value, int)
    return True


def _is_list_of(value: Any, kind: type[Any]) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and all(type(each) is kind for each in value)

"""Errors as problem documents (RFC 9457): what was wrong, in which field, with which value, and what would be right."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from math import isfinite
from typing import Any

from starlette.responses import JSONResponse

from fakebroker.protocol.errors import (
    BrokerStopped,
    ErrorCode,
    FakebrokerError,
    InvalidArgument,
    KafkaError,
    SettingError,
    UnknownThing,
    WaitTimeout,
    spelt_alike,
)

TYPE = "urn:fakebroker:problem:"
MAX_VALUE_CHARS = 200  # of a value in a problem

# The first class that an exception is of gives its status and the name of its type.
STATUSES: tuple[tuple[type[Exception], int, str], ...] = (
    (UnknownThing, 404, "unknown-thing"),
    (InvalidArgument, 422, "invalid-argument"),
    (SettingError, 422, "invalid-setting"),
    (WaitTimeout, 408, "wait-timeout"),
    (BrokerStopped, 409, "broker-stopped"),
    (FakebrokerError, 422, "refused"),
    (OSError, 409, "port-taken"),
    (ValueError, 422, "invalid-argument"),
)
NOT_FOUND = {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNKNOWN_TOPIC_ID}
# The arguments that Kafka's errors are about: of several the first that was given.
FIELDS: dict[ErrorCode, tuple[str, ...]] = {
    ErrorCode.INVALID_PARTITIONS: ("partitions",),
    ErrorCode.POLICY_VIOLATION: ("partitions",),
    ErrorCode.INVALID_REPLICATION_FACTOR: ("replication_factor",),
    ErrorCode.INVALID_REPLICA_ASSIGNMENT: ("replicas",),
    ErrorCode.INVALID_CONFIG: ("config",),
    ErrorCode.INVALID_TOPIC_EXCEPTION: ("name",),
    ErrorCode.TOPIC_ALREADY_EXISTS: ("name",),
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ("offsets", "name"),
    ErrorCode.OFFSET_OUT_OF_RANGE: ("offset",),
    ErrorCode.OFFSET_METADATA_TOO_LARGE: ("metadata",),
    ErrorCode.MESSAGE_TOO_LARGE: ("values",),
    ErrorCode.INVALID_RECORD: ("values",),
    ErrorCode.INVALID_TIMESTAMP: ("timestamp_ms",),
    ErrorCode.INVALID_GROUP_ID: ("group_id",),
    ErrorCode.GROUP_ID_NOT_FOUND: ("group_id",),
    ErrorCode.NON_EMPTY_GROUP: ("group_id",),
    ErrorCode.COORDINATOR_NOT_AVAILABLE: ("group_id",),
}
CONFLICTS = {ErrorCode.TOPIC_ALREADY_EXISTS, ErrorCode.NON_EMPTY_GROUP, ErrorCode.COORDINATOR_NOT_AVAILABLE}
TITLES = {
    "unknown-thing": "Not found",
    "invalid-argument": "Invalid argument",
    "unknown-field": "Unknown field",
    "missing-field": "Missing field",
    "invalid-setting": "Invalid setting",
    "kafka-error": "Refused by Kafka",
    "wait-timeout": "The wait timed out",
    "broker-stopped": "The broker is stopped",
    "refused": "Refused by the broker",
    "port-taken": "Port not available",
    "malformed-json": "The body is not JSON",
    "too-large": "The body is too large",
    "unsupported-media-type": "The content type is not JSON",
    "not-found": "Unknown path",
    "method-not-allowed": "Method not allowed",
    "unauthorized": "The token is missing or wrong",
    "malformed-host": "The Host header is malformed",
    "ambiguous-length": "The length of the body is ambiguous",
    "forbidden-option": "This option needs the token",
    "forbidden-origin": "Pages of other sites may not control a broker",
    "internal-error": "The broker has a bug",
}


class Problem(Exception):
    """An error of a request, as it is answered."""

    def __init__(self, status: int, kind: str, detail: str, **members: Any) -> None:
        super().__init__(detail)
        self.status = status
        self.kind = kind
        self.detail = detail
        self.members = members
        self.headers: dict[str, str] = {}

    def with_headers(self, **headers: str) -> "Problem":
        """The same with header fields of the answer."""
        self.headers.update(headers)
        return self

    def response(self) -> JSONResponse:
        """The problem document."""
        content = {
            "type": TYPE + self.kind,
            "title": TITLES[self.kind],
            "status": self.status,
            "detail": self.detail,
            **self.members,
        }
        return JSONResponse(content, self.status, self.headers, media_type="application/problem+json")


def problem_of(error: Exception) -> Problem:
    """The problem that says what an exception means for the caller. A bug is 500; its traceback is in the log."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, KafkaError):
        return kafka_problem(error, {})
    for kind, status, name in STATUSES:
        if isinstance(error, kind):
            text = (error.strerror if isinstance(error, OSError) else None) or str(error)
            members = {}
            if isinstance(error, InvalidArgument | SettingError):
                members = {"field": error.field, "value": shown_value(error.value)}
            return Problem(status, name, text, **members)
    return Problem(500, "internal-error", f"{type(error).__name__}: {error}")


def kafka_problem(error: KafkaError, given: Mapping[str, Any]) -> Problem:
    """What Kafka refuses, with the argument of those `given` that it is about."""
    status = 404 if error.code in NOT_FOUND else 409 if error.code in CONFLICTS else 422
    members: dict[str, Any] = {"error": error.code.name, "error_code": int(error.code)}
    names = (error.field,) if error.field else FIELDS.get(error.code, ())
    for name in [name for name in names if name in given][:1]:
        members |= {"field": name, "value": shown_value(given[name])}
    return Problem(status, "kafka-error", error.message or error.code.name, **members)


def shown_value(value: Any) -> Any:
    """A value as a problem repeats it: as JSON if it is short, else the beginning of its text."""
    data = _as_json(value)
    text = data if isinstance(data, str) else json.dumps(data)
    return data if len(text) <= MAX_VALUE_CHARS else text[:MAX_VALUE_CHARS] + "..."


def _as_json(value: Any) -> Any:
    """A value as data of JSON; a table by tuples as a table of tables."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | float):
        is_exact = isfinite(value) if isinstance(value, float) else abs(value) < 2**53
        return value if is_exact else repr(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        table: dict[str, Any] = {}
        for key, each in value.items():
            *above, last = key if isinstance(key, tuple) else (key,)
            inner = table
            for part in above:
                inner = inner.setdefault(str(part), {})
            inner[str(last)] = _as_json(each)
        return table
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [_as_json(each) for each in value]
    return repr(value)


def no_such_path(path: str, routes: Iterable[str]) -> Problem:
    """The error for a path without a route, with the nearest spelling of the part that is wrong."""
    hint = _nearest_part(path.split("/"), [route.split("/") for route in routes])
    return Problem(404, "not-found", f"there is nothing at {path[:200]}; {hint or 'see /openapi.json'}")


def _nearest_part(parts: list[str], routes: list[list[str]]) -> str:
    """The question about a part that is spelt like one that may stand there; "" if there is none."""
    for place, part in enumerate(parts):
        here = [route for route in routes if len(route) > place]
        routes = [route for route in here if route[place] == part or route[place].startswith("{")]
        if not routes:
            return spelt_alike(part[:200], sorted({route[place] for route in here}))
    return ""

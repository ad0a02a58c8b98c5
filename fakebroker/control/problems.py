"""Errors as problem documents (RFC 9457): what was wrong, in which field, with which value, and what would be right."""

from difflib import get_close_matches
from typing import Any

from starlette.responses import JSONResponse

from fakebroker.errors import (
    BrokerStopped,
    ErrorCode,
    FakebrokerError,
    InvalidArgument,
    KafkaError,
    SettingError,
    UnknownThing,
    WaitTimeout,
)

TYPE = "urn:fakebroker:problem:"
MOST_NAMES = 20  # that a problem lists
MOST_VALUE_CHARS = 200  # of a value in a problem

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
CONFLICTS = {ErrorCode.TOPIC_ALREADY_EXISTS, ErrorCode.NON_EMPTY_GROUP, ErrorCode.COORDINATOR_NOT_AVAILABLE}
TITLES = {
    "unknown-thing": "There is no such thing",
    "invalid-argument": "An argument cannot be that",
    "unknown-field": "There is no such field",
    "missing-field": "A field is missing",
    "invalid-setting": "A setting cannot be that",
    "kafka-error": "Kafka refuses this",
    "wait-timeout": "It did not happen in time",
    "broker-stopped": "The broker is stopped",
    "refused": "The broker refuses this",
    "port-taken": "A port cannot be had",
    "malformed-json": "The body is not JSON",
    "too-large": "The body is too large",
    "unsupported-media-type": "The body is of another type",
    "not-found": "There is nothing at this path",
    "method-not-allowed": "This path does not take that method",
    "unauthorized": "The token is missing or wrong",
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
        status = 404 if error.code in NOT_FOUND else 409 if error.code in CONFLICTS else 422
        members = {"error": error.code.name, "error_code": int(error.code)}
        return Problem(status, "kafka-error", error.message or error.code.name, **members)
    for kind, status, name in STATUSES:
        if isinstance(error, kind):
            text = (error.strerror if isinstance(error, OSError) else None) or str(error)
            members = {}
            if isinstance(error, InvalidArgument):
                members = {"field": error.field, "value": shown_value(error.value)}
            return Problem(status, name, text, **members)
    return Problem(500, "internal-error", f"{type(error).__name__}: {error}")


def shown_value(value: Any) -> Any:
    """A value as a problem repeats it: itself if it is short and JSON, else the beginning of its text."""
    if value is None or isinstance(value, bool) or (isinstance(value, int | float) and abs(value) < 2**53):
        return value
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= MOST_VALUE_CHARS else text[:MOST_VALUE_CHARS] + "..."


def unknown_field(name: str, known: list[str], where: str) -> Problem:
    """A field that does not exist, with the nearest that does."""
    detail = f"{where} has no field {shown_value(name)!r}; {nearest(name, known)}"
    return Problem(422, "unknown-field", detail, field=shown_value(name))


def nearest(name: str, known: list[str]) -> str:
    """What would be right instead of a name: the one that is spelt most like it, else the first of them."""
    near = get_close_matches(name, known, 1)
    if near:
        return f"did you mean {near[0]!r}?"
    more = ", ..." if len(known) > MOST_NAMES else ""
    return f"there are {', '.join(known[:MOST_NAMES])}{more}" if known else "there are none"

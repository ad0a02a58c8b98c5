"""Session files: what clients and a Kafka said to each other, one JSON object a line.

The first line is the `session`; `state` lines say what the Kafka held before the first client came; then come
`connect`, `request`, `answer` and `close` lines in the order of their time, and `end`, which is missing if the recorder
was killed. `KINDS` has the fields of each kind; docs/how-to/recording.md explains them.

A line is in the hands of the operating system before what it tells of is passed on: a recorder that is killed loses
nothing that a client or broker has seen, and leaves at most one line torn, the last.
"""

import json
import os
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from fakebroker.protocol.errors import FakebrokerError, InvalidArgument, nearest
from fakebroker.protocol.json_text import parse_json
from fakebroker.protocol.schema import Message
from fakebroker.protocol.schema.jsonable import from_json, to_json
from fakebroker.protocol.wire.frame import decode_request_header, decode_response
from fakebroker.protocol.wire.registry import APIS

M = TypeVar("M", bound=Message)
Line = dict[str, Any]

SCHEMA_VERSION = 1
MAX_LINE_BYTES = 1 << 30  # a frame of 256 MiB as hexadecimal, with room
_MAX_HEAD_BYTES = 1 << 20
YEAR_MS = 366 * 86_400_000

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode

_Types = tuple[type, ...]
_INT: _Types = (int,)
_TEXT: _Types = (str,)
_OBJECT: _Types = (dict,)
_MAYBE_TEXT: _Types = (str, type(None))
_MAYBE_INT: _Types = (int, type(None))
_NUMBER: _Types = (int, float)

_EXCHANGED: dict[str, _Types] = {
    "at_ms": _NUMBER,
    "connection": _INT,
    "broker": _MAYBE_INT,
    "client": _MAYBE_TEXT,
    "correlation_id": _MAYBE_INT,
    "api": _MAYBE_TEXT,
    "api_key": _MAYBE_INT,
    "version": _MAYBE_INT,
    "bytes": _INT,
}
# The fields that every line of a kind has, with their types; a line may have more.
KINDS: dict[str, dict[str, _Types]] = {
    "session": {"schema_version": _INT, "upstream": _TEXT, "started_wall_ms": _INT, "fakebroker": _TEXT},
    "state": {"at_ms": _NUMBER, "subject": _TEXT},
    "connect": {"at_ms": _NUMBER, "connection": _INT, "broker": _MAYBE_INT},
    "request": _EXCHANGED,
    "answer": _EXCHANGED,
    "close": {"at_ms": _NUMBER, "connection": _INT, "reason": _TEXT},
    "end": {"at_ms": _NUMBER, "reason": _TEXT, "summary": _OBJECT},
}


class SessionError(FakebrokerError, ValueError):
    """A session file that cannot be read: the message says file, line and what is wrong there."""


def read_session(
    path: str | os.PathLike[str],
    on_cut: Callable[[str], None] | None = None,
    max_line_bytes: int = MAX_LINE_BYTES,
) -> Iterator[Line]:
    """The lines of a session file, one at a time: no more than one is held.

    A last line that was cut off (the recorder was killed, the disk was full) is left out; `on_cut` is called with a
    sentence about it, by default a warning is logged. Raises SessionError for any other line that is no line of a
    session, for a file that does not begin with one, and for a file that cannot be read.
    """
    name = os.fspath(path)
    try:
        with Path(path).open("rb") as file:
            yield from _lines(name, file, on_cut or _warn, max_line_bytes)
    except OSError as error:
        raise SessionError(f"{name}: it cannot be read: {error.strerror or error}") from None


def _lines(name: str, file: BinaryIO, on_cut: Callable[[str], None], max_line_bytes: int) -> Iterator[Line]:
    number = 0
    limit = min(_MAX_HEAD_BYTES, max_line_bytes)
    last_ms = 0.0
    while raw := file.readline(limit + 1):
        number += 1
        is_last = not raw.endswith(b"\n")
        if is_last:
            if len(raw) > limit:
                raise SessionError(f"{name}:{number}: a line of more than {limit} bytes")
            if number == 1 and not _is_line(raw):
                raise SessionError(f"{name}:1: no line of a session: it is cut off, or the file is none")
            if not _is_line(raw):
                on_cut(f"{name}:{number}: the last line was cut off after {len(raw)} bytes; what came before is used")
                return
        line = _parsed(name, number, raw)
        _check(name, number, line)
        last_ms = _time_of(name, number, line, last_ms)
        limit = max_line_bytes
        yield line
        if is_last:
            return  # a session that is being recorded may go on here: its end of line, and more
    if not number:
        raise SessionError(f"{name}:1: the file is empty; a session begins with a line of the kind session")


def _is_line(raw: bytes) -> bool:
    """Whether a last line without its end is whole all the same: an editor may have saved it so."""
    try:
        return isinstance(parse_json(raw), dict)
    except ValueError:
        return False


def _parsed(name: str, number: int, raw: bytes) -> Any:
    try:
        return parse_json(raw)
    except ValueError as error:
        raise SessionError(f"{name}:{number}: not JSON: {error}") from None


def _time_of(name: str, number: int, line: Line, last_ms: float) -> float:
    """When a line was written; the line before unless it says. Raises SessionError for a jump that no recording has."""
    at_ms: float = line.get("at_ms", last_ms)
    if not last_ms - YEAR_MS <= at_ms <= last_ms + YEAR_MS:
        raise SessionError(
            f"{name}:{number}: at_ms is {at_ms!r:.100}, more than a year from the line before: {last_ms}"
        )
    return at_ms


def _check(name: str, number: int, line: Any) -> None:
    """Raise SessionError, with file and line, if a line has not the fields of its kind."""
    if wrong := _problem(line, number):
        raise SessionError(f"{name}:{number}: {wrong}")


def _problem(line: Any, number: int) -> str | None:
    if not isinstance(line, dict):
        return f"a line of a session is a JSON object, not {type(line).__name__}"
    kind = line.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        return f"there is no kind {kind!r}; {nearest(kind, KINDS)}"
    if (number == 1) != (kind == "session"):
        return (
            "a session begins with a line of the kind session" if number == 1 else "a second line of the kind session"
        )
    for field, types in KINDS[kind].items():
        if field not in line:
            return f"{kind}.{field} is missing"
        if not isinstance(line[field], types) or isinstance(line[field], bool):
            wanted = " or ".join("null" if one is type(None) else one.__name__ for one in types)
            return f"{kind}.{field} is {line[field]!r:.100}, not {wanted}"
    if kind == "session" and line["schema_version"] != SCHEMA_VERSION:
        return f"schema_version is {line['schema_version']}; this fakebroker reads {SCHEMA_VERSION}"
    if not isinstance(line.get("message", {}), dict):
        return f"{kind}.message is {type(line['message']).__name__}, not an object"
    return None


@contextmanager
def naming_line(path: str | os.PathLike[str], number: int) -> Iterator[None]:
    """What goes wrong with the content of a line, which may have been edited, is a SessionError that names the line."""
    try:
        yield
    except SessionError:
        raise
    except (FakebrokerError, LookupError, TypeError, ValueError, AttributeError, struct.error) as error:
        raise SessionError(f"{os.fspath(path)}:{number}: it says something that cannot be: {error!r:.200}") from error


def _warn(sentence: str) -> None:
    import logging

    logging.getLogger("fakebroker").warning("%s", sentence)


def request_of(line: Mapping[str, Any]) -> Message | None:
    """The message of a `request` line, ready to be sent; None if it was not understood, or left out.

    Raises WireError if the line was edited into something that is no such message.
    """
    if "message" in line:
        return _message_of(APIS[line["api_key"]].request, line)
    frame = _long_frame(line)
    if frame is None:
        return None
    header, at = decode_request_header(frame)
    return APIS[header.api_key].request.decode(frame, header.api_version, at)[0]


def answer_of(line: Mapping[str, Any]) -> Message | None:
    """The message of an `answer` line; None if it was not understood, or left out. Raises WireError as `request_of`."""
    if "message" in line:
        return _message_of(APIS[line["api_key"]].response, line)
    frame = _long_frame(line)
    return None if frame is None else decode_response(line["api_key"], line["version"], frame)[1]


def message_in(line: Mapping[str, Any]) -> Any:
    """The message of a `request` or `answer` line as data, also of a long one; None if it was not understood.

    Raises WireError for a long frame that is no such message.
    """
    if "message" in line:
        return plain(line["message"])
    message = (request_of if line["kind"] == "request" else answer_of)(line)
    return None if message is None else to_json(message, line["version"])


def frame_of(line: Mapping[str, Any]) -> bytes | None:
    """The whole frame (header and body) of a line that was not understood; None if there is a message, or no bytes.

    Raises SessionError for what is no hexadecimal.
    """
    text = line.get("hex")
    if text is None:
        return None
    try:
        return bytes.fromhex(text)
    except (TypeError, ValueError) as error:
        raise SessionError(f"hex: {error}") from None


def _long_frame(line: Mapping[str, Any]) -> bytes | None:
    """The frame of a line that was not decoded only because it is so long."""
    return frame_of(line) if line.get("is_long") and line["api_key"] in APIS else None


def _message_of(cls: type[M], line: Mapping[str, Any]) -> M:
    return from_json(cls, line["version"], plain(line["message"]))


def plain(value: Any) -> Any:
    """Message data as `from_json` takes it: what stands beside the bytes of records, to be read, is taken away."""
    if isinstance(value, dict):
        if "hex" in value and "batches" in value:
            return {"hex": value["hex"]}
        return {key: plain(inner) for key, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, list) else value


class SessionWriter:
    """Writes a session file, line by line."""

    def __init__(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Make the file. Raises InvalidArgument if it exists and `force` is not set, or if it cannot be made."""
        self.path = os.fspath(path)
        self.error: str | None = None  # why the recording ended before its time
        self.written_bytes = 0
        flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | (os.O_TRUNC if force else os.O_EXCL)
        try:
            self._fd = os.open(self.path, flags, 0o600)  # it may hold what nobody else should read
        except FileExistsError:
            message = f"{self.path} exists; --force overwrites it"
            raise InvalidArgument("out", self.path, message) from None
        except OSError as error:
            message = f"{self.path} cannot be written: {error.strerror or error}"
            raise InvalidArgument("out", self.path, message) from None

    def write(self, line: Mapping[str, Any]) -> None:
        """Write a line. If that fails, `error` says why, the file ends with the line before, and no more follows."""
        if self._fd >= 0:
            self._put((_encode(line).encode("utf-8", "backslashreplace"), b"\n"))

    def write_long(self, line: Mapping[str, Any], frame: bytes | memoryview) -> None:
        """Write a line with the bytes of a long frame as `hex`, its last field, without making one text of them."""
        if self._fd < 0:
            return
        head = _encode(line).encode("utf-8", "backslashreplace")[:-1]
        view = memoryview(frame)
        step = 1 << 20
        hexadecimal = (view[at : at + step].hex().encode() for at in range(0, len(view), step))
        self._put((head, b',"is_long":true,"hex":"'), hexadecimal, (b'"}\n',))

    def close(self) -> None:
        """Close the file; whatever is written after that is ignored."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            try:
                os.close(fd)
            except OSError as error:
                self.error = self.error or self._why(error)

    def discard(self) -> None:
        """Remove the file: there is nothing in it."""
        self.close()
        with suppress(OSError):
            os.unlink(self.path)

    def _put(self, *parts: "tuple[bytes, ...] | Iterator[bytes]") -> None:
        start = self.written_bytes
        try:
            for part in parts:
                for data in part:
                    self._write_all(data)
        except OSError as error:
            self.error = self._why(error)
            self._cut_off(start)

    def _write_all(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            written = os.write(self._fd, view)
            self.written_bytes += written
            view = view[written:]

    def _cut_off(self, at: int) -> None:
        """End the file with its last whole line."""
        with suppress(OSError):  # a pipe cannot be cut off; a torn line is for the reader to tell
            os.ftruncate(self._fd, at)
        self.close()

    def _why(self, error: OSError) -> str:
        return f"the recording ends here, {self.path} cannot be written: {error.strerror or error}"

"""Long answers as JSON: in steps, between which the broker serves its clients, and only as fast as they are read."""

import asyncio
import json
import logging
from base64 import b64encode
from codecs import getincrementaldecoder
from collections.abc import AsyncIterator, Generator, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any, AnyStr, Final

from starlette.types import Send

from fakebroker.broker.engine.journal import Exchange, Recorded
from fakebroker.cli.http.answers import raw_table, shown_properties, to_json
from fakebroker.cli.http.event_stream import Stream
from fakebroker.cli.http.reading_line import LongRecords, line_of_answers
from fakebroker.cli.http.turns import each_in_turn, pace_of
from fakebroker.protocol.errors import FakebrokerError
from fakebroker.protocol.pace import AT_ONCE, Pace
from fakebroker.testing.handles.handle import Handle
from fakebroker.testing.reflection.members import is_handle

LONG: Final = 50  # entries: what has more is written in steps
TEXTS_PER_STEP: Final = 16
PIECE_CHARS: Final = 64 * 1024  # sent at a time
PART: Final = 48 * 1024  # of a text or of bytes that are longer: written at a time; base64 takes three bytes together

log = logging.getLogger("fakebroker")


class JsonStream(Stream):
    """An answer that is written in steps."""

    media_type = "application/json"

    def __init__(self, value: Any, separate: frozenset[str], status_code: int = 200) -> None:
        """`value` is of many entries (`is_long`); it is written as `to_json` has it."""
        super().__init__(_paced(texts_of(value, separate)), status_code)
        self._is_in_line = isinstance(value, LongRecords)

    async def _write(self, send: Send, leaving: "asyncio.Future[None]") -> None:
        if not self._is_in_line:
            return await super()._write(send, leaving)
        line = line_of_answers()
        with suppress(TimeoutError):
            async with line.turn():
                return await super()._write(partial(line.send, send), leaving)
        log.warning("an answer with long records was cut off: its reader was slow, and others waited")
        return None


def is_long(value: Any) -> bool:
    """Whether a value has so many entries that it is written in steps, at its top or one level below, or long texts."""
    if _has_many(value) or _has_long_parts(value):
        return True
    if isinstance(value, list) and value and isinstance(value[0], Handle):
        return sum(map(shown_entries, value)) > LONG
    parts = value.values() if isinstance(value, Mapping) else (each for _, each in _fields_of(value))
    return any(_has_many(each) for each in parts)


def shown_entries(handle: Handle) -> int:
    """About how many entries the lists and tables have that a handle is shown with."""
    return handle._shown_entries()


def texts_of(value: Any, separate: frozenset[str]) -> Iterator[str]:
    """The JSON of a value, in pieces of about one entry or one part of a long text each; "" is a step without one."""
    if not is_long(value):
        yield _text(to_json(value, separate))
    elif isinstance(value, Mapping):
        yield from _object(raw_table(value).items(), separate)
    elif isinstance(value, str):
        yield from _long_text(_parts(value))
    elif isinstance(value, bytes):
        yield from _long_bytes(value)
    elif isinstance(value, list) or _has_many(value) or (isinstance(value, tuple) and not hasattr(value, "_fields")):
        yield from _list(value, separate)
    else:
        yield from _object(_fields_of(value), separate)


def state_of_long(value: Any, separate: frozenset[str]) -> Any:
    """A handle that has many entries as the table of its properties, of one moment; another value as it is."""
    if isinstance(value, Handle) and shown_entries(value) > LONG:
        return dict(shown_properties(value, separate))
    return value


def array_of(entries: Iterable[Any]) -> Iterator[bytes]:
    """A JSON array in pieces of at least PIECE_CHARS, for a thread that makes them. Each entry is written by itself: a
    thread holds up the others while it writes JSON.
    """
    for piece in _pieces(_list(entries, frozenset()), AT_ONCE):
        if piece is not None:
            yield piece


def _list(value: Iterable[Any], separate: frozenset[str]) -> Iterator[str]:
    """A list. Of an iterator None is no entry, but the end of a step."""
    yield "["
    comma = ""
    for each in value:
        if each is None and isinstance(value, Iterator):
            yield ""
            continue
        texts = _entry(each, separate)
        first = next(texts, None)
        if first is not None:
            yield comma + first
            yield from texts
            comma = ","
    yield "]"


def _entry(each: Any, separate: frozenset[str]) -> Iterator[str]:
    """An entry of a list; nothing of one that has ceased to exist since the list was made."""
    if _has_long_parts(each):
        yield from texts_of(each, separate)
    elif is_handle(type(each)):
        with suppress(FakebrokerError):
            yield from texts_of(state_of_long(each, separate), separate)
    else:
        yield _text(to_json(each, separate))


def _object(items: Iterable[tuple[str, Any]], separate: frozenset[str]) -> Iterator[str]:
    yield "{"
    comma = ""
    for name, value in items:
        texts = texts_of(value, separate)
        yield f"{comma}{_text(name)}:{next(texts)}"
        yield from texts
        comma = ","
    yield "}"


def _long_bytes(value: bytes) -> Iterator[str]:
    """Bytes as `to_json` has them."""
    if (yield from _is_text(value)):
        decoder = getincrementaldecoder("utf-8")()
        yield from _long_text(map(decoder.decode, _parts(value)))
    else:
        yield '{"base64":"'
        for part in _parts(value):
            yield b64encode(part).decode()
        yield '"}'


def _is_text(value: bytes) -> Generator[str, None, bool]:
    """Whether bytes are UTF-8; each step yields ""."""
    decoder = getincrementaldecoder("utf-8")()
    try:
        for part in _parts(value):
            decoder.decode(part)
            yield ""
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _long_text(parts: Iterable[str]) -> Iterator[str]:
    yield '"'
    for part in parts:
        yield _text(part)[1:-1]
    yield '"'


def _parts(value: AnyStr) -> Iterator[AnyStr]:
    return (value[at : at + PART] for at in range(0, len(value), PART))


def _has_long_parts(value: Any) -> bool:
    """Whether a value is or has a text or bytes that are written in parts, or a tuple that is written in steps."""
    if isinstance(value, str | bytes):
        return len(value) > PART
    if not isinstance(value, tuple) or hasattr(value, "as_json"):
        return False
    return len(value) > LONG or any(map(_has_long_parts, value))


def _fields_of(value: Any) -> Iterator[tuple[str, Any]]:
    """The fields of a named tuple or dataclass that does not say itself what it is as JSON; none of others."""
    if hasattr(value, "as_json") or is_handle(type(value)):
        return
    if isinstance(value, tuple):
        names: Iterable[str] = getattr(value, "_fields", ())
    else:
        names = [each.name for each in fields(value)] if is_dataclass(value) else ()
    for name in names:
        yield name, getattr(value, name)


def _has_many(value: Any) -> bool:
    if isinstance(value, Iterator):
        return True
    if isinstance(value, list) and value and isinstance(value[0], Exchange | Recorded):
        return True  # each may be long
    return isinstance(value, list | tuple | Mapping) and not hasattr(value, "_fields") and len(value) > LONG


def _text(value: Any) -> str:
    """As Starlette's JSONResponse writes it."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _paced(texts: Iterator[str]) -> AsyncIterator[bytes]:
    """Texts together, with a turn for the others after each step."""
    return each_in_turn(_pieces(texts, pace_of(TEXTS_PER_STEP)))


def _pieces(texts: Iterator[str], pace: Pace) -> Iterator[bytes | None]:
    """Texts in pieces to send; None where a step is over before there is one."""
    gathered: list[str] = []
    size = 0
    for text in texts:
        gathered.append(text)
        size += len(text)
        if size >= PIECE_CHARS:
            yield "".join(gathered).encode()
            gathered.clear()
            size = 0
        if pace.is_over():
            yield None
    yield "".join(gathered).encode()

"""Long answers as JSON: in steps, between which the broker serves its clients, and only as fast as they are read."""

import json
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from typing import Any, Final

from fakebroker.broker.engine.journal import Exchange, Recorded
from fakebroker.cli.http.answers import raw_table, to_json
from fakebroker.cli.http.event_stream import Stream
from fakebroker.cli.http.turns import each_in_turn, pace_of
from fakebroker.protocol.errors import FakebrokerError
from fakebroker.protocol.pace import AT_ONCE, Pace
from fakebroker.testing.reflection.members import is_handle

LONG: Final = 50  # entries: what has more is written in steps
TEXTS_PER_STEP: Final = 16
PIECE_CHARS: Final = 64 * 1024  # sent at a time


class JsonStream(Stream):
    """An answer that is written in steps."""

    media_type = "application/json"

    def __init__(self, value: Any, separate: frozenset[str], status_code: int = 200) -> None:
        """`value` is of many entries (`is_long`); it is written as `to_json` has it."""
        super().__init__(_paced(texts_of(value, separate)), status_code)


def is_long(value: Any) -> bool:
    """Whether a value has so many entries that it is written in steps, at its top or one level below."""
    if _has_many(value):
        return True
    parts = value.values() if isinstance(value, Mapping) else (each for _, each in _fields_of(value))
    return any(_has_many(each) for each in parts)


def texts_of(value: Any, separate: frozenset[str]) -> Iterator[str]:
    """The JSON of a value, in pieces of about one entry each."""
    if not is_long(value):
        yield _text(to_json(value, separate))
    elif isinstance(value, Mapping):
        yield from _object(raw_table(value).items(), separate)
    elif _has_many(value):
        yield from _joined(_entries(value, separate), "[]")
    else:
        yield from _object(_fields_of(value), separate)


def array_of(entries: Iterable[Any]) -> Iterator[bytes]:
    """A JSON array in pieces of at least PIECE_CHARS, for a thread that makes them. Each entry is written by itself: a
    thread holds up the others while it writes JSON.
    """
    for piece in _pieces(_joined(_entries(entries, frozenset()), "[]"), AT_ONCE):
        if piece is not None:
            yield piece


def _entries(value: Iterable[Any], separate: frozenset[str]) -> Iterator[str]:
    """The entries of a list. One that has ceased to exist since the list was made is left out."""
    for each in value:
        if is_handle(type(each)):
            with suppress(FakebrokerError):
                yield _text(to_json(each, separate))
        else:
            yield _text(to_json(each, separate))


def _object(items: Iterable[tuple[str, Any]], separate: frozenset[str]) -> Iterator[str]:
    yield "{"
    comma = ""
    for name, value in items:
        yield f"{comma}{_text(name)}:"
        yield from texts_of(value, separate)
        comma = ","
    yield "}"


def _joined(texts: Iterable[str], ends: str) -> Iterator[str]:
    yield ends[0]
    comma = ""
    for text in texts:
        yield comma + text
        comma = ","
    yield ends[1]


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

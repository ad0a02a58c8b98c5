"""Frames like one that was read or written before: the same bytes but for the fields declared as varying.

Clients say the same thing again and again with a few numbers changed. A `Layout` is made of one request; whether
another is like it takes no decoding: two precompiled structs read the frame, one everything that must be the same and
one the values that may differ.

    frame             key, version | correlation id | client id, ... | offset | metadata, ... | offset | ...
    struct of same         4s      |       4x       |      40s       |   8x   |      5s       |   8x   |
    struct of values       4x      |       4x       |      40x       |    q   |      5x       |    q   |

Where the last varying field is bytes (the records of a Produce) the next frame's may be of another length. Then the
structs end where the length of these bytes begins, and what is behind the bytes is compared by itself.

An `AnswerTemplate` is the other direction: an answer that was encoded once, and is made again with other values.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from struct import Struct, calcsize
from typing import Any

from fakebroker.protocol.errors import WireError
from fakebroker.protocol.schema.runtime import LENGTHS, long_length, read_unsigned_varint
from fakebroker.protocol.schema.types import COMPACT_LENGTH, FieldSpan

_Unpack = Callable[[bytes], tuple[Any, ...]]
_CORRELATION_ID = FieldSpan(4, "i")
_FIXED_LENGTH_BYTES = 4
_OWN_BYTES, _SPAN_BYTES = 600, 150  # about what a layout takes on 64 bits, beside the bytes of the frame
_SHORT_LENGTHS = len(LENGTHS) - 1


class Layout:
    """What all requests like one have in common, and where they may differ."""

    __slots__ = ("_pick", "_same", "_same_of", "_size_bytes", "memory_bytes")

    def __init__(self, frame: bytes, spans: Sequence[FieldSpan]) -> None:
        """`frame` was decoded without an error; `spans` are those of its varying fields, in wire order."""
        self._size_bytes = len(frame)
        self._compile([_CORRELATION_ID, *spans], frame, len(frame))

    def values(self, frame: bytes) -> tuple[Any, ...] | None:
        """The varying values of a frame, in wire order and without its correlation id; None if it is not alike."""
        if len(frame) != self._size_bytes or self._same_of(frame) != self._same:
            return None
        return self._pick(frame)

    def _compile(self, spans: Sequence[FieldSpan], frame: bytes, end: int) -> None:
        """Make the structs for a frame up to `end`: `_same_of` gives what is between the spans, `_pick` what is in
        them but for the first, the correlation id.
        """
        same, values, position = [], [], 0
        for span in spans:
            size, gap = calcsize(">" + span.char), span.position - position
            same.append(f"{gap}s{size}x" if gap else f"{size}x")
            values.append(f"{gap}x{span.char}" if span is not _CORRELATION_ID else f"{gap + size}x")
            position = span.position + size
        same.append(f"{end - position}s")
        self._same_of: _Unpack = Struct(">" + "".join(same)).unpack_from
        self._pick: _Unpack = Struct(">" + "".join(values)).unpack_from
        self._same = self._same_of(frame)
        self.memory_bytes = _OWN_BYTES + len(spans) * _SPAN_BYTES + end


class ChangingLayout(Layout):
    """A layout whose last varying field is bytes that may be of any length."""

    __slots__ = ("_head_bytes", "_is_compact", "_least_bytes", "_tail")

    def __init__(self, frame: bytes, spans: Sequence[FieldSpan]) -> None:
        """As of `Layout`; the last span is that of bytes. Raises WireError if their length is written oddly."""
        *others, last = spans
        size = calcsize(last.char)
        self._is_compact = last.length == COMPACT_LENGTH
        self._head_bytes = last.position - (len(_compact_length(size)) if self._is_compact else _FIXED_LENGTH_BYTES)
        if self._is_compact and read_unsigned_varint(frame, self._head_bytes) != (size + 1, last.position):
            raise WireError("a compact length is encoded in more bytes than necessary")
        self._tail = frame[last.position + size :]
        if not self._is_compact:  # the length is one of the values
            others.append(FieldSpan(self._head_bytes, "i"))
            self._head_bytes = last.position
        self._least_bytes = self._head_bytes + self._is_compact + len(self._tail)
        self._compile([_CORRELATION_ID, *others], frame, self._head_bytes)

    def values(self, frame: bytes) -> tuple[Any, ...] | None:
        if len(frame) < self._least_bytes or self._same_of(frame) != self._same or not frame.endswith(self._tail):
            return None
        values = self._pick(frame)
        start = self._head_bytes
        if self._is_compact:
            try:
                size, start = read_unsigned_varint(frame, start)
            except (WireError, IndexError):
                return None
            size -= 1  # null becomes -1, which is like no bytes
        else:
            size = values[-1]
            values = values[:-1]
        if size < 0 or start + size + len(self._tail) != len(frame):
            return None
        return *values, frame[start : start + size]


def layout_of(frame: bytes, spans: Sequence[FieldSpan]) -> Layout:
    """The layout of a frame that was decoded. Raises WireError if it can have none."""
    return ChangingLayout(frame, spans) if spans and spans[-1].length else Layout(frame, spans)


class AnswerTemplate:
    """An answer that was made once, to be made again with other values in its varying fields."""

    __slots__ = ("_constant_rest", "_rest", "_segments")

    def __init__(self, body: bytes, spans: Sequence[FieldSpan]) -> None:
        """`body` was encoded; `spans` are those of its varying fields, in wire order."""
        # Each segment ends where bytes begin that are a piece of their own; what is behind the last is `_rest`.
        self._segments: list[_Filling] = []
        numbers: list[FieldSpan] = []
        position = 0
        for span in spans:
            if not span.length:
                numbers.append(span)
                continue
            size, end = calcsize(span.char), span.position
            if span.length == COMPACT_LENGTH:
                end -= len(_compact_length(size))
            else:
                numbers.append(FieldSpan(end - _FIXED_LENGTH_BYTES, "i"))
            self._segments.append(_Filling(body, position, end, numbers, span.length == COMPACT_LENGTH))
            numbers, position = [], span.position + size
        self._rest = _Filling(body, position, len(body), numbers)
        self._constant_rest = b"" if numbers else body[position:]

    def fill(self, *values: Any) -> bytes | list[bytes]:
        """The answer with these values, one for each span in wire order: in pieces if there are bytes among them."""
        if not self._segments:
            return self._rest.fill(values)
        pieces: list[bytes] = []
        at = 0
        for segment in self._segments:
            if segment.is_compact:
                end = at + segment.count
                data = values[end]
                pieces.append(segment.fill(values[at:end]) + _compact_length(len(data)))
            else:  # the length is the segment's last number, in the span of the bytes
                end = at + segment.count - 1
                data = values[end]
                pieces.append(segment.fill((*values[at:end], len(data))))
            pieces.append(data)
            at = end + 1
        if self._constant_rest:
            pieces.append(self._constant_rest)
        elif self._rest.size_bytes:
            pieces.append(self._rest.fill(values[at:]))
        return pieces


class _Filling:
    """A part of an answer in which only numbers vary. `is_compact`: a varint, the length of bytes, comes behind it."""

    __slots__ = ("_pack", "_parts", "count", "is_compact", "size_bytes")

    def __init__(self, body: bytes, start: int, end: int, spans: Sequence[FieldSpan], is_compact: bool = False) -> None:
        chars: list[str] = []
        self._parts: list[Any] = []  # what is between the numbers, and room for them
        position = start
        for span in spans:
            chars.append(f"{span.position - position}s{span.char}")
            self._parts += (body[position : span.position], 0)
            position = span.position + calcsize(">" + span.char)
        self._parts.append(body[position:end])
        self._pack: Callable[..., bytes] = Struct(f">{''.join(chars)}{end - position}s").pack
        self.count, self.size_bytes, self.is_compact = len(spans), end - start, is_compact

    def fill(self, values: Sequence[Any]) -> bytes:
        """The part with these numbers. ValueError unless there are `count`."""
        parts = self._parts
        parts[1::2] = values
        return self._pack(*parts)


@lru_cache(maxsize=256)  # long ones are worth remembering: clients use few sizes again and again
def _compact_length(size: int) -> bytes:
    return LENGTHS[size] if size < _SHORT_LENGTHS else long_length(size)

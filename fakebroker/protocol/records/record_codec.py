"""Single records inside a batch of format 2: bytes to `Record` and back (KIP-98, RB-4).

batch_format.py draws a record.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple, overload

from fakebroker.protocol.records.batch_format import ATTRIBUTES_BYTES
from fakebroker.protocol.records.faults import InvalidRecord
from fakebroker.protocol.records.varint import LONG_BYTES, as_long, decode_zigzag_varint, encode_zigzag_varint

_PLAIN_BYTES = 3  # of a record without headers, at the batch's time: attributes, timestamp delta, count of headers

Header = tuple[bytes, bytes | None]
"""A header's name and value. The name should be UTF-8; brokers do not check that, so it stays bytes."""


class EncodedHeaders(Sequence[Header]):
    """The headers of a record as they stand in its batch, decoded when they are read.

    A record of two bytes for each of its headers may have a hundred thousand of them. What copies, drops or judges
    records takes no time for them.
    """

    __slots__ = ("encoded",)

    def __init__(self, encoded: bytes) -> None:
        self.encoded = encoded  # the number of headers, and the headers, to the end of the record

    def __len__(self) -> int:
        return decode_zigzag_varint(self.encoded, 0)[0]

    @overload
    def __getitem__(self, index: int) -> Header: ...
    @overload
    def __getitem__(self, index: slice) -> list[Header]: ...
    def __getitem__(self, index: int | slice) -> Header | list[Header]:
        return _take_headers(self.encoded, 0, len(self.encoded))[0][index]

    def __iter__(self) -> Iterator[Header]:
        return iter(self[:])


class Record(NamedTuple):
    """One record as a consumer sees it: absolute offset, timestamp in milliseconds (-1: none), key, value, headers."""

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[Header] = ()


def encode_record(record: Record, base_offset: int, base_timestamp_ms: int) -> bytes:
    """The bytes of `record` in a batch with this base offset and base timestamp."""
    timestamp_delta, offset_delta = record.timestamp_ms - base_timestamp_ms, record.offset - base_offset
    parts = [b"\0", encode_zigzag_varint(timestamp_delta), encode_zigzag_varint(offset_delta)]
    _put_blob(parts, record.key)
    _put_blob(parts, record.value)
    _put_headers(parts, record.headers)
    body = b"".join(parts)
    return encode_zigzag_varint(len(body)) + body


def encode_plain_records(pairs: Iterable[tuple[bytes | None, bytes | None]]) -> bytes:
    """(key, value) pairs of one time, without headers, as they stand in a batch."""
    parts: list[bytes] = []
    known: dict[tuple[int, int, int], tuple[bytes, bytes, bytes]] = {}  # most records of a batch have a size in common
    for offset_delta, (key, value) in enumerate(pairs):
        delta = _delta(offset_delta)
        lengths = len(delta), -1 if key is None else len(key), -1 if value is None else len(value)
        sizes = known.get(lengths)
        if sizes is None:
            sizes = known[lengths] = _encoded_sizes(*lengths)
        start, key_size, value_size = sizes
        parts += (start, delta, key_size, key or b"", value_size, value or b"", b"\0")
    return b"".join(parts)


_delta = lru_cache(maxsize=4096)(encode_zigzag_varint)


def _encoded_sizes(delta_bytes: int, key_length: int, value_length: int) -> tuple[bytes, bytes, bytes]:
    """What precedes the offset delta, the key and the value of a plain record; a length of -1 is that of null."""
    key_size, value_size = encode_zigzag_varint(key_length), encode_zigzag_varint(value_length)
    size = _PLAIN_BYTES + delta_bytes + len(key_size) + max(key_length, 0) + len(value_size) + max(value_length, 0)
    return encode_zigzag_varint(size) + b"\0\0", key_size, value_size


MAX_HEADERS = 100_000
"""MOCK: of one record. Kafka reads any number; here a few KiB that unpack to millions of them would hold up others."""


def _take_headers(payload: bytes, position: int, end: int) -> tuple[list[Header], int]:
    count, position = decode_zigzag_varint(payload, position)
    if not 0 <= count <= max(end - position, 0):
        raise InvalidRecord(f"{count} headers do not fit into {end - position} bytes")
    if count > MAX_HEADERS:
        raise InvalidRecord(f"{count} headers are more than {MAX_HEADERS}")
    headers: list[Header] = []
    for _ in range(count):
        name, position = _take_blob(payload, position, end)
        value, position = _take_blob(payload, position, end)
        if name is None:
            raise InvalidRecord("the name of a header is null")
        headers.append((name, value))
    return headers, position


def _take_encoded_headers(payload: bytes, position: int, end: int) -> tuple[Sequence[Header], int]:
    """The headers of a record that a scan has found to be right, which end where the record ends."""
    return EncodedHeaders(payload[position:end]), end


_TakeHeaders = Callable[[bytes, int, int], tuple[Sequence[Header], int]]


def _take_blob(payload: bytes, position: int, end: int) -> tuple[bytes | None, int]:
    size, position = decode_zigzag_varint(payload, position)
    if size < 0:
        return None, position
    if position + size > end:
        raise InvalidRecord(
            f"a field of {size} bytes at byte {position} goes beyond the end of the record at byte {end}"
        )
    return payload[position : position + size], position + size


def decode_records(
    payload: bytes,
    count: int,
    base_offset: int,
    base_timestamp_ms: int,
    append_time_ms: int | None = None,
    *,
    is_checked: bool = False,
) -> Iterator[Record]:
    """The `count` records of an uncompressed payload; `append_time_ms` replaces the time of each (RB-6).

    With `is_checked` the headers of records stay encoded: a scan has found them right. Raises InvalidRecord at the
    first record that does not parse, and at the end if bytes are left over. Any negative length means null, as Kafka
    reads it; the name of a header must not be null.
    """
    position = 0
    take_headers = _take_encoded_headers if is_checked else _take_headers
    for index in range(count):
        position, timestamp_delta, offset_delta, key, value, headers = decode_record(
            payload, position, index, take_headers
        )
        timestamp_ms = as_long(base_timestamp_ms + timestamp_delta) if append_time_ms is None else append_time_ms
        yield Record(base_offset + offset_delta, timestamp_ms, key, value, headers)
    if position != len(payload):
        raise InvalidRecord(f"{len(payload) - position} bytes follow the last of {count} records")


def decode_record(
    payload: bytes, position: int, index: int, take_headers: _TakeHeaders = _take_headers
) -> tuple[int, int, int, bytes | None, bytes | None, Sequence[Header]]:
    """Decode the record at `position` of an uncompressed payload, every field of it checked.

    Returns (position after it, timestamp delta, offset delta, key, value, headers). Raises InvalidRecord; `index` is
    the record's number in its batch, for the message.
    """
    try:
        size, start = decode_zigzag_varint(payload, position)
        end = start + size
        if size < 0 or end > len(payload):
            raise InvalidRecord(f"a record size of {size} at byte {start} of {len(payload)}")
        timestamp_delta, position = decode_zigzag_varint(payload, start + ATTRIBUTES_BYTES, LONG_BYTES)
        offset_delta, position = decode_zigzag_varint(payload, position)
        key, position = _take_blob(payload, position, end)
        value, position = _take_blob(payload, position, end)
        headers, position = take_headers(payload, position, end)
        if position != end:
            raise InvalidRecord(f"its fields end at byte {position}, but by its size it ends at byte {end}")
    except InvalidRecord as fault:
        raise InvalidRecord(f"record {index}: {fault.message}") from None
    return end, timestamp_delta, offset_delta, key, value, headers


def _put_headers(parts: list[bytes], headers: Sequence[Header]) -> None:
    if isinstance(headers, EncodedHeaders):
        parts.append(headers.encoded)
        return
    parts.append(encode_zigzag_varint(len(headers)))
    for name, value in headers:
        _put_blob(parts, name)
        _put_blob(parts, value)


def _put_blob(parts: list[bytes], blob: bytes | None) -> None:
    if blob is None:
        parts.append(b"\1")
    else:
        parts += (encode_zigzag_varint(len(blob)), blob)

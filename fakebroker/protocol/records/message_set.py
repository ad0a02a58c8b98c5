"""Message sets, formats 0 and 1 (MS): what Produce and Fetch carried before record batches.

A set is a sequence of messages; a compressed one is a wrapper message whose value is a set. The checksum is CRC-32.
"""

import struct
import zlib
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from fakebroker.protocol.records.batch import split_batches
from fakebroker.protocol.records.batch_format import CODEC_BITS, LOG_APPEND_TIME_BIT, MAGIC_POSITION, NO_TIMESTAMP
from fakebroker.protocol.records.compression import DECOMPRESSED_LIMIT_BYTES, LZ4, compress, decompress
from fakebroker.protocol.records.faults import CorruptBatch, InvalidRecord, TooLarge
from fakebroker.protocol.records.record_codec import Record

_CRC_START = MAGIC_POSITION
_ATTRIBUTES_POSITION = 17
_TIMESTAMP_POSITION = 18  # format 1
_timestamp = struct.Struct(">q").unpack_from
_FRONT = struct.Struct(">qiI")
_FIXED_BYTES = {0: 26, 1: 34}  # everything but key and value


class Message(NamedTuple):
    """One message as it stands in a set; a wrapper if its codec is not 0. `timestamp_ms` is -1 in format 0."""

    offset: int
    magic: int
    attributes: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None

    @property
    def codec(self) -> int:
        """Compression of the value (MS-2): 0 none, 1 gzip, 2 snappy, 3 lz4."""
        return self.attributes & CODEC_BITS

    @property
    def is_log_append_time(self) -> bool:
        """Whether the broker has set the timestamp."""
        return self.magic == 1 and bool(self.attributes & LOG_APPEND_TIME_BIT)


def read_message_set(data: bytes) -> Iterator[Message]:
    """The complete messages of a set, wrappers as they are; an incomplete last one is skipped (MS-2).

    Raises CorruptBatch for a wrong checksum or size, InvalidRecord for anything else that does not add up.
    """
    return map(_parse_message, split_batches(data))


MAX_MESSAGES = 40_000
"""MOCK: of one set that is converted. Kafka takes any number; here 400 KB that unpack to four millions, or a frame of
100 MB, would hold up others: a set is converted in one step.
"""


def bounded_message_set(data: bytes) -> list[Message]:
    """The messages of a set of at most `MAX_MESSAGES`. Raises TooLarge, and as `read_message_set` does."""
    messages = list(islice(read_message_set(data), MAX_MESSAGES + 1))
    if len(messages) > MAX_MESSAGES:
        raise TooLarge(f"a message set has more than {MAX_MESSAGES} messages")
    return messages


def unwrap(message: Message, limit_bytes: int = DECOMPRESSED_LIMIT_BYTES) -> list[Message]:
    """The messages inside a wrapper with their absolute offsets and times (MS-6, MS-8); else the message itself.

    Raises InvalidRecord for wrappers in wrappers (MS-7), another format inside, and a wrapper around nothing; TooLarge.
    """
    if not message.codec:
        return [message]
    if message.value is None:
        raise InvalidRecord(f"the compressed message at offset {message.offset} has no value")
    inner = bounded_message_set(decompress(message.codec, message.value, limit_bytes))
    if not inner:
        raise InvalidRecord(f"the compressed message at offset {message.offset} is empty")
    for one in inner:
        if one.codec:
            raise InvalidRecord(
                f"the compressed message at offset {message.offset} contains another compressed message"
            )
        if one.magic != message.magic:
            raise InvalidRecord(f"a message of format {one.magic} is inside a message of format {message.magic}")
    if message.magic == 0:
        return inner
    last = inner[-1].offset
    shift = message.offset - last if message.offset else 0  # producers may leave 0 in the wrapper
    if shift < 0:
        raise InvalidRecord(f"the wrapper's offset {message.offset} is below the offset of its last message, {last}")
    time_ms = message.timestamp_ms if message.is_log_append_time else None
    return [
        one._replace(offset=one.offset + shift, timestamp_ms=one.timestamp_ms if time_ms is None else time_ms)
        for one in inner
    ]


def build_message_set(
    records: Sequence[Record], magic: int, *, codec: int = 0, log_append_time_ms: int | None = None
) -> bytes:
    """`records` in format 0 or 1; with a codec (1 to 3), one wrapper message around them (MS-6, MS-8).

    Headers have no place in these formats and are left out, as are timestamps in format 0 (MS-3).
    """
    attributes = 0 if log_append_time_ms is None or magic == 0 else LOG_APPEND_TIME_BIT
    if not codec or not records:
        return b"".join(
            [_plain_message(record, record.offset, magic, attributes, log_append_time_ms) for record in records]
        )
    first = records[0].offset if magic else 0  # inner offsets are relative in format 1 only
    inner = b"".join(
        [_plain_message(record, record.offset - first, magic, attributes, log_append_time_ms) for record in records]
    )
    packed = _compress_inner(codec, inner, magic)
    newest_ms = max(record.timestamp_ms for record in records) if log_append_time_ms is None else log_append_time_ms
    return _write_message(Message(records[-1].offset, magic, attributes | codec, newest_ms, None, packed))


def _plain_message(record: Record, offset: int, magic: int, attributes: int, log_append_time_ms: int | None) -> bytes:
    timestamp_ms = record.timestamp_ms if log_append_time_ms is None else log_append_time_ms
    return _write_message(Message(offset, magic, attributes, timestamp_ms, record.key, record.value))


def _write_message(message: Message) -> bytes:
    body = bytes([message.magic, message.attributes])
    if message.magic:
        body += message.timestamp_ms.to_bytes(8, "big", signed=True)
    body += _blob(message.key) + _blob(message.value)
    return _FRONT.pack(message.offset, 4 + len(body), zlib.crc32(body)) + body


def _parse_message(data: bytes) -> Message:
    offset, _, crc = _FRONT.unpack_from(data)
    magic = data[MAGIC_POSITION]
    attributes = data[_ATTRIBUTES_POSITION] if len(data) > _ATTRIBUTES_POSITION else 0
    if magic not in _FIXED_BYTES:
        raise CorruptBatch(f"unknown magic {magic} at offset {offset} of a message set")
    if len(data) < _FIXED_BYTES[magic]:
        raise CorruptBatch(
            f"the message of {len(data)} bytes at offset {offset} is too short: format {magic} needs "
            f"{_FIXED_BYTES[magic]}"
        )
    if crc != zlib.crc32(data[_CRC_START:]):
        raise CorruptBatch(f"the checksum of the message at offset {offset} is wrong")
    timestamp_ms = (
        int.from_bytes(data[_TIMESTAMP_POSITION : _TIMESTAMP_POSITION + 8], "big", signed=True)
        if magic
        else NO_TIMESTAMP
    )
    key, position = _take_blob(data, _FIXED_BYTES[magic] - 8, offset)
    value, position = _take_blob(data, position, offset)
    if position != len(data):
        raise InvalidRecord(f"the message at offset {offset} has {len(data) - position} bytes after its value")
    return Message(offset, magic, attributes, timestamp_ms, key, value)


def _take_blob(data: bytes, position: int, offset: int) -> tuple[bytes | None, int]:
    size = int.from_bytes(data[position : position + 4], "big", signed=True)
    start = position + 4
    if size < 0 and start <= len(data):
        return None, start
    if start + size > len(data):
        raise InvalidRecord(f"the message at offset {offset} ends inside a field of {size} bytes")
    return data[start : start + size], start + size


def _blob(data: bytes | None) -> bytes:
    return b"\xff\xff\xff\xff" if data is None else len(data).to_bytes(4, "big") + data


def _compress_inner(codec: int, inner: bytes, magic: int) -> bytes:
    if codec == LZ4 and magic == 0:
        from fakebroker.protocol.records import lz4

        return lz4.pack(inner, broken_checksum=True)
    return compress(codec, inner)

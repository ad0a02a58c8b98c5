"""The file of a snapshot: bytes that are safe to read, whoever wrote them.

"fakebroker snapshot\\n"    20 bytes
format version             4 bytes, unsigned, big-endian, as the next ones
length of the head         8 bytes
length of the data         8 bytes
head                       the state as JSON (state_codec.py), UTF-8
data                       stored batches and numbers, to which the head refers by position
CRC-32 of all before it    4 bytes
"""

import json
from collections.abc import Iterable, Iterator
from itertools import chain
from struct import Struct
from typing import Any, Final
from zlib import crc32

from fakebroker.protocol.errors import InvalidArgument
from fakebroker.protocol.json_text import parse_json
from fakebroker.testing.snapshot.hidden_secrets import with_hidden_secrets, with_shown_secrets
from fakebroker.testing.snapshot.state import BrokerState
from fakebroker.testing.snapshot.state_codec import Reader, Writer, WrongValue

Json = Any
MAGIC: Final = b"fakebroker snapshot\n"
FORMAT_VERSION: Final = 1
_VERSION = Struct(">I")
_LENGTHS = Struct(">QQ")
_CRC = Struct(">I")
_HEAD_POSITION = len(MAGIC) + _VERSION.size + _LENGTHS.size


def encode(state: BrokerState) -> bytes:
    """The content of a file."""
    data = bytearray()
    head = Writer(data).encode(with_hidden_secrets(state), BrokerState)
    return b"".join(file_pieces(head, len(data), [data]))


def file_pieces(head: Json, data_bytes: int, data: Iterable[bytes | bytearray]) -> Iterator[bytes | bytearray]:
    """The content of a file in pieces: `head` is the state as JSON, `data` the run of bytes in pieces."""
    text = json.dumps(head, separators=(",", ":")).encode()
    before = MAGIC + _VERSION.pack(FORMAT_VERSION) + _LENGTHS.pack(len(text), data_bytes) + text
    crc = 0
    for part in chain((before,), data):
        crc = crc32(part, crc)
        yield part
    yield _CRC.pack(crc)


def decode(content: bytes, source: str) -> BrokerState:
    """The state in the content of a file. Raises InvalidArgument saying what is wrong; `source` names the file."""

    def wrong(what: str) -> InvalidArgument:
        return InvalidArgument("path", source, f"{source} {what}")

    if not content.startswith(MAGIC):
        if content and MAGIC.startswith(content[: len(MAGIC)]):
            raise wrong(f"is cut off: it has only {len(content)} bytes")
        raise wrong("is not a snapshot of fakebroker" if content else "is empty")
    if len(content) < _HEAD_POSITION:
        raise wrong(f"is cut off: it has only {len(content)} bytes")
    (version,) = _VERSION.unpack_from(content, len(MAGIC))
    if version > FORMAT_VERSION:
        raise wrong(
            f"has format {version}; this fakebroker reads formats up to {FORMAT_VERSION}: a newer one wrote the file"
        )
    if version < 1:
        raise wrong(f"has the unknown format {version}")
    head_bytes, data_bytes = _LENGTHS.unpack_from(content, len(MAGIC) + _VERSION.size)
    end = _HEAD_POSITION + head_bytes + data_bytes
    if len(content) != end + _CRC.size:
        length = "is cut off" if len(content) < end + _CRC.size else "has data after its end"
        raise wrong(f"{length}: it has {len(content)} bytes instead of {end + _CRC.size}")
    view = memoryview(content)
    if crc32(view[:end]) != _CRC.unpack_from(content, end)[0]:
        raise wrong("is damaged: its checksum is wrong")
    try:
        head = parse_json(content[_HEAD_POSITION : _HEAD_POSITION + head_bytes])
        state: BrokerState = Reader(view[end - data_bytes : end]).decode(head, BrokerState, "the state")
        return with_shown_secrets(state)
    except (WrongValue, ValueError, RecursionError) as error:
        raise wrong(f"is damaged: {error}") from None

"""The .snapshot files of a partition: its producers as of an offset. Kafka: `ProducerStateManager.writeSnapshot`.

version 1, 2 bytes; CRC-32C of all after it, 4; number of producers, 4; then for each: producer id, 8 bytes; epoch, 2;
last sequence, 4; last offset, 8; offset delta of its last batch, 4; timestamp, 8; coordinator epoch, 4; first offset of
its open transaction, 8, -1 for none. All numbers are big-endian.
"""

from collections.abc import Iterable
from struct import Struct
from typing import Final, NamedTuple

from fakebroker.protocol.errors import WireError
from fakebroker.protocol.records.batch import crc32c

_HEAD: Final = Struct(">hI")
_COUNT: Final = Struct(">i")
_ENTRY: Final = Struct(">qhiqiqiq")
_VERSION: Final = 1


class ProducerSnapshotEntry(NamedTuple):
    """A producer; sequence and offset are -1 if it has written no batch in its epoch."""

    producer_id: int
    epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp_ms: int
    coordinator_epoch: int
    transaction_first_offset: int


def encode_producer_snapshot(entries: Iterable[ProducerSnapshotEntry]) -> bytes:
    """The content of a .snapshot file."""
    packed = [_ENTRY.pack(*entry) for entry in entries]
    body = _COUNT.pack(len(packed)) + b"".join(packed)
    return _HEAD.pack(_VERSION, crc32c(body)) + body


def decode_producer_snapshot(content: bytes) -> list[ProducerSnapshotEntry]:
    """The producers in a .snapshot file. Raises WireError for a file that is cut off, damaged or of a newer version."""
    if len(content) < _HEAD.size + _COUNT.size:
        raise WireError(f"a producer snapshot of {len(content)} bytes is cut off")
    version, crc = _HEAD.unpack_from(content)
    if version != _VERSION:
        raise WireError(f"a producer snapshot has version {version}; only version {_VERSION} is read")
    body = content[_HEAD.size :]
    if crc32c(body) != crc:
        raise WireError("a producer snapshot is damaged: its checksum is wrong")
    (count,) = _COUNT.unpack_from(body)
    if len(body) != _COUNT.size + count * _ENTRY.size:
        raise WireError(f"a producer snapshot of {count} producers has {len(content)} bytes")
    return [ProducerSnapshotEntry(*fields) for fields in _ENTRY.iter_unpack(body[_COUNT.size :])]

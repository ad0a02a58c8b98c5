"""The index files of a segment. All numbers are big-endian. Kafka: `OffsetIndex`, `TimeIndex`, `TransactionIndex`.

    .index      relative offset, 4 bytes; position in the .log file, 4
    .timeindex  timestamp in milliseconds, 8 bytes; relative offset, 4
    .txnindex   version 0, 2 bytes; producer id, 8; first offset, 8; last offset (of the marker), 8;
                last stable offset after the marker, 8

Offsets of the first two are relative to the base offset of the segment.
"""

from collections.abc import Iterable
from struct import Struct
from typing import Final, NamedTuple

from fakebroker.protocol.errors import WireError

_OFFSET_ENTRY: Final = Struct(">ii")
_TIME_ENTRY: Final = Struct(">qi")
_TRANSACTION_ENTRY: Final = Struct(">hqqqq")
_TRANSACTION_VERSION: Final = 0


class OffsetIndexEntry(NamedTuple):
    """A batch whose last offset is `offset` begins at the byte `position`."""

    offset: int
    position: int


class TimeIndexEntry(NamedTuple):
    """`timestamp_ms` is the largest timestamp up to and including the batch that ends with `offset`."""

    timestamp_ms: int
    offset: int


class TransactionIndexEntry(NamedTuple):
    """An aborted transaction whose marker is in the segment, at `last_offset`."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


def encode_offset_index(entries: Iterable[OffsetIndexEntry], base_offset: int) -> bytes:
    """The content of an .index file."""
    return b"".join([_OFFSET_ENTRY.pack(entry.offset - base_offset, entry.position) for entry in entries])


def decode_offset_index(content: bytes, base_offset: int) -> list[OffsetIndexEntry]:
    """The entries of an .index file; zeros after the last one are room that Kafka has reserved.

    Raises WireError for entries that are cut off or not in order.
    """
    _check_size(content, _OFFSET_ENTRY, "an offset index")
    entries: list[OffsetIndexEntry] = []
    for relative, position in _OFFSET_ENTRY.iter_unpack(content):
        if not (relative or position) and entries:
            break
        entry = OffsetIndexEntry(base_offset + relative, position)
        if entries and (entry.offset <= entries[-1].offset or entry.position <= entries[-1].position):
            raise WireError(f"the entries of an offset index are not in order: {entries[-1]} before {entry}")
        entries.append(entry)
    return [] if entries == [(base_offset, 0)] else entries


def encode_time_index(entries: Iterable[TimeIndexEntry], base_offset: int) -> bytes:
    """The content of a .timeindex file."""
    return b"".join([_TIME_ENTRY.pack(entry.timestamp_ms, entry.offset - base_offset) for entry in entries])


def decode_time_index(content: bytes, base_offset: int) -> list[TimeIndexEntry]:
    """The entries of a .timeindex file; zeros after the last one are room that Kafka has reserved.

    Raises WireError for entries that are cut off or not in order.
    """
    _check_size(content, _TIME_ENTRY, "a time index")
    entries: list[TimeIndexEntry] = []
    for timestamp_ms, relative in _TIME_ENTRY.iter_unpack(content):
        if not (timestamp_ms or relative) and entries:
            break
        entry = TimeIndexEntry(timestamp_ms, base_offset + relative)
        if entries and (entry.timestamp_ms < entries[-1].timestamp_ms or entry.offset < entries[-1].offset):
            raise WireError(f"the entries of a time index are not in order: {entries[-1]} before {entry}")
        entries.append(entry)
    return [] if entries == [(0, base_offset)] else entries


def encode_transaction_index(entries: Iterable[TransactionIndexEntry]) -> bytes:
    """The content of a .txnindex file."""
    return b"".join([_TRANSACTION_ENTRY.pack(_TRANSACTION_VERSION, *entry) for entry in entries])


def decode_transaction_index(content: bytes) -> list[TransactionIndexEntry]:
    """The entries of a .txnindex file. Raises WireError for entries that are cut off or of a newer version."""
    _check_size(content, _TRANSACTION_ENTRY, "a transaction index")
    entries: list[TransactionIndexEntry] = []
    for version, *fields in _TRANSACTION_ENTRY.iter_unpack(content):
        if version != _TRANSACTION_VERSION:
            raise WireError(f"an entry of a transaction index has version {version}; only version 0 is read")
        entries.append(TransactionIndexEntry(*fields))
    return entries


def _check_size(content: bytes, entry: Struct, what: str) -> None:
    if len(content) % entry.size:
        raise WireError(f"{what} of {len(content)} bytes is cut off: its entries have {entry.size} bytes")

"""The index files of a segment. All numbers are big-endian. Kafka: `OffsetIndex`, `TimeIndex`, `TransactionIndex`.

    .index      relative offset, 4 bytes; position in the .log file, 4
    .timeindex  timestamp in milliseconds, 8 bytes; relative offset, 4
    .txnindex   version 0, 2 bytes; producer id, 8; first offset, 8; last offset (of the marker), 8;
                last stable offset after the marker, 8

Offsets of the first two are relative to the base offset of the segment.
"""

from collections.abc import Callable, Iterable
from struct import Struct
from typing import Final, NamedTuple, TypeVar

from fakebroker.protocol.errors import WireError

E = TypeVar("E")

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
    return _entries(
        content,
        _OFFSET_ENTRY,
        "an offset index",
        lambda relative, position: OffsetIndexEntry(base_offset + relative, position),
        lambda before, entry: before.offset < entry.offset and before.position < entry.position,
    )


def encode_time_index(entries: Iterable[TimeIndexEntry], base_offset: int) -> bytes:
    """The content of a .timeindex file."""
    return b"".join([_TIME_ENTRY.pack(entry.timestamp_ms, entry.offset - base_offset) for entry in entries])


def decode_time_index(content: bytes, base_offset: int) -> list[TimeIndexEntry]:
    """The entries of a .timeindex file; zeros after the last one are room that Kafka has reserved.

    Raises WireError for entries that are cut off or not in order.
    """
    return _entries(
        content,
        _TIME_ENTRY,
        "a time index",
        lambda timestamp_ms, relative: TimeIndexEntry(timestamp_ms, base_offset + relative),
        lambda before, entry: before.timestamp_ms <= entry.timestamp_ms and before.offset <= entry.offset,
    )


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


def _entries(
    content: bytes, layout: Struct, what: str, make: Callable[[int, int], E], is_in_order: Callable[[E, E], bool]
) -> list[E]:
    """The entries up to the zeros behind them; `make` makes one of its two fields."""
    _check_size(content, layout, what)
    entries: list[E] = []
    for fields in layout.iter_unpack(content):
        if not any(fields) and entries:
            break
        entry = make(*fields)
        if entries and not is_in_order(entries[-1], entry):
            raise WireError(f"the entries of {what} are not in order: {entries[-1]} before {entry}")
        entries.append(entry)
    return [] if entries == [make(0, 0)] else entries


def _check_size(content: bytes, entry: Struct, what: str) -> None:
    if len(content) % entry.size:
        raise WireError(f"{what} of {len(content)} bytes is cut off: its entries have {entry.size} bytes")

"""Record batches of format 2 (KIP-98; RB, RC): the header, checks, patching in place, building and reading.

Batches are kept as the bytes that came in. Where their fields are is in batch_format.py. The checksum does not cover
base offset and leader epoch, so the broker can rewrite these without computing it anew (RB-2).
"""

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import google_crc32c

from fakebroker.protocol.records.batch_format import (
    CODEC_BITS,
    CONTROL_BIT,
    CRC_POSITION,
    CRC_START,
    DELETE_HORIZON_BIT,
    HEADER_BYTES,
    LAST_OFFSET_DELTA_POSITION,
    LENGTH_END,
    LENGTH_POSITION,
    LOG_APPEND_TIME_BIT,
    MAGIC_POSITION,
    MAX_TIMESTAMP_POSITION,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    PRODUCER_ID_POSITION,
    TRANSACTIONAL_BIT,
)
from fakebroker.protocol.records.compression import (
    DECOMPRESSED_LIMIT_BYTES,
    SHORT_BYTES,
    Unpacking,
    compress,
    decompress,
    decompress_in_steps,
)
from fakebroker.protocol.records.faults import CorruptBatch, InvalidRecord
from fakebroker.protocol.records.record_codec import Record, decode_records, encode_record

if TYPE_CHECKING:
    from mmap import mmap

_HEADER = struct.Struct(">qiibIhiqqqhii")
_PREFIX = struct.Struct(">qiibI")  # up to and with the checksum
_TAIL = struct.Struct(">hiqqqhii")  # what the checksum covers of the header
_OFFSET_LENGTH_EPOCH = struct.Struct(">q4si")
_LENGTH_MAGIC = struct.Struct(">i4xb")  # from the length on


class BatchHeader(NamedTuple):
    """The 61 bytes in front of the records (RB-1), in their order. See batch_format.py."""

    base_offset: int
    length: int  # bytes after this field
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp_ms: int
    max_timestamp_ms: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records_count: int

    @property
    def size_bytes(self) -> int:
        """The whole batch, with the 12 bytes that `length` leaves out."""
        return self.length + LENGTH_END

    @property
    def codec(self) -> int:
        """Compression of the records (RB-3): 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd; 5 to 7 do not exist."""
        return self.attributes & CODEC_BITS

    @property
    def is_log_append_time(self) -> bool:
        """Whether `max_timestamp_ms`, set by the broker, is the time of every record (RB-6)."""
        return bool(self.attributes & LOG_APPEND_TIME_BIT)

    @property
    def is_transactional(self) -> bool:
        """Whether the records belong to a transaction."""
        return bool(self.attributes & TRANSACTIONAL_BIT)

    @property
    def is_control(self) -> bool:
        """Whether this is a transaction marker rather than data (RC-3)."""
        return bool(self.attributes & CONTROL_BIT)

    @property
    def has_delete_horizon(self) -> bool:
        """Whether `base_timestamp_ms` is the time after which tombstones may go (RC-1, CO-5)."""
        return bool(self.attributes & DELETE_HORIZON_BIT)

    @property
    def last_offset(self) -> int:
        """The offset of the last record the batch had when it was written (RC-2)."""
        return self.base_offset + self.last_offset_delta

    @property
    def last_sequence(self) -> int:
        """The sequence of the last record, wrapped at 2147483647 (RB-7); -1 without a producer."""
        if self.base_sequence < 0:
            return -1
        return (self.base_sequence + self.last_offset_delta) & 0x7FFFFFFF


_FIRST_OF_TAIL = BatchHeader._fields.index("attributes")


def parse_header(data: "bytes | mmap", position: int = 0) -> BatchHeader:
    """The header of the batch of format 2 at `position`.

    Raises InvalidRecord when `data` does not hold the whole batch, its length is too small for a header, or its magic
    is not 2. Checks neither checksum nor records.
    """
    if len(data) - position < HEADER_BYTES:
        raise InvalidRecord(
            f"a batch header takes {HEADER_BYTES} bytes, but only {max(len(data) - position, 0)} are left"
        )
    fields = _HEADER.unpack_from(data, position)
    length, magic = fields[1], fields[3]
    if magic != 2:
        raise InvalidRecord(f"a batch has magic {magic}; only magic 2 is read here")
    if not HEADER_BYTES <= length + LENGTH_END <= len(data) - position:
        raise InvalidRecord(f"a batch says it has {length} + 12 bytes, but only {len(data) - position} are left")
    return tuple.__new__(BatchHeader, fields)  # as BatchHeader(*fields), in half the time


def peek(data: bytes, position: int = 0) -> tuple[int, int] | None:
    """(size in bytes, magic) of the batch or message at `position`, or None when it is not there as a whole.

    The first 17 bytes of all formats have these two at the same place (MS-1, RB-1). The size is at least 17.
    """
    if len(data) - position < MAGIC_POSITION + 1:
        return None
    length, magic = _LENGTH_MAGIC.unpack_from(data, position + LENGTH_POSITION)
    size_bytes = length + LENGTH_END
    if size_bytes <= MAGIC_POSITION or position + size_bytes > len(data):
        return None
    return size_bytes, magic


def split_batches(data: bytes) -> Iterator[bytes]:
    """The complete batches (or messages of old formats) of `data`; an incomplete last one is left out (MS-2)."""
    position = 0
    while (entry := peek(data, position)) is not None:
        yield data[position : position + entry[0]]
        position += entry[0]


def check_crc(batch: bytes, header: BatchHeader) -> None:
    """Raise CorruptBatch when the checksum of exactly one batch is not what its header says (RB-2)."""
    crc = crc32c(batch[CRC_START:])
    if crc != header.crc:
        raise CorruptBatch(f"the batch's checksum is {header.crc:#010x}, but its bytes have the checksum {crc:#010x}")


crc32c: Callable[[bytes], int] = google_crc32c.value
"""CRC-32C (Castagnoli)."""

LONG_BATCH_BYTES = 1 << 20
"""From this size on `crc32c_between` takes less time than `crc32c`."""

_COPIED_BYTES = 1 << 17  # at once: they stay in the processor's cache


def crc32c_between(data: "bytes | mmap", start: int, end: int) -> int:
    """The CRC-32C of [start, end), which is copied in short parts: one long copy takes longest."""
    crc = 0
    for at in range(start, end, _COPIED_BYTES):
        crc = google_crc32c.extend(crc, data[at : min(at + _COPIED_BYTES, end)])
    return crc


def with_base_offset(batch: bytes, base_offset: int, leader_epoch: int) -> bytes:
    """The same batch at another offset (RB-5). The checksum does not cover what changes."""
    length = batch[LENGTH_POSITION:LENGTH_END]
    return _OFFSET_LENGTH_EPOCH.pack(base_offset, length, leader_epoch) + memoryview(batch)[MAGIC_POSITION:]


def with_times(batch: bytes, *, attributes: int, max_timestamp_ms: int) -> bytes:
    """The same batch with other attributes and maximum timestamp, and a checksum to match (PD-20, PD-21)."""
    tail = b"".join(
        (
            attributes.to_bytes(2, "big", signed=True),
            memoryview(batch)[LAST_OFFSET_DELTA_POSITION:MAX_TIMESTAMP_POSITION],
            max_timestamp_ms.to_bytes(8, "big", signed=True),
            memoryview(batch)[PRODUCER_ID_POSITION:],
        )
    )
    return b"".join((memoryview(batch)[:CRC_POSITION], crc32c(tail).to_bytes(4, "big"), tail))


def build_batch(
    records: Sequence[Record],
    *,
    base_offset: int | None = None,
    last_offset_delta: int | None = None,
    leader_epoch: int = 0,
    codec: int = 0,
    level: int | None = None,
    log_append_time_ms: int | None = None,
    transactional: bool = False,
    control: bool = False,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = -1,
    base_sequence: int = -1,
) -> bytes:
    """One batch of `records`, whose offsets are absolute and must not go down.

    `base_offset` is the first record's unless given (compaction keeps the old one); `last_offset_delta` is the last
    record's unless given, and both must be given for a batch without records (RC-2). `log_append_time_ms` sets bit 3.
    """
    if base_offset is None:
        base_offset = records[0].offset
    if last_offset_delta is None:
        last_offset_delta = records[-1].offset - base_offset
    base_timestamp_ms = records[0].timestamp_ms if records else NO_TIMESTAMP
    payload = b"".join([encode_record(record, base_offset, base_timestamp_ms) for record in records])
    max_timestamp_ms = max((record.timestamp_ms for record in records), default=NO_TIMESTAMP)
    attributes = (
        codec
        | (0 if log_append_time_ms is None else LOG_APPEND_TIME_BIT)
        | (TRANSACTIONAL_BIT if transactional else 0)
        | (CONTROL_BIT if control else 0)
    )
    header = BatchHeader(
        base_offset=base_offset,
        length=0,
        leader_epoch=leader_epoch,
        magic=2,
        crc=0,
        attributes=attributes,
        last_offset_delta=last_offset_delta,
        base_timestamp_ms=base_timestamp_ms,
        max_timestamp_ms=max_timestamp_ms if log_append_time_ms is None else log_append_time_ms,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        records_count=len(records),
    )
    return assemble(header, compress(codec, payload, level))


def build_plain_batch(
    encoded: bytes, count: int, *, base_offset: int, timestamp_ms: int, leader_epoch: int, base_sequence: int
) -> bytes:
    """What `build_batch` builds of `plain_records`, for records that are encoded already."""
    tail = _TAIL.pack(0, count - 1, timestamp_ms, timestamp_ms, NO_PRODUCER_ID, -1, base_sequence, count) + encoded
    return _PREFIX.pack(base_offset, CRC_START - LENGTH_END + len(tail), leader_epoch, 2, crc32c(tail)) + tail


def assemble(header: BatchHeader, stored_payload: bytes) -> bytes:
    """The bytes of a batch; length and checksum are computed, the payload is already compressed as the header says."""
    tail = _TAIL.pack(*header[_FIRST_OF_TAIL:]) + stored_payload
    length = CRC_START - LENGTH_END + len(tail)
    return _PREFIX.pack(header.base_offset, length, header.leader_epoch, 2, crc32c(tail)) + tail


def payload_of(batch: bytes, header: BatchHeader, limit_bytes: int = DECOMPRESSED_LIMIT_BYTES) -> bytes:
    """The records of one batch as bytes, decompressed. Raises BadCompression or InvalidRecord (too large)."""
    payload = batch[HEADER_BYTES : header.size_bytes]
    codec = header.attributes & CODEC_BITS
    return decompress(codec, payload, limit_bytes) if codec else payload


def read_records(
    batch: bytes, limit_bytes: int = DECOMPRESSED_LIMIT_BYTES, *, is_checked: bool = False
) -> Iterator[Record]:
    """Every record of one batch, with absolute offset and the time a consumer sees (RB-6).

    With `is_checked` the headers of records stay encoded: a scan has checked them. Raises InvalidRecord.
    """
    header = parse_header(batch)
    return _decoded(payload_of(batch, header, limit_bytes), header, is_checked)


def read_records_in_steps(batch: bytes) -> Iterator[Record | None]:
    """As `read_records`. None is the end of a step: what is long is unpacked in several."""
    header = parse_header(batch)
    payload = bytes((yield from _unpack_in_steps(batch, header)))
    yield from _decoded(payload, header)


def is_long_batch(batch: bytes) -> bool:
    """Whether the records of a batch take more than SHORT_BYTES. Raises BadCompression."""
    header = parse_header(batch)
    if header.size_bytes > SHORT_BYTES:
        return True
    return next(_unpack_in_steps(batch, header), _NO_STEP) is not _NO_STEP


_NO_STEP = object()


def _unpack_in_steps(batch: bytes, header: BatchHeader) -> Unpacking:
    payload, codec = batch[HEADER_BYTES : header.size_bytes], header.attributes & CODEC_BITS
    return (yield from decompress_in_steps(codec, payload)) if codec else payload


def _decoded(payload: bytes, header: BatchHeader, is_checked: bool = False) -> Iterator[Record]:
    append_time_ms = header.max_timestamp_ms if header.is_log_append_time else None
    return decode_records(
        payload,
        header.records_count,
        header.base_offset,
        header.base_timestamp_ms,
        append_time_ms,
        is_checked=is_checked,
    )


def plain_records(
    pairs: Sequence[tuple[bytes | None, bytes | None]], timestamp_ms: int, base_offset: int = 0
) -> list[Record]:
    """(key, value) pairs as records of one time and rising offsets, ready for `build_batch`."""
    return [Record(base_offset + n, timestamp_ms, key, value) for n, (key, value) in enumerate(pairs)]

"""Log segments of a broker's data directory: record batches of format 2 and messages of formats 0 and 1 (RB, MS).

A segment is read from its first byte to its last, one batch in memory at a time. What Kafka's recovery would cut off is
a reject with its byte position: a batch that the file does not hold as a whole, one whose checksum is wrong, bytes that
are no batch. After a batch with a wrong checksum reading goes on behind it; where the length makes no sense nothing
says where the next batch begins, so the rest of the file is one reject. Zeros up to the end are no reject: that is how
a broker leaves a file that it has allocated in advance.
"""

import os
from collections.abc import Iterator
from typing import IO, Final

from fakebroker.analysis.history.log_record import LogFile, LogRecord, Reject, sample_of
from fakebroker.protocol.errors import WireError
from fakebroker.protocol.records.batch import check_crc, parse_header, peek, read_records
from fakebroker.protocol.records.batch_format import LENGTH_END, MAGIC_POSITION, NO_TIMESTAMP
from fakebroker.protocol.records.faults import InvalidRecord
from fakebroker.protocol.records.markers import ControlRecordType, control_record_type
from fakebroker.protocol.records.message_set import read_message_set, unwrap

LONGEST_BATCH_BYTES: Final = 256 << 20
"""What one batch may take in memory. Kafka's own are at most a few MiB (`message.max.bytes`)."""

FRONT_BYTES: Final = MAGIC_POSITION + 1
"""What must be there of a batch to tell how long it is."""

_READ_BYTES: Final = 1 << 20
_LARGEST_OFFSET: Final = 2**63 - 1
_NEWEST_MAGIC: Final = 2
_CONTROLS: Final[dict[int, str]] = {ControlRecordType.COMMIT: "commit", ControlRecordType.ABORT: "abort"}


def read_segment(segment: LogFile, start: int = 0, end: int | None = None) -> Iterator[LogRecord | Reject]:
    """The records of a segment in its order, and what could not be read, from one byte to another where batches begin.

    Raises OSError when the file cannot be opened; a failure later on is a reject.
    """
    with segment.path.open("rb", buffering=_READ_BYTES) as file:
        position = start
        try:
            size_bytes = file.seek(0, os.SEEK_END) if end is None else end
            file.seek(start)
            while position < size_bytes:
                batch = _next_batch(file, size_bytes - position)
                if isinstance(batch, str):
                    file.seek(position)
                    if not _only_zeros(file):
                        file.seek(position)
                        yield segment.reject(position, batch, sample_of(file.read(FRONT_BYTES + 47)))
                    return
                yield from read_batch(segment, position, batch)
                position += len(batch)
        except OSError as error:
            yield segment.reject(position, str(error))


def _next_batch(file: IO[bytes], left_bytes: int) -> bytes | str:
    """The next batch or message as bytes, or why there is none."""
    front = file.read(FRONT_BYTES)
    if len(front) < FRONT_BYTES:
        return f"the file is truncated in a batch: {left_bytes} bytes are left"
    size_bytes = batch_size(front)
    if size_bytes is None:
        return f"no batch begins here; the last {left_bytes} bytes of the file are skipped"
    if size_bytes > left_bytes:
        return f"the file is truncated in a batch: {left_bytes} of its {size_bytes} bytes are left"
    return front + file.read(size_bytes - FRONT_BYTES)


def batch_size(front: bytes) -> int | None:
    """How many bytes the batch or message has that begins with these FRONT_BYTES; None if none begins so."""
    size_bytes = int.from_bytes(front[8:LENGTH_END], "big", signed=True) + LENGTH_END
    if size_bytes < FRONT_BYTES or front[MAGIC_POSITION] > _NEWEST_MAGIC or size_bytes > LONGEST_BATCH_BYTES:
        return None
    return size_bytes


def read_batch(segment: LogFile, position: int, batch: bytes) -> Iterator[LogRecord | Reject]:
    """The records of one batch of any format that stands at byte `position`, up to what cannot be read in it."""
    base_offset = int.from_bytes(batch[:8], "big", signed=True)
    try:
        if base_offset < 0:
            raise InvalidRecord(f"the batch has offset {base_offset}")
        entry = peek(batch)
        if entry is None or entry[0] != len(batch):
            raise InvalidRecord(f"the batch has {len(batch)} bytes but says another length")
        records = _records(segment, position, batch) if entry[1] == _NEWEST_MAGIC else _old(segment, position, batch)
        for record in records:
            if not 0 <= record.log_offset <= _LARGEST_OFFSET:
                raise InvalidRecord(f"the record has offset {record.log_offset}")
            yield record
    except InvalidRecord as fault:
        offset = base_offset if base_offset >= 0 else None
        yield segment.reject(position, fault.message or str(fault), sample_of(batch), offset)


def _records(segment: LogFile, position: int, batch: bytes) -> Iterator[LogRecord]:
    """The records of a batch of format 2. Raises InvalidRecord."""
    header = parse_header(batch)
    check_crc(batch, header)
    place = _place(segment, position)
    is_transactional = header.is_transactional
    producer_id, epoch = (header.producer_id, header.producer_epoch) if is_transactional else (None, None)
    for one in read_records(batch):
        at_ms = None if one.timestamp_ms == NO_TIMESTAMP else one.timestamp_ms
        control = _control(one.key) if header.is_control else None
        yield LogRecord(*place, one.offset, at_ms, one.key, one.value, producer_id, epoch, is_transactional, control)


def _place(segment: LogFile, position: int) -> tuple[str, str, int, int]:
    assert segment.log_partition is not None, "its folder has told it"
    return segment.source, str(segment.path), position, segment.log_partition


def _control(key: bytes | None) -> str:
    """What a control record says. Kafka ignores types that it does not know."""
    try:
        return _CONTROLS.get(control_record_type(key), "unknown")
    except WireError:
        return "unknown"


def _old(segment: LogFile, position: int, message: bytes) -> Iterator[LogRecord]:
    """The records of a message of format 0 or 1, compressed or not. Raises InvalidRecord."""
    place = _place(segment, position)
    for outer in read_message_set(message):
        for one in unwrap(outer):
            at_ms = None if one.timestamp_ms == NO_TIMESTAMP else one.timestamp_ms
            yield LogRecord(*place, one.offset, at_ms, one.key, one.value)


def _only_zeros(file: IO[bytes]) -> bool:
    """Whether nothing but zeros is left of the file."""
    while part := file.read(_READ_BYTES):
        if part.count(0) != len(part):
            return False
    return True

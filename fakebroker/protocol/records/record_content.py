"""Record bytes by content: what a consumer would read of them."""

import struct
from typing import Any, NamedTuple

from fakebroker.protocol.errors import FakebrokerError
from fakebroker.protocol.records.batch import parse_header, peek, read_records
from fakebroker.protocol.records.message_set import read_message_set, unwrap

Json = Any


class ReadRecord(NamedTuple):
    """One record as a consumer gets it, with what its batch says of the producer."""

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[bytes, bytes | None], ...]
    producer_id: int
    producer_epoch: int
    sequence: int
    is_transactional: bool
    is_control: bool
    is_append_time: bool  # the broker gave the timestamp


def records_of(data: bytes) -> list[ReadRecord]:
    """All complete records in `data`, of any format; batches that cannot be read end the list."""
    found: list[ReadRecord] = []
    position = 0
    while (entry := peek(data, position)) is not None:
        size_bytes, magic = entry
        batch = data[position : position + size_bytes]
        position += size_bytes
        try:
            found += _of_batch(batch) if magic >= 2 else _of_messages(batch)
        except (FakebrokerError, struct.error, ValueError):
            break
    return found


def _of_batch(batch: bytes) -> list[ReadRecord]:
    header = parse_header(batch)
    found = []
    for record in read_records(batch):
        sequence = -1
        if header.base_sequence >= 0:
            sequence = (header.base_sequence + record.offset - header.base_offset) & 0x7FFFFFFF
        found.append(
            ReadRecord(
                record.offset,
                record.timestamp_ms,
                record.key,
                record.value,
                tuple((bytes(name), value) for name, value in record.headers),
                header.producer_id,
                header.producer_epoch,
                sequence,
                header.is_transactional,
                header.is_control,
                header.is_log_append_time,
            )
        )
    return found


def _of_messages(data: bytes) -> list[ReadRecord]:
    return [
        ReadRecord(
            each.offset, each.timestamp_ms, each.key, each.value, (), -1, -1, -1, False, False, each.is_log_append_time
        )
        for message in read_message_set(data)
        for each in unwrap(message)
    ]


def bytes_of(value: Json) -> bytes | None:
    """The bytes of {"hex": "..."}, whatever stands beside them to be read; None for anything else."""
    if isinstance(value, dict) and isinstance(value.get("hex"), str):
        try:
            return bytes.fromhex(value["hex"])
        except ValueError:
            return None
    return None

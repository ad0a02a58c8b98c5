"""Record batches as dialogues write them: built from data, wrong on purpose if asked; read back as data.

A batch to send is {"batch": {...}} or {"batches": [{...}, ...]} instead of bytes; the fields are the arguments of
`build_unchecked_batch`. It does not use the encoder of `records.batch`, which the broker is made of: an error there
must not hide itself, and that encoder makes no wrong batches. Answers read with "batches" carry lists of batches (v2)
and messages (v0, v1) instead of bytes.
"""

import struct
from collections.abc import Sequence
from typing import Any

import google_crc32c

from fakebroker.protocol.records.batch import read_records
from fakebroker.protocol.records.compression import decompress
from fakebroker.protocol.records.varint import encode_zigzag_varint
from fakebroker.protocol.schema.jsonable import bytes_to_json

HEADER = struct.Struct(">qiibIhiqqqhii")
_AFTER_CRC = struct.Struct(">hiqqqhii")
_LOG_OVERHEAD_BYTES = 12  # offset and length, which the length does not count
_CRC_COVERS_FROM = 21
_NOW_WITHIN_MS = 600_000
_GZIP = 1
_UNPACK_LIMIT_BYTES = 64 * 1024 * 1024


def build(value: Any, wall_ms: int) -> Any:
    """A request's data with every batch description in it replaced by bytes."""
    if isinstance(value, dict):
        if value.keys() == {"batch"}:
            return build_unchecked_batch(wall_ms, **value["batch"])
        if value.keys() == {"batches"}:
            return b"".join(build_unchecked_batch(wall_ms, **batch) for batch in value["batches"])
        return {key: build(inner, wall_ms) for key, inner in value.items()}
    if isinstance(value, list):
        return [build(inner, wall_ms) for inner in value]
    return value


def build_unchecked_batch(
    wall_ms: int,
    *,
    records: Sequence[Sequence[Any]] = (("k", "v"),),
    pid: int = -1,
    epoch: int = -1,
    seq: int = -1,
    attributes: int = 0,
    timestamp: int | str = 1_700_000_000_000,
    base_offset: int = 0,
    leader_epoch: int = -1,
    last_offset_delta: int | None = None,
    count: int | None = None,
    max_timestamp: int | None = None,
    crc: int | None = None,
    magic: int = 2,
    payload: Any = None,
) -> bytes:
    """One batch of format 2.

    A record is [key, value, timestamp delta, [[header, value], ...]], the last two optional. Nothing is checked: any
    field may contradict the others. `payload` replaces the encoded records, by compressed ones for example.
    """
    first_ms = wall_ms + int(timestamp[3:] or 0) if isinstance(timestamp, str) else timestamp
    deltas = [record[2] if len(record) > 2 else 0 for record in records]
    body = b"".join(_record(index, *record) for index, record in enumerate(records))
    after_crc = _AFTER_CRC.pack(
        attributes,
        len(records) - 1 if last_offset_delta is None else last_offset_delta,
        first_ms,
        first_ms + max([0, *deltas]) if max_timestamp is None else max_timestamp,
        pid,
        epoch,
        seq,
        len(records) if count is None else count,
    ) + (body if payload is None else _octets(payload) or b"")
    checksum = google_crc32c.value(after_crc) if crc is None else crc
    return struct.pack(">qiibI", base_offset, 9 + len(after_crc), leader_epoch, magic, checksum) + after_crc


def _record(index: int, key: Any, value: Any, timestamp_delta: int = 0, headers: Sequence[Sequence[Any]] = ()) -> bytes:
    parts = [b"\0", encode_zigzag_varint(timestamp_delta), encode_zigzag_varint(index), _sized(key), _sized(value)]
    parts.append(encode_zigzag_varint(len(headers)))
    for name, inner in headers:
        parts += _sized(name), _sized(inner)
    body = b"".join(parts)
    return encode_zigzag_varint(len(body)) + body


def _sized(value: Any) -> bytes:
    data = _octets(value)
    return encode_zigzag_varint(-1) if data is None else encode_zigzag_varint(len(data)) + data


def _octets(value: Any) -> bytes | None:
    """Text, {"hex": ...} or null as bytes."""
    if isinstance(value, str):
        return value.encode()
    return bytes.fromhex(value["hex"]) if isinstance(value, dict) else value


def read_batches(data: bytes, wall_ms: int) -> list[dict[str, Any]]:
    """Record bytes as data; a last batch that was cut off is left out, as clients do."""
    found = []
    at = 0
    while at + 17 <= len(data):
        end = at + _LOG_OVERHEAD_BYTES + struct.unpack_from(">i", data, at + 8)[0]
        if end > len(data):
            break
        one = data[at:end]
        found.append(_read_message(one, wall_ms) if one[16] < 2 else _read_batch(one, wall_ms))
        at = end
    return found


def _read_batch(batch: bytes, wall_ms: int) -> dict[str, Any]:
    fields = HEADER.unpack_from(batch)
    offset, _, leader_epoch, magic, crc, attributes, last_delta, first_ms, max_ms, pid, epoch, seq, count = fields
    return {
        "offset": offset,
        "leader_epoch": leader_epoch,
        "magic": magic,
        "crc_ok": crc == google_crc32c.value(batch[_CRC_COVERS_FROM:]),
        "attributes": attributes,
        "last_offset_delta": last_delta,
        "base_timestamp": _when(first_ms, wall_ms),
        "max_timestamp": _when(max_ms, wall_ms),
        "ProducerId": pid,
        "epoch": epoch,
        "seq": seq,
        "count": count,
        "records": "compressed" if attributes & 7 > _GZIP else _read_records(batch, wall_ms),
    }


def _read_records(batch: bytes, wall_ms: int) -> list[list[Any]]:
    rows = []
    for record in read_records(batch):
        row = [
            record.offset,
            _when(record.timestamp_ms, wall_ms),
            bytes_to_json(record.key),
            bytes_to_json(record.value),
        ]
        if record.headers:
            row.append([[bytes_to_json(_octets(name)), bytes_to_json(value)] for name, value in record.headers])
        rows.append(row)
    return rows


def _read_message(message: bytes, wall_ms: int) -> dict[str, Any]:
    """A message of format 0 or 1; a gzip wrapper shows the messages inside it."""
    magic, attributes = message[16], message[17]
    timestamp_ms = struct.unpack_from(">q", message, 18)[0] if magic else -1
    key, at = _nullable(message, 26 if magic else 18)
    value, _ = _nullable(message, at)
    shown = {
        "offset": struct.unpack_from(">q", message)[0],
        "magic": magic,
        "attributes": attributes,
        "timestamp": _when(timestamp_ms, wall_ms),
        "key": bytes_to_json(key),
    }
    if attributes & 7 == _GZIP and value is not None:
        return {**shown, "messages": read_batches(decompress(_GZIP, value, _UNPACK_LIMIT_BYTES), wall_ms)}
    return {**shown, "value": bytes_to_json(value)}


def _nullable(data: bytes, at: int) -> tuple[bytes | None, int]:
    size = struct.unpack_from(">i", data, at)[0]
    return (None, at + 4) if size < 0 else (data[at + 4 : at + 4 + size], at + 4 + size)


def _when(timestamp_ms: int, wall_ms: int) -> int | str:
    return "now" if abs(timestamp_ms - wall_ms) < _NOW_WITHIN_MS else timestamp_ms

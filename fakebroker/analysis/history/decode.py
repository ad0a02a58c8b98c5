"""What a record of `__consumer_offsets` means: a LogRecord becomes rows of the table `decoded`.

This is the definition: the vectorised decoder must give the same rows, and a test compares both with what Kafka's
`DumpLogSegments --offsets-decoder` prints. Bytes are read as Kafka reads them: text that is not UTF-8 has U+FFFD where
it is not. What Kafka cannot read is a reject; what Kafka reads, although it should not be there (bytes after the last
field, a time outside of the years 1 to 9999), is a row and a reject.
"""

import json
import struct
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from fakebroker.analysis.history.log_record import LogRecord, Reject, sample_of
from fakebroker.analysis.pipeline.contract import FIRST_TIME_MS, LAST_TIME_MS, Row
from fakebroker.analysis.pipeline.tables import decoded
from fakebroker.protocol.errors import WireError
from fakebroker.protocol.records.markers import coordinator_epoch_of
from fakebroker.protocol.records.offsets_schema import OffsetCommitKey, OffsetCommitValue
from fakebroker.protocol.records.record_types import OFFSET_COMMIT, RECORD_TYPES, RecordType
from fakebroker.protocol.schema import ZERO_UUID, Message
from fakebroker.protocol.schema.jsonable import to_json, uuid_to_text

_BLANK: Final[Row] = dict.fromkeys(decoded.TABLE.column_names)
_version_of = struct.Struct(">h").unpack_from
_PREFIX_BYTES: Final = 2
_KEYS_KEPT: Final = 4096
_LONGEST_KEPT_BYTES: Final = 1024
_MARKER_KEYS: Final = {b"\0\0\0\0": "abort", b"\0\0\0\1": "commit"}  # RC-3, where a sink wrote markers as data
_write_json: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

_read_commit_key: Final = OffsetCommitKey.decoder(0)
_commit_decoders: Final[dict[int, Callable[[bytes, int], tuple[OffsetCommitValue, int]]]] = {
    version: OffsetCommitValue.decoder(version) for version in range(OffsetCommitValue.versions.last + 1)
}


def decode_all(records: Iterable[LogRecord | Reject]) -> Iterator[Row]:
    """The rows of the table `decoded` for what a reader gives, in its order. Raises nothing of its own."""
    for record in records:
        if isinstance(record, Reject):
            yield reject_row(record)
        else:
            yield from decode_record(record)


def decode_record(record: LogRecord) -> list[Row]:
    """The row of a record, and after it a reject row for each thing in it that is not as it should be.

    A record that cannot be read gives a reject row only. Of a `commit` row the columns of commits are set, of a
    `record` row those of coordinator_records; both have `file`, `position`, `producer_id` and `producer_epoch`.
    """
    key = record.key
    if record.control is not None:
        return _marker(record, record.control)
    if key is None or len(key) < _PREFIX_BYTES:
        return [_reject(record, "the record has no key" if key is None else "the key is too short for its type")]
    number: int = _version_of(key)[0]
    if 0 <= number <= OFFSET_COMMIT:
        return _commit(record, key, record.value)
    if (record_type := RECORD_TYPES.get(number)) is None:
        return _unknown(record, number, key)
    return _group_record(record, record_type, key, record.value)


def reject_row(reject: Reject) -> Row:
    """A reject as a row of the table `decoded`."""
    row = _BLANK.copy()
    row.update(reject._asdict())
    row["what"] = "reject"
    return row


def _commit(record: LogRecord, key: bytes, value: bytes | None) -> list[Row]:
    """The row of a committed offset or its tombstone."""
    version = -1
    committed = None
    try:
        named, key_end = _read_commit_key(key, _PREFIX_BYTES)
        value_end = 0
        if value is not None:
            version = _version_of(value)[0]
            committed, value_end = _commit_decoders[version](value, _PREFIX_BYTES)
    except (struct.error, IndexError, KeyError, WireError):
        return _unreadable_commit(record, key, value)
    row = _row(record, "commit")
    row["group_id"], row["topic"], row["partition"] = named.group, named.topic, named.partition
    row["transactional"] = record.is_transactional
    rows = [row]
    if committed is not None:
        row["committed_offset"], row["leader_epoch"] = committed.offset, committed.leader_epoch
        row["metadata"] = committed.metadata
        row["committed_at"] = committed.commit_timestamp
        if committed.topic_id != ZERO_UUID:
            row["topic_id"] = uuid_to_text(committed.topic_id)
        if version == 1 and committed.expire_timestamp != -1:
            row["expires_at"] = committed.expire_timestamp
            _check_time(record, rows, "expires_at")
        if not FIRST_TIME_MS <= committed.commit_timestamp <= LAST_TIME_MS:
            _check_time(record, rows, "committed_at")
    _check_rest(record, rows, key_end, value_end)
    return rows


def _unreadable_commit(record: LogRecord, key: bytes, value: bytes | None) -> list[Row]:
    """The reject of a commit that cannot be read; or the row of a marker that a sink wrote as if it were data."""
    if (control := _MARKER_KEYS.get(key)) is not None:
        return _marker(record, control)
    record_type = RECORD_TYPES[_version_of(key)[0]]
    return [_reject(record, _why_unreadable(record_type, key, value))]


def _group_record(record: LogRecord, record_type: RecordType, key: bytes, value: bytes | None) -> list[Row]:
    """The row of any record of a known type that is no committed offset."""
    try:
        named = _group_key(key) if len(key) <= _LONGEST_KEPT_BYTES else _group_key.__wrapped__(key)
        message, version, value_end = None, None, 0
        if value is not None:
            version = _value_version(record_type, value)
            message, value_end = record_type.value.decode(value, version, _PREFIX_BYTES)
    except WireError as error:
        return [_reject(record, str(error))]
    row = _row(record, "record")
    row["record_type"], row["kind"], row["value_version"] = record_type.number, record_type.name, version
    row["group_id"], row["key"] = named.group_id, named.json
    if message is not None and version is not None:
        row["value"] = _json(message, version)
    rows = [row]
    _check_rest(record, rows, named.end, value_end)
    return rows


class _GroupKey(NamedTuple):
    """The key of a record of a group: the group, all fields as JSON, and where the last of them ends."""

    group_id: str
    json: str
    end: int


@lru_cache(maxsize=_KEYS_KEPT)
def _group_key(key: bytes) -> _GroupKey:
    """Read the key of a known type that is no committed offset; of one group there are many. Raises WireError."""
    named, end = RECORD_TYPES[_version_of(key)[0]].key.decode(key, 0, _PREFIX_BYTES)
    return _GroupKey(getattr(named, named.fields[0].name), _json(named, 0), end)


def _unknown(record: LogRecord, number: int, key: bytes) -> list[Row]:
    """The row of a record of a type that later releases may have brought: its bytes as they are."""
    row = _row(record, "record")
    row["record_type"], row["kind"], row["key"] = number, "unknown", key.hex()
    if record.value is not None:
        row["value"] = record.value.hex()
        row["value_version"] = _version_of(record.value)[0] if len(record.value) >= _PREFIX_BYTES else None
    return _with_checked_time(record, [row])


def _marker(record: LogRecord, control: str) -> list[Row]:
    """The row of a control record."""
    row = _row(record, "record")
    row["kind"] = control
    if control != "unknown":
        row["value"] = _write_json({"coordinatorEpoch": coordinator_epoch_of(record.value)})
    return _with_checked_time(record, [row])


def _row(record: LogRecord, what: str) -> Row:
    row = _BLANK.copy()
    row["what"], row["source"], row["file"], row["position"] = what, record.source, record.file, record.position
    row["log_partition"], row["log_offset"], row["at"] = record.log_partition, record.log_offset, record.at_ms
    row["producer_id"], row["producer_epoch"] = record.producer_id, record.producer_epoch
    return row


def _check_rest(record: LogRecord, rows: list[Row], key_end: int, value_end: int) -> None:
    """Add rejects for bytes after the last field, which Kafka does not look at, and for the record's time."""
    for name, data, end in (("key", record.key, key_end), ("value", record.value, value_end)):
        if data is not None and end != len(data):
            rows.append(_reject(record, f"{len(data) - end} bytes follow the last field of the {name}"))
    _with_checked_time(record, rows)


def _with_checked_time(record: LogRecord, rows: list[Row]) -> list[Row]:
    if record.at_ms is not None and not FIRST_TIME_MS <= record.at_ms <= LAST_TIME_MS:
        _check_time(record, rows, "at")
    return rows


def _check_time(record: LogRecord, rows: list[Row], column: str) -> None:
    """Take a time out of the first row that no table can have, and add a reject that says so."""
    time_ms = rows[0][column]
    if not FIRST_TIME_MS <= time_ms <= LAST_TIME_MS:
        rows[0][column] = None
        rows.append(_reject(record, f"{column} {time_ms} ms is outside of the years 1 to 9999"))


def _reject(record: LogRecord, reason: str) -> Row:
    parts = [f"{name} {sample_of(data)}" for name, data in (("key", record.key), ("value", record.value)) if data]
    return reject_row(record.reject(reason, ", ".join(parts) or None))


def _value_version(record_type: RecordType, value: bytes) -> int:
    if len(value) < _PREFIX_BYTES:
        raise WireError(f"{record_type.value.__name__}: the value is too short for its version")
    version: int = _version_of(value)[0]
    return version


def _why_unreadable(record_type: RecordType, key: bytes, value: bytes | None) -> str:
    """What is wrong with a key or value that could not be read."""
    try:
        record_type.key.decode(key, 0, _PREFIX_BYTES)
        if value is not None:
            record_type.value.decode(value, _value_version(record_type, value), _PREFIX_BYTES)
    except WireError as error:
        return str(error)
    return "it cannot be read"


def _json(message: Message, version: int) -> str:
    return _write_json(to_json(message, version))

"""Records and segments for tests of histories."""

from pathlib import Path
from typing import Any

from fakebroker.analysis.history.log_record import LogRecord
from fakebroker.analysis.pipeline.contract import Row
from fakebroker.protocol.records.batch import build_batch, parse_header, read_records
from fakebroker.protocol.records.markers import build_marker
from fakebroker.protocol.records.offsets_codec import Format, group_key, group_value, offset_key, offset_value
from fakebroker.protocol.records.offsets_topic import GroupValue, stored_offset
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.records.rewrite import rebuild

AT_MS = 1_760_000_000_000
KEY = offset_key("billing", "orders", 0)


def value(offset: int = 5, *, version: int = 4, commit_ms: int = AT_MS, **more: Any) -> bytes:
    """The value of a committed offset."""
    return offset_value(stored_offset("orders", 0, offset, commit_ms=commit_ms, **more), Format(version))


def group_record() -> tuple[bytes, bytes]:
    """Key and value of an empty classic group."""
    return group_key("billing"), group_value(GroupValue("consumer", 3, None, None, AT_MS, ()), Format())


def log_record(key: bytes | None = KEY, value: bytes | None = None, **fields: Any) -> LogRecord:
    """A record at offset 17 of partition 3."""
    return LogRecord("west", "a.log", 100, 3, 17, AT_MS, key, value)._replace(**fields)


def commits(first: int, count: int) -> list[Record]:
    """Commits of rising offsets, one for each log offset from `first` on."""
    return [Record(first + n, AT_MS + n, KEY, value(n)) for n in range(count)]


def batch(first: int, count: int, **settings: Any) -> bytes:
    """A batch of commits."""
    return build_batch(commits(first, count), **settings)


def marker(offset: int, producer_id: int, epoch: int, *, commit: bool) -> bytes:
    """The control batch that ends a transaction, at an offset."""
    built = build_marker(producer_id, epoch, commit=commit, coordinator_epoch=2, timestamp_ms=AT_MS + offset)
    records = [record._replace(offset=offset) for record in read_records(built)]
    return rebuild(parse_header(built)._replace(base_offset=offset), records)


def segment(folder: Path, data: bytes, *, partition: int = 3, base_offset: int = 0) -> Path:
    """A segment file of `__consumer_offsets` in a data directory."""
    path = folder / f"__consumer_offsets-{partition}" / f"{base_offset:020}.log"
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_bytes(data)
    return path


def only(rows: list[Row], **wanted: Any) -> list[Row]:
    """The rows that have these values."""
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]

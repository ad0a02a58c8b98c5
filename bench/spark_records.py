"""Realistic records of `__consumer_offsets` for measuring, as Parquet of a sink, written once into a cache folder."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fakebroker.records.batch import read_records
from fakebroker.records.markers import build_marker
from fakebroker.records.offsets_codec import Format, group_key, group_value, offset_key, offset_value
from fakebroker.records.offsets_topic import GroupValue, MemberValue, stored_offset

CACHE = Path("/tmp/fakebroker-bench")
PARTITIONS = 50
ROWS_A_FILE = 1_000_000
_ROWS_A_GROUP = 100_000
_START_MS = 1_772_000_000_000
_SCHEMA = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("ms", "UTC")),
    ]
)
Pair = tuple[bytes | None, bytes | None]


def parquet_of(records: int) -> Path:
    """A folder with so many records; made if it is not there yet."""
    folder = CACHE / f"records-{records}"
    if not (folder / "_complete").exists():
        folder.mkdir(parents=True, exist_ok=True)
        for start in range(0, records, ROWS_A_FILE):
            count = min(ROWS_A_FILE, records - start)
            pq.write_table(
                _table(start, count),
                folder / f"part-{start:012}.parquet",
                compression="zstd",
                row_group_size=_ROWS_A_GROUP,
            )
        (folder / "_complete").touch()
    return folder


def _table(start: int, count: int) -> Any:
    chance = random.Random(start)
    pairs = list(_pairs(chance, start, count))
    partitions = [chance.randrange(PARTITIONS) for _ in range(count)]
    # Offsets rise in each partition; which of them a partition has does not matter.
    columns = [
        [key for key, _ in pairs],
        [value for _, value in pairs],
        ["__consumer_offsets"] * count,
        partitions,
        list(range(start, start + count)),
        [_START_MS + 10 * (start + n) for n in range(count)],
    ]
    return pa.table(
        [pa.array(values, field.type) for values, field in zip(columns, _SCHEMA, strict=True)], schema=_SCHEMA
    )


def _pairs(chance: random.Random, start: int, count: int) -> Iterator[Pair]:
    """97 % commits of value versions 1 to 4, 2 % of all tombstones, 2 % classic groups, 1 % newer types and markers."""
    keys = [_commit_key(chance) for _ in range(20_000)]
    ids = [chance.randbytes(16) for _ in range(200)]
    groups = [_group(chance, n) for n in range(500)]
    marker = next(iter(read_records(build_marker(1, 0, commit=True, coordinator_epoch=3, timestamp_ms=0))))
    for n in range(start, start + count):
        kind = chance.random()
        if kind < 0.02:
            yield chance.choice(keys), None
        elif kind < 0.97:
            yield chance.choice(keys), _commit_value(chance, ids, _START_MS + 10 * n)
        elif kind < 0.99:
            yield chance.choice(groups)
        elif kind < 0.995:
            yield b"\0" + bytes([chance.choice([3, 5, 7, 8])]) + _text(f"consumer-{chance.randrange(500)}"), None
        else:
            yield marker.key, marker.value


def _commit_key(chance: random.Random) -> bytes:
    group_id = chance.choice(["billing", "café-größe", "orders-etl", "注文"]) + f"-{chance.randrange(2000)}"
    return offset_key(group_id, f"team.domain.topic-{chance.randrange(300)}", chance.randrange(24))


def _commit_value(chance: random.Random, ids: list[bytes], commit_ms: int) -> bytes:
    version = chance.choice([1, 2, 3, 3, 4, 4, 4])
    stored = stored_offset(
        "",
        0,
        chance.randrange(10**10),
        leader_epoch=chance.randrange(20),
        metadata="m" * chance.choice([0, 0, 0, 0, 0, 0, 0, 12, 300]),
        commit_ms=commit_ms,
        expire_ms=commit_ms + 86_400_000 if version == 1 else -1,
        topic_id=chance.choice(ids),
    )
    return offset_value(stored, Format(version))


def _group(chance: random.Random, number: int) -> Pair:
    members = tuple(
        MemberValue(f"consumer-{m}", None, "client", "/10.0.0.1", 300_000, 45_000, bytes(40), bytes(60))
        for m in range(chance.randrange(1, 6))
    )
    value = GroupValue("consumer", number, "range", "consumer-0", _START_MS, members)
    return group_key(f"billing-{number}"), group_value(value, Format())


def _text(text: str) -> bytes:
    data = text.encode()
    return len(data).to_bytes(2, "big") + data

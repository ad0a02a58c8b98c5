"""Realistic records of `__consumer_offsets` for measuring, as Parquet of a sink, written once into a cache folder."""

import random
import struct
import zlib
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from fakebroker.protocol.records.batch import read_records
from fakebroker.protocol.records.consumer_group_schema import ConsumerGroupMetadataKey, ConsumerGroupMetadataValue
from fakebroker.protocol.records.markers import build_marker
from fakebroker.protocol.records.offsets_codec import Format, group_key, group_value, offset_key
from fakebroker.protocol.records.offsets_topic import GroupValue, MemberValue
from fakebroker.protocol.schema.runtime import encode_unsigned_varint

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


def parquet_of(records: int) -> Path:
    """A folder with so many records; made if it is not there yet."""
    folder = CACHE / f"records-{records}"
    if not (folder / "_complete").exists():
        folder.mkdir(parents=True, exist_ok=True)
        starts = range(0, records, ROWS_A_FILE)
        with ProcessPoolExecutor() as processes:
            list(processes.map(_write_file, repeat(folder), starts, repeat(records)))
        (folder / "_complete").touch()
    return folder


def _write_file(folder: Path, start: int, records: int) -> None:
    """Write the file whose first record has that number, if it is not there yet."""
    path = folder / f"part-{start:012}.parquet"
    if not path.exists():
        whole = path.with_suffix(".made")
        table = _table(start, min(ROWS_A_FILE, records - start))
        pq.write_table(table, whole, compression="zstd", row_group_size=_ROWS_A_GROUP)
        whole.rename(path)


def _table(start: int, count: int) -> Any:
    chance = random.Random(start)
    made = list(_records(chance, start, count))
    columns = [
        [each.key for each in made],
        [each.value for each in made],
        ["__consumer_offsets"] * count,
        [each.partition for each in made],
        list(range(start, start + count)),  # they rise in each partition, with gaps, as after compaction
        [_START_MS + 10 * (start + n) for n in range(count)],
    ]
    arrays = [pa.array(values, field.type) for values, field in zip(columns, _SCHEMA, strict=True)]
    return pa.table(arrays, schema=_SCHEMA)


_FRONT, _LENGTH, _TIME = struct.Struct(">hqi"), struct.Struct(">h"), struct.Struct(">q")
_METADATA = (b"", b"", b"", b"", b"", b"", b"", b"", b"consumer-one", b"m" * 300)


class Made(NamedTuple):
    """A record, and the partition that its group has."""

    partition: int
    key: bytes | None
    value: bytes | None


def _records(chance: random.Random, start: int, count: int) -> Iterator[Made]:
    """97 % commits of value versions 1 to 4, 2 of them tombstones; 2 % classic groups; newer types and markers."""
    keys = [_commit_key(chance) for _ in range(20_000)]
    ids = [chance.randbytes(16) for _ in range(200)]
    groups = [_group(chance, n) for n in range(500)]
    newer = [_newer_group(n) for n in range(500)]
    marker = next(iter(read_records(build_marker(1, 0, commit=True, coordinator_epoch=3, timestamp_ms=0))))
    for n in range(start, start + count):
        kind = chance.random()
        if kind < 0.97:
            partition, key = chance.choice(keys)
            yield Made(partition, key, None if kind < 0.02 else _commit_value(chance, ids, _START_MS + 10 * n))
        elif kind < 0.995:
            yield chance.choice(groups if kind < 0.99 else newer)
        else:
            yield Made(chance.randrange(PARTITIONS), marker.key, marker.value)


def _partition_of(group_id: str) -> int:
    return zlib.crc32(group_id.encode()) % PARTITIONS


def _commit_key(chance: random.Random) -> tuple[int, bytes]:
    group_id = chance.choice(["billing", "café-größe", "orders-etl", "注文"]) + f"-{chance.randrange(2000)}"
    topic = f"team.domain.topic-{chance.randrange(300)}"
    return _partition_of(group_id), offset_key(group_id, topic, chance.randrange(24))


def _commit_value(chance: random.Random, ids: list[bytes], commit_ms: int) -> bytes:
    """Packed here and not by our codec, which would take most of the time."""
    version = chance.choice((1, 2, 3, 3, 4, 4, 4))
    text = _METADATA[int(chance.random() * len(_METADATA))]
    offset = int(chance.random() * 10**10)
    if version == 4:
        tail = b"\1\0\x10" + ids[int(chance.random() * len(ids))]
        return _FRONT.pack(4, offset, 7) + encode_unsigned_varint(len(text) + 1) + text + _TIME.pack(commit_ms) + tail
    front = _FRONT.pack(3, offset, 7) if version == 3 else _FRONT.pack(version, offset, 0)[:-4]
    tail = _TIME.pack(commit_ms + 86_400_000) if version == 1 else b""
    return front + _LENGTH.pack(len(text)) + text + _TIME.pack(commit_ms) + tail


def _group(chance: random.Random, number: int) -> Made:
    members = tuple(
        MemberValue(f"consumer-{m}", None, "client", "/10.0.0.1", 300_000, 45_000, bytes(40), bytes(60))
        for m in range(chance.randrange(1, 6))
    )
    group_id = f"billing-{number}"
    value = GroupValue("consumer", number, "range", "consumer-0", _START_MS, members)
    return Made(_partition_of(group_id), group_key(group_id), group_value(value, Format()))


def _newer_group(number: int) -> Made:
    """A group of the protocol of KIP-848."""
    group_id = f"modern-{number}"
    key = b"\0\3" + ConsumerGroupMetadataKey(group_id=group_id).encode(0)
    return Made(_partition_of(group_id), key, b"\0\0" + ConsumerGroupMetadataValue(epoch=number).encode(0))

"""Batches in the compression of their topic, where that is another than the producer's (PD-22).

Packing can take very long: gzip of level 9 takes three seconds for the worst MiB, zstd of level 19 one. What is long
is packed before the append, in steps (request_scans.py); the append takes the result.
"""

from collections.abc import Generator
from typing import Final

from fakebroker.broker.core.logs.config import LogConfig
from fakebroker.protocol.pace import Pace, finished
from fakebroker.protocol.records.batch import BatchHeader, parse_header, read_records, with_times
from fakebroker.protocol.records.batch_format import (
    ATTRIBUTES_POSITION,
    CODEC_BITS,
    LOG_APPEND_TIME_BIT,
    MAGIC_POSITION,
    TRANSACTIONAL_BIT,
)
from fakebroker.protocol.records.compression import GZIP, ZSTD
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.records.record_scan import Recompressed, Scan
from fakebroker.protocol.records.rewrite import rebuild_in_steps

CODECS: Final = {"uncompressed": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
MAX_RECORDS: Final = 100_000  # of one batch, which are decoded
RECORDS_PER_STEP: Final = 2_000
MAX_BYTES: Final = 32 << 20
MAX_BYTES_AT_ONCE: Final = 8 << 20
MAX_SLOW_BYTES_AT_ONCE: Final = 512 << 10
_FAST_LEVELS: Final = {"gzip": 6, "zstd": 12}  # up to these; codecs that are not here are always fast
_SHORT_BYTES: Final = 16 << 10
_BESIDE_BYTES: Final = 64 << 10


def codec_of(header: BatchHeader, config: LogConfig) -> int:
    """The codec in which a batch is stored."""
    return header.codec if config.compression_type == "producer" else CODECS[config.compression_type]


def is_long(batch: bytes, config: LogConfig) -> bool:
    """Whether a whole batch of format 2 may take long to recompress, judged by its first bytes."""
    if config.compression_type == "producer" or batch[MAGIC_POSITION] < 2:
        return False
    sent, codec = batch[ATTRIBUTES_POSITION + 1] & CODEC_BITS, CODECS[config.compression_type]
    return codec in (GZIP, ZSTD) and codec != sent and (bool(sent) or len(batch) > _SHORT_BYTES)


def holds_much(seen: Scan, config: LogConfig) -> bool:
    """Whether only one batch at a time should be packed: it is large, or its packing takes much memory."""
    return seen.size_bytes > _BESIDE_BYTES or _is_slow(config)


def has_too_much(header: BatchHeader, seen: Scan) -> bool:
    """Whether a batch has too much to be recompressed, in steps or at once (MOCK)."""
    return header.records_count > MAX_RECORDS or seen.size_bytes > MAX_BYTES


def is_too_large(header: BatchHeader, seen: Scan, config: LogConfig) -> bool:
    """Whether a batch has too much to be recompressed (MOCK), or too much to be recompressed at once."""
    if has_too_much(header, seen):
        return True
    most = MAX_SLOW_BYTES_AT_ONCE if _is_slow(config) else MAX_BYTES_AT_ONCE
    return seen.size_bytes > most and not _is_ready(seen, header, config)


def _is_slow(config: LogConfig) -> bool:
    level = config.compression_level
    return level is not None and level > _FAST_LEVELS.get(config.compression_type, level)


def recompress_in_steps(data: bytes, header: BatchHeader, config: LogConfig) -> Generator[None, None, Recompressed]:
    """A batch in the topic's codec, its offsets counted from 0; in steps, the first before it takes memory."""
    codec, level, pace = codec_of(header, config), config.compression_level, Pace(RECORDS_PER_STEP)
    yield
    records = list[Record]()
    for index, record in enumerate(read_records(data, is_checked=True)):
        records.append(record._replace(offset=index))
        if pace.is_over():
            yield
    attributes = header.attributes & TRANSACTIONAL_BIT | codec
    wanted = header._replace(leader_epoch=0, base_offset=0, attributes=attributes, last_offset_delta=len(records) - 1)
    return Recompressed(codec, level, (yield from rebuild_in_steps(wanted, records, pace, level=level)))


def recompressed(data: bytes, header: BatchHeader, seen: Scan, config: LogConfig, now_ms: int) -> bytes:
    """A batch in the topic's codec, with the timestamps that the topic wants."""
    ready = seen.recompressed if _is_ready(seen, header, config) else None
    batch = (ready or finished(recompress_in_steps(data, header, config))).batch
    if not config.log_append_time:
        return batch
    attributes = parse_header(batch).attributes | LOG_APPEND_TIME_BIT
    return with_times(batch, attributes=attributes, max_timestamp_ms=now_ms)


def _is_ready(seen: Scan, header: BatchHeader, config: LogConfig) -> bool:
    """Whether a batch was recompressed, and the topic still wants it so."""
    ready = seen.recompressed
    return ready is not None and (ready.codec, ready.level) == (codec_of(header, config), config.compression_level)

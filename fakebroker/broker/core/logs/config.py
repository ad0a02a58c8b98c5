"""The topic settings that a log lives by, read once into plain attributes (every produced batch looks at a dozen)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fakebroker.broker.settings.message_formats import NEWEST_MAGIC, magic_of

_LONG_MAX = 2**63 - 1


@dataclass(frozen=True, slots=True)
class LogConfig:
    """One topic's settings, as its logs see them. Defaults are Kafka's."""

    segment_bytes: int = 1 << 30
    segment_ms: int = 604_800_000
    segment_index_bytes: int = 10_485_760
    index_interval_bytes: int = 4096
    max_message_bytes: int = 1_048_588
    log_append_time: bool = False  # message.timestamp.type
    timestamp_before_max_ms: int = _LONG_MAX
    timestamp_after_max_ms: int = 3_600_000
    magic: int = NEWEST_MAGIC  # message.format.version; counts in releases before 3.0
    compression_type: str = "producer"
    compression_level: int | None = None  # of the codec that compression_type names
    min_insync_replicas: int = 1
    compact: bool = False  # cleanup.policy
    delete: bool = True
    retention_ms: int = 604_800_000
    retention_bytes: int = -1
    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = _LONG_MAX
    delete_retention_ms: int = 86_400_000
    roll_ms: int = field(init=False)
    """After which span of record time a segment is full (SE-1)."""

    def __post_init__(self) -> None:
        roll_ms = min(self.segment_ms, self.max_compaction_lag_ms) if self.compact else self.segment_ms
        object.__setattr__(self, "roll_ms", roll_ms)

    @classmethod
    def read(cls, get: Callable[[str], Any]) -> "LogConfig":
        """Read it through `get`, which gives the effective value of a topic setting by its Kafka name.

        It gives None for the settings that the release does not have.
        """
        policy = get("cleanup.policy")
        codec = get("compression.type")
        leveled = codec in ("gzip", "lz4", "zstd")
        difference_ms = get("message.timestamp.difference.max.ms")
        version = get("message.format.version")
        return cls(
            segment_bytes=get("segment.bytes"),
            segment_ms=get("segment.ms"),
            segment_index_bytes=get("segment.index.bytes"),
            index_interval_bytes=get("index.interval.bytes"),
            max_message_bytes=get("max.message.bytes"),
            log_append_time=get("message.timestamp.type") == "LogAppendTime",
            timestamp_before_max_ms=_one_side_ms(get("message.timestamp.before.max.ms"), difference_ms),
            timestamp_after_max_ms=_one_side_ms(get("message.timestamp.after.max.ms"), difference_ms),
            magic=NEWEST_MAGIC if version is None else magic_of(version),
            compression_type=codec,
            compression_level=get(f"compression.{codec}.level") if leveled else None,
            min_insync_replicas=get("min.insync.replicas"),
            compact="compact" in policy,
            delete="delete" in policy,
            retention_ms=get("retention.ms"),
            retention_bytes=get("retention.bytes"),
            min_cleanable_dirty_ratio=get("min.cleanable.dirty.ratio"),
            min_compaction_lag_ms=get("min.compaction.lag.ms"),
            max_compaction_lag_ms=get("max.compaction.lag.ms"),
            delete_retention_ms=get("delete.retention.ms"),
        )


def _one_side_ms(bound_ms: int, difference_ms: int | None) -> int:
    """How far a timestamp may be on one side of now: what is set for the side, else for both (PD-18)."""
    return difference_ms if difference_ms is not None and bound_ms == _LONG_MAX else bound_ms

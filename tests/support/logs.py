"""Logs without a broker's APIs: a cluster of settings and topics, batches with short names, time that is driven."""

from collections.abc import Sequence
from typing import Any

from fakebroker.broker.core.logs.log import Appended, PartitionLog
from fakebroker.broker.core.topics import Partition, Topic
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from tests.support.cluster import make_cluster
from tests.support.time import DAY, T0, TimeDriven

NOW = Instant(wall_ms=T0 + 1_000_000, mono_ms=0)
EVERYTHING = 1 << 60
DAY_MS = DAY


class Pairs:
    """Keys and values as the coordinator gives them to a log; counts how often it was asked for bytes."""

    def __init__(self, *pairs: tuple[bytes | None, bytes | None]) -> None:
        self._pairs = pairs
        self.asked = 0
        self.superseded = False

    def __len__(self) -> int:
        return len(self._pairs)

    def memory_bytes(self) -> int:
        return 1000 * len(self._pairs)

    def all_overwritten(self) -> bool:
        return self.superseded

    def records(self) -> Sequence[tuple[bytes | None, bytes | None]]:
        self.asked += 1
        return self._pairs


class LogsCluster(TimeDriven):
    """One cluster. `now` moves by `advance`, which runs the jobs that fall due. As 3.9, segments may be tiny."""

    def __init__(self, settings: dict[str, object] | None = None, as_release: str = "3.9") -> None:
        self.cluster = make_cluster(settings, as_release)
        super().__init__(self.cluster.timers, NOW)
        self.cluster.log_jobs.start(NOW)

    def topic(self, name: str = "t", partitions: int = 1, **config: Any) -> Topic:
        own = {key.replace("_", "."): str(value) for key, value in config.items()}
        return self.cluster.topics.create(name, partitions, 1, own)

    def log(self, **config: Any) -> PartitionLog:
        return self.topic(**config).partitions[0].log

    def append(self, log: PartitionLog, *times_ms: int, **fields: Any) -> Appended:
        """Append one batch with a record per timestamp."""
        return log.append(batch(*times_ms, **fields), self.now)


def partition_of(log: PartitionLog) -> Partition:
    """The partition of a log that `LogsCluster` made."""
    assert isinstance(log.partition, Partition)
    return log.partition


def batch(*times_ms: int, key: bytes | None = b"k", value: bytes | None = b"v", **fields: Any) -> bytes:
    """A batch as a client sends it: a record per timestamp; `fields` go to build_batch."""
    return build_batch([Record(n, time_ms, key, value) for n, time_ms in enumerate(times_ms)], **fields)


def keyed(*pairs: tuple[str | None, str | None], time_ms: int = T0, **fields: Any) -> bytes:
    """A batch of (key, value) records."""
    encoded = [tuple(None if text is None else text.encode() for text in pair) for pair in pairs]
    return build_batch([Record(n, time_ms, key, value) for n, (key, value) in enumerate(encoded)], **fields)

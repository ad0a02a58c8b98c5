"""What a recording shows of a cluster as it was before the first client came."""

from dataclasses import dataclass, field
from typing import Protocol

from fakebroker.protocol.records.batch import split_batches

TopicPartition = tuple[str, int]  # topic, partition


@dataclass
class LogBefore:
    """A partition's log: its first and next offset, and batches that no client of the session wrote."""

    start: int | None = None
    end: int | None = None
    batches: dict[int, bytes] = field(default_factory=dict)
    appended: dict[int, None] = field(default_factory=dict)  # base offsets of what the session's clients produced

    def saw_end(self, offset: int) -> None:
        """Note a high watermark or end offset; the first counts."""
        if self.end is None and offset >= 0:
            self.end = offset

    def saw_start(self, offset: int) -> None:
        """Note a log start offset; the first counts."""
        if self.start is None and offset >= 0:
            self.start = offset

    def saw_append(self, base_offset: int) -> None:
        """A client appended there: the log ended there or before."""
        if base_offset >= 0:
            self.end = base_offset if self.end is None else min(self.end, base_offset)
            self.appended[base_offset] = None
            self.batches.pop(base_offset, None)

    def saw_records(self, data: bytes) -> None:
        """A client read these batches: they were there before, or others than the session's clients produced them."""
        for batch in split_batches(data):
            base_offset = int.from_bytes(batch[:8], "big")
            if base_offset not in self.appended:
                self.batches.setdefault(base_offset, batch)


@dataclass
class TopicBefore:
    """A topic: how many partitions, on which brokers, with which settings."""

    partitions: int
    replicas: dict[int, list[int]] = field(default_factory=dict)
    config: dict[str, str] = field(default_factory=dict)
    topic_id: str | None = None


class RecordedState(Protocol):
    """The cluster at the start of a recording; what it does not show is empty or None."""

    started_wall_ms: int
    nodes: dict[int, str | None]  # node id -> rack
    topics: dict[str, TopicBefore]
    logs: dict[TopicPartition, LogBefore]
    placements: dict[str, dict[int, tuple[int, list[int]]]]  # topic -> partition -> leader, replicas
    coordinators: dict[str, int]  # group id -> node id
    settings: dict[str, str]
    release: str | None
    created_later: dict[str, int]  # topics that were created by asking for them -> partitions

    @property
    def node_ids(self) -> list[int]:
        """The brokers, in order."""

"""Commits that repeat one before them with other offsets: kept as columns, and as rows once somebody looks.

A client commits the same partitions again and again, with the same metadata and leader epochs. Only the offsets and the
time differ, so that is what a repetition keeps; the rest is in a `CommitTemplate`, which all repetitions share. Most
repetitions are overwritten by the next one before anybody reads them, and never become rows.
"""

from collections.abc import Sequence
from struct import Struct
from typing import TYPE_CHECKING, Final

from fakebroker.broker.core.logs.pending_batches import EncodedRecords
from fakebroker.broker.core.offsets.commit_validator import expire_timestamp
from fakebroker.broker.core.offsets.records import OffsetCommits
from fakebroker.protocol.records.batch_format import NO_TIMESTAMP
from fakebroker.protocol.records.offsets_codec import Format
from fakebroker.protocol.records.offsets_topic import StoredOffset
from fakebroker.protocol.records.record_codec import encode_plain_records

if TYPE_CHECKING:
    from fakebroker.broker.core.logs.pending_batches import Pair
    from fakebroker.broker.core.offsets.group_offsets import GroupOffsets

_NUMBER_BYTES = 8


class CommitTemplate:
    """What the repetitions of a commit share: its group, and each partition with leader epoch, metadata and topic id.

    `memory_bytes` and `size_bytes` (of the batch) are the same for all of them, since offsets and times have a fixed
    size in a record.
    """

    __slots__ = ("_format", "_pattern", "cache", "group_id", "memory_bytes", "retention_ms", "rows", "size_bytes")

    def __init__(
        self,
        group_id: str,
        offsets: Sequence[StoredOffset],
        retention_ms: int | None,
        record_format: Format,
        cache: "GroupOffsets",
    ) -> None:
        """`offsets` are those of one such commit, `cache` is that of its group.

        `retention_ms` gives each offset an expire timestamp that long after its commit; None: no such timestamp.
        """
        self.group_id = group_id
        # Offset and times are those of no commit, so that two of these compare equal if they mean the same.
        self.rows = [
            (topic, partition, 0, leader_epoch, metadata, 0, 0, topic_id)
            for topic, partition, _, leader_epoch, metadata, _, _, topic_id in offsets
        ]
        self.retention_ms = retention_ms
        self.cache = cache
        self._format = record_format
        self._pattern: CommitPattern | None = None
        one = self.commits(offsets)
        self.memory_bytes = one.memory_bytes()
        self.size_bytes = one.size_bytes()

    def expire_ms(self, commit_ms: int) -> int:
        """The expire timestamp of what is committed at that time."""
        retention_ms = self.retention_ms
        return NO_TIMESTAMP if retention_ms is None else expire_timestamp(commit_ms, retention_ms)

    def commits(self, offsets: Sequence[StoredOffset]) -> OffsetCommits:
        """The same commit as rows."""
        return OffsetCommits(self.group_id, offsets, self._format, self.cache)

    def pattern(self) -> "CommitPattern":
        """What encodes the records of its repetitions, made once."""
        if self._pattern is None:
            self._pattern = CommitPattern(*(self._encoded_with(number) for number in (0, CommitPattern.MARK)))
        return self._pattern

    def _encoded_with(self, number: int) -> bytes:
        """The records, all of whose offsets and times are this number."""
        expire_ms = NO_TIMESTAMP if self.retention_ms is None else number
        offsets = [
            (topic, partition, number, leader_epoch, metadata, number, expire_ms, topic_id)
            for topic, partition, _, leader_epoch, metadata, _, _, topic_id in self.rows
        ]
        return encode_plain_records(self.commits(offsets).records())

    def means(self, other: "CommitTemplate") -> bool:
        """Whether repetitions of `other` could be repetitions of this one as well."""
        return self.retention_ms == other.retention_ms and self.rows == other.rows and self.cache is other.cache

    def partitions(self) -> set[tuple[str, int]]:
        """Topic and index of each partition."""
        return {row[:2] for row in self.rows}

    def has_any_of(self, partitions: set[tuple[str, int]]) -> bool:
        """Whether the template has one of these."""
        return any(row[:2] in partitions for row in self.rows)


class CommitPattern:
    """The encoded records of a commit, in which the numbers that differ from one repetition to the next are left out.

    Each of them has eight bytes at the same place in all repetitions. So a repetition takes one call of `Struct.pack`.
    """

    MARK: Final = 0x7F7F7F7F7F7F7F7F
    """A number that differs from 0 in each of its bytes."""

    __slots__ = ("_pack", "_parts")

    def __init__(self, zeros: bytes, marks: bytes) -> None:
        """The same records, whose numbers are all 0, and all MARK."""
        places: list[int] = []
        for at, (zero, mark) in enumerate(zip(zeros, marks, strict=True)):
            if zero != mark and (not places or at >= places[-1] + _NUMBER_BYTES):
                places.append(at)
        ends = [0, *(place + _NUMBER_BYTES for place in places)]
        between = [zeros[end:place] for end, place in zip(ends, [*places, len(zeros)], strict=True)]
        self._parts: list[bytes | int] = [0] * (2 * len(places) + 1)
        self._parts[::2] = between
        self._pack = Struct(">" + "q".join(f"{len(part)}s" for part in between)).pack

    def encode(self, numbers: Sequence[int]) -> bytes:
        """The records with these numbers, in their order."""
        parts = self._parts
        parts[1::2] = numbers
        return self._pack(*parts)


class RepeatedCommit(EncodedRecords):
    """The records of one such commit (`DeferredRecords`): an offset for each row of the template, and the time."""

    __slots__ = ("_rows", "commit_ms", "offsets", "template")

    def __init__(self, template: CommitTemplate, offsets: Sequence[int], commit_ms: int) -> None:
        self.template = template
        self.offsets = offsets
        self.commit_ms = commit_ms
        self._rows: list[StoredOffset] | None = None

    def __len__(self) -> int:
        return len(self.template.rows)

    def rows(self) -> list[StoredOffset]:
        """The offsets as the cache keeps them: made once, so that log and cache share them."""
        rows = self._rows
        if rows is None:
            commit_ms = self.commit_ms
            expire_ms = self.template.expire_ms(commit_ms)
            rows = self._rows = [
                (topic, partition, offset, leader_epoch, metadata, commit_ms, expire_ms, topic_id)
                for (topic, partition, _, leader_epoch, metadata, _, _, topic_id), offset in zip(
                    self.template.rows, self.offsets, strict=True
                )
            ]
        return rows

    def records(self) -> "list[Pair]":
        """Keys and values as bytes."""
        return self.template.commits(self.rows()).records()

    def encoded(self) -> bytes:
        """The records as they stand in a batch."""
        template, commit_ms = self.template, self.commit_ms
        count, fields = len(self.offsets), 2 if template.retention_ms is None else 3
        numbers = [commit_ms] * (count * fields)
        numbers[::fields] = self.offsets
        if fields > 2:
            numbers[2::fields] = [template.expire_ms(commit_ms)] * count
        return template.pattern().encode(numbers)

    def memory_bytes(self) -> int:
        """What it takes as rows: somebody may look while it is pending.

        So the log drops and stores pending batches at the same points, whether commits came as columns or as rows.
        """
        return self.template.memory_bytes

    def all_overwritten(self) -> bool:
        """Whether later records replaced all of them.

        Nearly all commits never become rows; of those only the latest one of each template is in the cache. Rows are
        looked for in the cache only if there was no repetition since: a look would make rows of what has come later.
        """
        template = self.template
        latest = template.cache.latest_of(template)
        if latest is not None:
            return latest is not self
        return self._rows is None or template.commits(self._rows).all_overwritten()

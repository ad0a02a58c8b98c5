"""The committed offsets of one group: a cache of the last record of each partition, changed only by replay (LD-2).

A committed offset is one tuple, shared with the log's pending batches. Offsets committed in a transaction are kept
beside the cache until the transaction's end marker is replayed. Kafka: `OffsetMetadataManager`.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from fakebroker.broker.core.offsets.pending import PendingOffsets
from fakebroker.broker.core.offsets.repeated_commit import CommitTemplate, RepeatedCommit
from fakebroker.protocol.records.offsets_topic import PARTITION, TOPIC, CommittedOffset, StoredOffset, TopicPartition

if TYPE_CHECKING:
    from fakebroker.broker.core.logs.pending_batches import DeferredRecords
    from fakebroker.protocol.instant import Instant
    from fakebroker.protocol.records.offsets_codec import Format

NEVER: Final = 1 << 63  # later than every time that fits into a record
_NOTHING: Final[dict[int, StoredOffset]] = {}


class CommitLog(Protocol):
    """The log that repeated commits are appended to."""

    def append_records(self, records: "DeferredRecords", now: "Instant") -> int:
        """Append one batch; returns its base offset."""


class GroupOffsets:
    """Committed and pending offsets of one group.

    `check_ms` is when the group's entry in the cleanup's queue comes up (`cleanup.py`): none of its offsets is due
    before that.
    """

    __slots__ = ("_has_unread", "_repeated", "_topics", "check_ms", "pending")

    def __init__(self) -> None:
        self._topics: dict[str, dict[int, StoredOffset]] = {}
        # The latest repetition of each commit that is repeated, None once it is in `_topics`. No partition is in two of
        # them, so that they may enter `_topics` in any order, and the latest one alone counts.
        self._repeated: dict[CommitTemplate, RepeatedCommit | None] = {}
        self._has_unread = False  # some of them are not in `_topics` yet
        self.pending: PendingOffsets | None = None  # made by the first transactional commit
        self.check_ms = NEVER

    @property
    def topics(self) -> dict[str, dict[int, StoredOffset]]:
        """The committed offsets: topics, and partitions within a topic, in the order of their first commit.

        Repeated commits become rows.
        """
        if self._has_unread:
            self._read_repeated()
        return self._topics

    # -- replay: the only way to change it -----------------------------------------------------------------------

    def replay(self, offsets: Sequence[StoredOffset], base_offset: int = 0) -> None:
        """Apply records of plain commits in log order, the first at `base_offset`: the last per partition wins."""
        self._store(self.topics, offsets)
        if self.pending:
            for log_offset, stored in enumerate(offsets, base_offset):
                self.pending.supersede(stored[TOPIC], stored[PARTITION], log_offset)

    def _store(self, topics: dict[str, dict[int, StoredOffset]], offsets: Sequence[StoredOffset]) -> None:
        name: str | None = None
        partitions: dict[int, StoredOffset] = {}
        for stored in offsets:
            if stored[TOPIC] != name:
                name = stored[TOPIC]
                partitions = topics.setdefault(name, {})
            partitions[stored[PARTITION]] = stored

    # -- repeated commits ----------------------------------------------------------------------------------------

    def repeatable(
        self, group_id: str, offsets: Sequence[StoredOffset], retention_ms: int | None, record_format: "Format"
    ) -> CommitTemplate:
        """What `repeat` takes to commit the partitions of `offsets` again, with their metadata and leader epochs.

        Connections that repeat the same commit get the same template, so that neither makes rows of what the other
        commits. `retention_ms`: see `CommitTemplate`.
        """
        template = CommitTemplate(group_id, offsets, retention_ms, record_format, self)
        return next((known for known in self._repeated if known.means(template)), template)

    def repeat(self, template: CommitTemplate, offsets: Sequence[int], now: "Instant", log: "CommitLog") -> None:
        """Append one more commit of these partitions to the log, and apply it.

        `offsets` has one for each row of the template.
        """
        commit = RepeatedCommit(template, offsets, now.wall_ms)
        base_offset = log.append_records(commit, now)
        if self.pending:
            self.replay(commit.rows(), base_offset)
            return
        repeated = self._repeated
        if template not in repeated:
            self._make_way_for(template)
        repeated[template] = commit
        self._has_unread = True

    def latest_of(self, template: CommitTemplate) -> RepeatedCommit | None:
        """The latest repetition that has this template, unless it has become rows. For `RepeatedCommit`."""
        return self._repeated.get(template)

    def end(self) -> None:
        """The group has ended. What its offsets hold does not wait for the cycle collector."""
        self._forget_repeated()

    def _forget_repeated(self) -> None:
        """Keep everything as rows."""
        self._read_repeated()
        self._repeated.clear()

    def _read_repeated(self) -> None:
        """Put the latest repetitions into `_topics`."""
        self._has_unread = False
        repeated = self._repeated
        for template, commit in repeated.items():
            if commit is not None:
                self._store(self._topics, commit.rows())
                repeated[template] = None

    def _make_way_for(self, template: CommitTemplate) -> None:
        """Forget repeated commits that have partitions in common with `template`; what they committed is kept."""
        self._read_repeated()
        partitions = template.partitions()
        for other in [other for other in self._repeated if other.has_any_of(partitions)]:
            del self._repeated[other]

    def replay_tombstones(self, deleted: Iterable[tuple[str, int] | StoredOffset]) -> None:
        """Apply tombstones: nothing is stored or pending any more for these partitions (OD-7, CR-18).

        Each entry is a tuple that begins with topic and partition: a TopicPartition, or the deleted offset itself.
        """
        self._forget_repeated()  # the next commit may be the first of its topic, and `topics` keeps that order
        topics = self._topics
        for entry in deleted:
            topic, partition = entry[TOPIC], entry[PARTITION]
            partitions = topics.get(topic)
            if partitions is not None and partitions.pop(partition, None) is not None and not partitions:
                del topics[topic]
            if self.pending:
                self.pending.drop(topic, partition)

    def replay_all_tombstones(self) -> None:
        """Apply tombstones of all that is stored; nothing is pending."""
        assert not self.pending
        self._forget_repeated()
        self._topics.clear()

    def replay_pending(self, producer_id: int, offsets: Sequence[StoredOffset], base_offset: int) -> None:
        """Apply records of a transactional commit: they wait for their marker (OC-16)."""
        if self.pending is None:
            self.pending = PendingOffsets()
        self.pending.add(producer_id, offsets, base_offset)

    def replay_end_transaction_marker(self, producer_id: int, commit: bool) -> None:
        """Apply the marker that ends a transaction (LD-2): its pending offsets become committed, or are dropped."""
        if self.pending:
            for stored in self.pending.complete(producer_id, commit):
                self.topics.setdefault(stored[TOPIC], {})[stored[PARTITION]] = stored

    # -- reading -------------------------------------------------------------------------------------------------

    def get(self, topic: str, partition: int) -> CommittedOffset | None:
        """The committed offset of a partition, or None."""
        stored = self.topics.get(topic, _NOTHING).get(partition)
        return None if stored is None else CommittedOffset._make(stored)

    def has(self, topic: str, partition: int) -> bool:
        """Whether an offset of the partition is stored or pending."""
        return partition in self.topics.get(topic, _NOTHING) or self.is_pending(topic, partition)

    def is_pending(self, topic: str, partition: int) -> bool:
        """Whether an open transaction has committed an offset of the partition (OF-9, EX-4)."""
        return self.pending is not None and self.pending.has(topic, partition)

    def is_empty(self) -> bool:
        """Whether nothing is stored and nothing pending (EX-9)."""
        return not self.topics and not self.pending

    def partitions(self) -> list[TopicPartition]:
        """Every partition with a committed or a pending offset: committed ones first, each once."""
        found = dict.fromkeys(TopicPartition(each[TOPIC], each[PARTITION]) for each in self)
        if self.pending:
            found.update(dict.fromkeys(self.pending.partitions()))
        return list(found)

    def partitions_of(self, topic: str) -> list[TopicPartition]:
        """Those of `partitions()` that belong to one topic, committed ones first."""
        if topic not in self.topics and not self.pending:  # deletions of many topics ask many groups
            return []
        found = dict.fromkeys(TopicPartition(topic, index) for index in self.topics.get(topic, ()))
        if self.pending:
            found.update(dict.fromkeys(self.pending.partitions_of(topic)))
        return list(found)

    def __iter__(self) -> Iterator[StoredOffset]:
        for partitions in self.topics.values():
            yield from partitions.values()

    def __len__(self) -> int:
        return sum(map(len, self.topics.values()))

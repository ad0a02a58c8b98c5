"""One partition of `__consumer_offsets` on the node that owns it: its groups, and the log they come from.

The log is the truth: what a shard decides it appends, and the cache is updated from the same records by the same
`replay` that a load uses. A shard knows no API and no version; what a request may do is checked before it comes here.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from fakebroker.core.events import CoreEvent, Transition
from fakebroker.core.groups.classic_group import ClassicGroup
from fakebroker.core.groups.states import State
from fakebroker.core.offsets.cleanup import Cleanup
from fakebroker.core.offsets.records import GroupRecord, OffsetCommits, Several, Tombstones
from fakebroker.errors import ErrorCode, KafkaError
from fakebroker.instant import Instant
from fakebroker.records.offsets_codec import Format
from fakebroker.records.offsets_topic import GroupValue, StoredOffset, TopicPartition

if TYPE_CHECKING:
    from fakebroker.core.logs.unsettled import LazyRecords
    from fakebroker.core.node import Node
    from fakebroker.core.topics import Partition

_SURELY_FIT = 16  # offsets with the largest metadata there may be, into the smallest batch that is of use


class Shard:
    """The groups of one partition. Implements GroupHost for them.

    `since` is when the node became its owner: cleanups run at whole intervals from there (EX-1). `refusal` is what
    every request is answered with while there is nothing to answer from: 14 during a load, 16 after one that failed.
    """

    def __init__(self, node: "Node", partition: "Partition", since: Instant) -> None:
        cluster = node.cluster
        self.settings = node.settings
        self.behaviours = cluster.behaviours
        self.timers = cluster.timers
        self.partition = partition
        self.groups: dict[str, ClassicGroup] = {}
        self.open_transactions: dict[int, dict[str, None]] = {}  # producer id -> groups with pending offsets
        self.refusal: ErrorCode | None = None
        self.cleanup = Cleanup(self, since.wall_ms)
        self.cluster = cluster
        self.metadata_limit = self.settings.int("offset.metadata.max.bytes")
        self.stores_topic_ids = self.behaviours.offset_value_version >= 4
        self._log = partition.log
        self._format = Format(self.behaviours.offset_value_version, self.behaviours.group_value_version)

    # -- groups --------------------------------------------------------------------------------------------------

    def group(self, group_id: str) -> ClassicGroup | None:
        """The group of that name, or None."""
        return self.groups.get(group_id)

    def create_group(self, group_id: str, now: Instant, *, for_commit: bool = False) -> ClassicGroup:
        """A new Empty group (ST-1, ST-2). Nothing is written: who creates it knows whether to (CR-12).

        The next cleanup will see whether it is still without offsets (EX-9), unless it is made `for_commit`.
        """
        group = self.groups[group_id] = ClassicGroup(group_id, self, now)
        if not for_commit:
            self.look_at(group, now)
        return group

    def delete_group(self, group: ClassicGroup, now: Instant) -> None:
        """Remove an Empty group and all its offsets: one batch of tombstones (DG-2, CR-14)."""
        partitions = group.offsets.partitions()
        self.append(Tombstones(group.group_id, partitions, self.needs_tombstone(group)), now)
        group.offsets.replay_tombstones(partitions)
        self.forget(group, now, "deleted")

    def adopt(self, group: ClassicGroup, now: Instant) -> None:
        """A group that a load found in the log."""
        self.groups[group.group_id] = group
        for producer_id in group.offsets.pending.producer_ids() if group.offsets.pending else ():
            self.open_transactions.setdefault(producer_id, {})[group.group_id] = None
        self.look_at(group, now)

    def unload(self, now: Instant) -> None:
        """Another broker owns the partition now: parked requests get 16, timers die (ST-14)."""
        self.cleanup.stop()
        groups, self.groups = self.groups, {}
        for group in groups.values():
            group.unload(now)

    def look_at(self, group: ClassicGroup, now: Instant) -> None:
        """Something about the group changed: the next cleanup looks at it."""
        self.cleanup.touch(group, now.wall_ms, now.wall_ms)

    def needs_tombstone(self, group: ClassicGroup) -> bool:
        """Does the end of the group leave a record of its own (EX-10)?"""
        return self.behaviours.tombstone_for_every_group or group.generation > 0

    def forget(self, group: ClassicGroup, now: Instant, reason: str) -> None:
        """The group is gone from the log: end it and take it out of the cache. `reason` is for the journal."""
        del self.groups[group.group_id]
        group.die(now, reason)

    # -- offsets -------------------------------------------------------------------------------------------------

    def commit(
        self, group: ClassicGroup, offsets: Sequence[StoredOffset], now: Instant, *, own_times: bool = False
    ) -> None:
        """Append and apply the offsets of one OffsetCommit: one batch, all or nothing (OC-13, CR-14).

        They all age alike, unless the client gave each a commit timestamp (`own_times`, OC-10). Raises KafkaError,
        and changes nothing, if they do not fit into a batch (OC-14).
        """
        base_offset = self._log.append_records(self._commits(group, offsets), now)
        group.offsets.replay(offsets, base_offset)
        if own_times:
            self.look_at(group, now)
        else:
            self.cleanup.committed(group, offsets[0], now.wall_ms)

    def commit_pending(
        self, group: ClassicGroup, producer: tuple[int, int], offsets: Sequence[StoredOffset], now: Instant
    ) -> None:
        """Append and apply the offsets of one TxnOffsetCommit; `producer` is id and epoch (OC-16, CR-14).

        Raises KafkaError as `commit` does.
        """
        base_offset = self._log.append_records(self._commits(group, offsets), now, producer=producer)
        self.replay_pending(group, producer[0], offsets, base_offset)

    def _commits(self, group: ClassicGroup, offsets: Sequence[StoredOffset]) -> OffsetCommits:
        records = OffsetCommits(group.group_id, offsets, self._format, group.offsets)
        if len(offsets) > _SURELY_FIT and records.is_larger_than(self._log.config.max_message_bytes):
            raise KafkaError(self.behaviours.code_of_large_commits, "the offsets do not fit into a batch")
        return records

    def replay_pending(
        self, group: ClassicGroup, producer_id: int, offsets: Sequence[StoredOffset], base_offset: int
    ) -> None:
        """Apply records of a transaction: they wait for its marker (LD-2)."""
        group.offsets.replay_pending(producer_id, offsets, base_offset)
        self.open_transactions.setdefault(producer_id, {})[group.group_id] = None

    def replay_end_transaction_marker(self, producer_id: int, commit: bool, now: Instant) -> None:
        """Apply the marker that ends a transaction: its offsets count, or never were (LD-2)."""
        for group_id in self.open_transactions.pop(producer_id, {}):
            group = self.groups.get(group_id)
            if group is not None:
                group.offsets.replay_end_transaction_marker(producer_id, commit)
                self.look_at(group, now)

    def delete_offsets(self, group: ClassicGroup, partitions: Iterable[TopicPartition], now: Instant) -> None:
        """Remove the offsets of these partitions; tombstones only where something is stored or pending (OD-8)."""
        self.append(self._delete_offsets(group, partitions, now), now)

    def _delete_offsets(self, group: ClassicGroup, partitions: Iterable[TopicPartition], now: Instant) -> Tombstones:
        offsets = group.offsets
        present = [each for each in partitions if offsets.get(*each) is not None or offsets.is_pending(*each)]
        offsets.replay_tombstones(present)
        if self.behaviours.emptied_group_goes_at_once and group.state is State.EMPTY and offsets.is_empty():
            self.forget(group, now, "Empty, and its last offset was deleted")
            return Tombstones(group.group_id, present, self.needs_tombstone(group))
        if present:
            self.look_at(group, now)
        return Tombstones(group.group_id, present)

    def topic_deleted(self, topic: str, now: Instant) -> None:
        """Drop the topic's offsets in all groups (EX-12)."""
        groups = list(self.groups.values())
        self.append_all([self._delete_offsets(each, each.offsets.partitions_of(topic), now) for each in groups], now)

    def append_all(self, tombstones: Sequence[Tombstones], now: Instant) -> None:
        """Append what several groups lost at once: one batch (CR-14); 3.9.1 writes one for each group."""
        if self.behaviours.groups_expire_in_one_batch:
            self.append(Several(tombstones), now)
        else:
            for each in tombstones:
                self.append(each, now)

    def append(self, records: "LazyRecords", now: Instant) -> None:
        """Append the records of one write other than a commit, if it has any."""
        if len(records):
            self._log.append_records(records, now, base_sequence=self.behaviours.base_sequence_of_groups)

    # -- GroupHost -----------------------------------------------------------------------------------------------

    def new_member_id(self, prefix: str) -> str:
        """A member id nobody has (JG-14)."""
        return self.cluster.new_member_id(prefix)

    def write_group(self, group_id: str, value: GroupValue, now: Instant) -> ErrorCode:
        """Append the group's record (CR-12). Returns NONE, or MESSAGE_TOO_LARGE (ST-8).

        The metadata and assignments of all members together may be too large for one record. Nothing else can fail:
        the node leads the partition, and the append does not wait for other replicas.
        """
        record = GroupRecord(group_id, value, self._format)
        if record.is_larger_than(self._log.config.max_message_bytes):
            return ErrorCode.MESSAGE_TOO_LARGE
        self.append(record, now)
        return ErrorCode.NONE

    def emit(self, event: CoreEvent) -> None:
        """Pass on what happened. A group that changed its state ages differently, so look at it again."""
        self.cluster.outbox.append(event)
        if isinstance(event, Transition):
            group = self.groups.get(event.group_id)
            if group is not None:
                self.cleanup.touch(group, group.state_ms, group.state_ms)

    def __iter__(self) -> Iterator[ClassicGroup]:
        return iter(self.groups.values())

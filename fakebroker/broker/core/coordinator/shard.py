"""One partition of `__consumer_offsets` on the node that leads it: its groups, and the log they come from.

The log comes first: what a shard decides it appends, then it changes the cache from the same values by the same
`replay...` methods that loading uses. A shard knows no API and no version; what a request may do is checked before it
comes here. Kafka: `GroupCoordinatorShard`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from fakebroker.broker.core.coordinator.cleanup import Cleanup
from fakebroker.broker.core.coordinator.runtime.coordinator_shard import CoordinatorShard
from fakebroker.broker.core.coordinator.stored_groups import restored, stored_group
from fakebroker.broker.core.coordinator.unseen_groups import UnseenGroups
from fakebroker.broker.core.events import MOVED, CoordinatorRecords, CoreEvent, OffsetsDeleted, Transition
from fakebroker.broker.core.groups.classic.classic_group import ClassicGroup
from fakebroker.broker.core.groups.group import Group
from fakebroker.broker.core.groups.kinds import GroupKind
from fakebroker.broker.core.logs.log import PartitionLog
from fakebroker.broker.core.offsets.commit_validator import CommitValidator
from fakebroker.broker.core.offsets.group_offsets import NEVER
from fakebroker.broker.core.offsets.records import ClassicGroupRecord, GroupRecords, OffsetCommits, Several, Tombstones
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.records.offsets_codec import Format
from fakebroker.protocol.records.offsets_topic import (
    COMMIT_MS,
    EXPIRE_MS,
    GroupEntry,
    GroupValue,
    StoredOffset,
    TopicPartition,
)

if TYPE_CHECKING:
    from fakebroker.broker.core.coordinator.host import GroupCluster, GroupNode
    from fakebroker.broker.core.logs.pending_batches import DeferredRecords
    from fakebroker.broker.core.topics import Partition, Topics
    from fakebroker.broker.core.transactions.producer import Producer
    from fakebroker.protocol.records.group_records import GroupRecord

T = TypeVar("T")
GroupT = TypeVar("GroupT", bound=Group)
_GROUPS_PER_STEP = 1_000  # in which the offsets of a deleted topic are looked for
_SURELY_FIT = 16  # so many offsets with the longest metadata fit even into the smallest batch that may be configured


class Shard(CoordinatorShard):
    """The groups of one partition. Implements GroupHost for them."""

    write_timeout = "offsets.commit.timeout.ms"
    node: "GroupNode"
    cluster: "GroupCluster"

    def __init__(self, node: "GroupNode", partition: "Partition", since: Instant) -> None:
        """`since` is when the node became the coordinator: cleanups run at whole intervals from there (EX-1)."""
        super().__init__(node, partition)
        self.holds = self.cluster.holds
        self.groups: dict[str, Group] = {}
        self.open_transactions: dict[int, dict[str, None]] = {}  # producer id -> groups with pending offsets
        self.cleanup = Cleanup(self, since.wall_ms)
        self.metadata_max_bytes = self.settings.get_int("offset.metadata.max.bytes")  # read-only in Kafka
        self._unreplicated: list[tuple[int, Callable[[Instant], None]]] = []  # log end, what is applied then
        self._unseen = UnseenGroups()
        self._latest: dict[str, int] = {}  # group -> offset of its latest record, unless that is a tombstone
        self._format = Format(self.behaviours.offset_value_version, self.behaviours.group_value_version)

    # -- replicas ------------------------------------------------------------------------------------------------

    @property
    def is_replicated(self) -> bool:
        """Whether all replicas in sync have what was written; else answers wait for it (CLU-63, not before 4.0)."""
        if self.log.high_watermark == self.log.log_end_offset:
            return True
        return self.behaviours.coordinator_checks_min_isr and isinstance(self.log, PartitionLog)

    @property
    def has_too_few_replicas(self) -> bool:
        """Whether a write is refused because too few replicas are in sync; from 4.0 on none is (CLU-65)."""
        is_checked = self.behaviours.coordinator_checks_min_isr
        return is_checked and len(self.partition.isr) < self.partition.min_isr

    def _replay_late(self, group: Group, offsets: Sequence[StoredOffset], base_offset: int, now: Instant) -> None:
        group.offsets.replay(offsets, base_offset)
        self.look_at(group, now)

    def _apply_when_replicated(self, action: Callable[[Instant], None]) -> None:
        """Readers see what is replicated only: offsets of a commit appear when the replicas are back (CLU-64)."""
        self.log.materialize_pending()  # the cache cannot say of these whether they are overwritten
        self._unreplicated.append((self.log.log_end_offset, action))
        self.log.waiters[self] = self._apply_replicated

    def _apply_replicated(self, now: Instant) -> None:
        while self._unreplicated and self._unreplicated[0][0] <= self.log.high_watermark:
            self._unreplicated.pop(0)[1](now)
        if not self._unreplicated:
            self.log.waiters.pop(self, None)

    # -- groups --------------------------------------------------------------------------------------------------

    def group(self, group_id: str) -> Group | None:
        """The group of that id, or None."""
        return self.groups.get(group_id)

    def seen_group(self, group_id: str) -> Group | None:
        """The group of that id if clients that describe or list groups see it, or None (OC-19)."""
        is_unseen = self._unseen.hides(group_id, self.log.high_watermark)
        return None if is_unseen else self.groups.get(group_id)

    def seen_groups(self) -> Iterator[Group]:
        """Every group that clients see."""
        return (group for group in self if not self._unseen.hides(group.group_id, self.log.high_watermark))

    def hide_until_written(self, group: Group) -> None:
        """The group was just made for a commit: it is seen once that commit, or anything else, is written (OC-19)."""
        if self.behaviours.unwritten_groups_are_unseen:
            self._unseen.add(group.group_id, self.log.log_end_offset)

    def group_of(self, kind: type[GroupT], group_id: str) -> GroupT | None:
        """The group of that id if it is one of that class, else None."""
        group = self.groups.get(group_id)
        return group if isinstance(group, kind) else None

    def create_group(self, group_id: str, now: Instant, *, for_commit: bool = False) -> ClassicGroup:
        """Make a new Empty group (ST-1, ST-2). Nothing is written; that is up to the caller (CR-12).

        The next cleanup removes it if it still has no offsets (EX-9). With `for_commit` the caller commits offsets at
        once or calls `look_at` itself; that saves a commit to a new group an entry in the cleanup's queue.
        """
        group = self.groups[group_id] = ClassicGroup(group_id, self, now)
        if not for_commit:
            self.look_at(group, now)
        return group

    def delete_group(self, group_id: str, now: Instant) -> ErrorCode:
        """Remove an Empty group and all its offsets: one batch of tombstones (KIP-229, DG-2, CR-14).

        Returns GROUP_ID_NOT_FOUND, or NON_EMPTY_GROUP unless it is Empty; pending member ids do not prevent deletion, a
        running initial delay does (DG-3).
        """
        group = self.group(group_id)
        if group is None:
            return ErrorCode.GROUP_ID_NOT_FOUND
        if not group.is_empty:
            return ErrorCode.NON_EMPTY_GROUP
        partitions = group.offsets.partitions()
        self.append(self.tombstones(group, partitions, self.needs_tombstone(group)), now)
        group.offsets.replay_tombstones(partitions)
        self._tell_deleted(group, partitions, "its group was deleted")
        self.forget(group, now, "deleted")
        return ErrorCode.NONE

    def adopt(self, group: Group, now: Instant) -> None:
        """Add a group that a load found in the log."""
        self.groups[group.group_id] = group
        for producer_id in group.offsets.pending.producer_ids() if group.offsets.pending else ():
            self.open_transactions.setdefault(producer_id, {})[group.group_id] = None
        self.look_at(group, now)

    def unload(self, now: Instant, reason: str = MOVED) -> None:
        """Forget everything, because another broker coordinates the partition now (ST-14) or as `reason` says.

        Parked requests are answered with NOT_COORDINATOR, timers are disarmed.
        """
        self.cleanup.stop()
        self.end_waits(now)
        groups, self.groups = self.groups, {}
        for group in groups.values():
            group.unload(now, reason)

    def wall_time_went_back(self, by_ms: int, now: Instant) -> None:
        """The time of day was set back by `by_ms` to `now`: cleanups come as soon as they would have."""
        self.cleanup.wall_time_went_back(by_ms, now.wall_ms)

    def look_at(self, group: Group, now: Instant) -> None:
        """Let the next cleanup look at the group: something about it changed."""
        self.cleanup.touch(group, now.wall_ms, now.wall_ms)

    def needs_tombstone(self, group: Group) -> bool:
        """Whether removing the group writes a tombstone for the group itself (EX-10)."""
        return self.behaviours.tombstone_for_every_group or group.epoch > 0

    def forget(self, group: Group, now: Instant, reason: str) -> None:
        """Remove the group from the cache and let it become Dead, after its tombstones. `reason` is for the journal."""
        del self.groups[group.group_id]
        self._unseen.forget(group.group_id)
        group.die(now, reason)

    # -- offsets -------------------------------------------------------------------------------------------------

    def commit_validator(self, now: Instant, retention_time_ms: int | None) -> CommitValidator:
        """A validator for one OffsetCommit under this release's rules.

        `retention_time_ms` is the explicit retention of the request (v2-v4, OC-12); None: it has none. Then offsets
        get an expire timestamp only where every offset has one of its own (before 2.1, EX-17).
        """
        behaviours, retention_ms = self.behaviours, self._retention_of_commits(retention_time_ms)
        has_retention = retention_ms is not None
        return CommitValidator(
            now.wall_ms,
            self.metadata_max_bytes,
            retention_ms,
            stores_client_timestamps=not has_retention or behaviours.client_commit_timestamps_are_stored,
            stores_topic_ids=not has_retention and behaviours.offset_value_version >= 4,
        )

    def _retention_of_commits(self, retention_time_ms: int | None) -> int | None:
        """How long after their commit offsets expire by a timestamp of their own, None: they get none."""
        if retention_time_ms is None and self.behaviours.per_offset_expire_timestamps:
            return self.cleanup.retention_ms
        return retention_time_ms

    def commit(
        self, group: Group, offsets: Sequence[StoredOffset], now: Instant, *, client_timestamps: bool = False
    ) -> None:
        """Append and apply the offsets of one OffsetCommit: one batch, all or nothing (OC-13, CR-14).

        They all have the same timestamps, unless the client sent a commit timestamp with each (`client_timestamps`,
        v1, OC-10). Raises KafkaError, and changes nothing, if they do not fit into a batch (OC-14).
        """
        if self.has_too_few_replicas:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "too few replicas are in sync")
        base_offset = self.log.append_records(self._records_of(group, offsets), now)
        if not self.is_replicated:
            self._apply_when_replicated(lambda now: self._replay_late(group, offsets, base_offset, now))
            return
        group.offsets.replay(offsets, base_offset)
        if client_timestamps:
            self.look_at(group, now)
        else:
            first = offsets[0]
            self.cleanup.committed(group, first[COMMIT_MS], first[EXPIRE_MS], now.wall_ms)

    def repeatable_commit(
        self, group: Group, offsets: Sequence[StoredOffset], retention_time_ms: int | None
    ) -> Callable[[Sequence[int], Instant], bool]:
        """A function that commits the partitions of `offsets`, which were accepted, again.

        It takes an offset for each of them and the time. It returns False, and changes nothing, if the commit is
        refused or has to wait for replicas: `commit` does that. `retention_time_ms` is that of the request, as for
        `commit_validator`.
        """
        retention_ms = self._retention_of_commits(retention_time_ms)
        committed = group.offsets
        template = committed.repeatable(group.group_id, offsets, retention_ms, self._format)
        needs_check = len(offsets) > _SURELY_FIT

        def repeat_commit(offsets: Sequence[int], now: Instant) -> bool:
            log = self.log
            if log.high_watermark_limit is not None or log.disk_guard is not None or self.has_too_few_replicas:
                return False
            if needs_check and template.size_bytes > log.config.max_message_bytes:
                return False
            committed.repeat(template, offsets, now, log)
            commit_ms = now.wall_ms
            self.cleanup.committed(group, commit_ms, template.expire_ms(commit_ms), commit_ms)
            return True

        return repeat_commit

    def commit_pending(
        self, group: Group, producer: tuple[int, int], offsets: Sequence[StoredOffset], now: Instant
    ) -> None:
        """Append and apply the offsets of one TxnOffsetCommit; `producer` is id and epoch (OC-16, CR-14).

        Raises KafkaError as `commit` does, and INVALID_PRODUCER_EPOCH for a producer that was fenced (ID-4).
        """
        if self.has_too_few_replicas:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "too few replicas are in sync")
        base_offset = self.log.append_records(self._records_of(group, offsets), now, producer=producer)
        self.replay_pending(group, producer[0], offsets, base_offset)

    def _records_of(self, group: Group, offsets: Sequence[StoredOffset]) -> OffsetCommits:
        records = OffsetCommits(group.group_id, offsets, self._format, group.offsets)
        if len(offsets) > _SURELY_FIT and records.is_larger_than(self.log.config.max_message_bytes):
            raise KafkaError(self.behaviours.large_commit_error, "the offsets do not fit into one batch")
        return records

    def replay_pending(self, group: Group, producer_id: int, offsets: Sequence[StoredOffset], base_offset: int) -> None:
        """Apply records of a transaction: they wait for its end marker (LD-2)."""
        group.offsets.replay_pending(producer_id, offsets, base_offset)
        self.open_transactions.setdefault(producer_id, {})[group.group_id] = None

    def end_transaction(
        self, producer: "Producer", *, commit: bool, coordinator_epoch: int, now: Instant, is_tv2: bool
    ) -> int:
        """Append the marker of a transaction, and complete its pending offsets (WM-5); returns the marker's offset.

        Raises KafkaError: `unavailable_code` while the groups are not known, COORDINATOR_NOT_AVAILABLE with too few
        replicas in sync, and as `PartitionLog.append_marker` does; then nothing has changed.
        """
        if self.unavailable_code is not None:
            raise KafkaError(self.unavailable_code, f"{self.partition.log.name} is not loaded")
        if self.has_too_few_replicas:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "too few replicas are in sync")
        offset = self.partition.log.append_marker(
            *producer, now, commit=commit, coordinator_epoch=coordinator_epoch, is_tv2=is_tv2
        )
        if self.is_replicated:
            self.replay_end_transaction_marker(producer.id, commit, now)
        else:
            self._apply_when_replicated(lambda now: self.replay_end_transaction_marker(producer.id, commit, now))
        return offset

    def replay_end_transaction_marker(self, producer_id: int, commit: bool, now: Instant) -> None:
        """Apply the marker that ends a transaction: its pending offsets become committed, or are dropped (LD-2).

        A load applies those that it finds in the log itself.
        """
        for group_id in self.open_transactions.pop(producer_id, {}):
            group = self.groups.get(group_id)
            if group is not None:
                group.offsets.replay_end_transaction_marker(producer_id, commit)
                self.look_at(group, now)

    def delete_offsets(self, group: Group, partitions: Iterable[TopicPartition], now: Instant) -> None:
        """Remove the offsets of these partitions, each given once (KIP-496, OD-8).

        Tombstones are written only for partitions of which an offset is stored or pending.
        """
        self._delete([(group, partitions)], now, "a client deleted it")

    def delete_topic(self, topic: str, now: Instant) -> Iterator[int]:
        """Remove the topic's offsets in all groups, because the topic was deleted (EX-12).

        One batch for each step of `_GROUPS_PER_STEP` groups; yields after each step how many groups it was.
        """
        groups = list(self.groups.values())
        for start in range(0, len(groups), _GROUPS_PER_STEP):
            some = groups[start : start + _GROUPS_PER_STEP]
            present = [group for group in some if self.groups.get(group.group_id) is group]  # since the step before
            for group in present:
                group.topic_deleted(topic, now)
            found = [(group, group.offsets.partitions_of(topic)) for group in present]  # in most there is nothing
            requested = [each for each in found if each[1] or self._is_removed_with(each[0], ())]
            self._delete(requested, now, "its topic was deleted")
            yield len(some)

    def _delete(self, requested: Iterable[tuple[Group, Iterable[TopicPartition]]], now: Instant, reason: str) -> None:
        """Delete what there is of the requested partitions; remove groups that are emptied, if the release does so."""
        deletions: list[tuple[Group, list[TopicPartition], bool]] = []
        for group, partitions in requested:
            deleted = [each for each in partitions if group.offsets.has(*each)]
            deletions.append((group, deleted, self._is_removed_with(group, deleted)))
        for batch in self.batches(deletions):
            self.append(
                Several([self.tombstones(each, gone, end and self.needs_tombstone(each)) for each, gone, end in batch]),
                now,
            )
            for group, deleted, is_removed in batch:
                group.offsets.replay_tombstones(deleted)
                self._tell_deleted(group, deleted, reason)
                if is_removed:
                    self.forget(group, now, "it was Empty, and its last offset was deleted")
                elif deleted:
                    self.look_at(group, now)

    def _tell_deleted(self, group: Group, deleted: Sequence[TopicPartition], reason: str) -> None:
        if deleted:
            self.emit(OffsetsDeleted(group.group_id, deleted, reason))

    def _is_removed_with(self, group: Group, deleted: Sequence[TopicPartition]) -> bool:
        """Whether the group goes together with these offsets: up to 3.9.1, if none is left (OD-6, EX-12)."""
        if not self.behaviours.deletes_emptied_group_at_once or not group.is_empty:
            return False
        return len(group.offsets.partitions()) == len(deleted) if deleted else group.offsets.is_empty()

    def tombstones(
        self, group: Group, deleted: Sequence[TopicPartition | StoredOffset], whole_group: bool = False
    ) -> "DeferredRecords":
        """The tombstones of these offsets, and with `whole_group` of the group; to be appended before any other write.

        While they are pending (`broker/core/logs/pending_batches.py`) the log may drop them once everything is stored
        again (`Tombstones.all_overwritten`); not if a transaction is open: its offsets may be in the log before them,
        and a load would find those without the tombstones (OF-9).
        """
        if whole_group:
            self._latest.pop(group.group_id, None)
        is_classic = group.kind is GroupKind.CLASSIC
        latest = None if self.open_transactions else self
        tombstones = Tombstones(group.group_id, deleted, whole_group and is_classic, latest)
        if is_classic or not whole_group:
            return tombstones
        return Several([tombstones, GroupRecords(group.tombstones(), self._format)])

    def has_offset(self, group_id: str, topic: str, partition: int) -> bool:
        """Whether the group has a committed offset for the partition."""
        group = self.groups.get(group_id)
        return group is not None and partition in group.offsets.topics.get(topic, ())

    def has_group_record(self, group_id: str) -> bool:
        """Whether the latest record of the group itself is in the log since this shard began, and no tombstone."""
        return group_id in self._latest

    def batches(self, groups: Sequence[T]) -> Sequence[Sequence[T]]:
        """What of several groups is deleted in one batch: all; up to 3.9.1 each group by itself (CR-14).

        A batch must be applied to the cache before the next is appended: the log asks the cache which of its pending
        batches are overwritten, all but the newest (`broker/core/logs/pending_batches.py`).
        """
        return [groups] if self.behaviours.groups_expire_in_one_batch else [[each] for each in groups]

    def append(self, records: "DeferredRecords", now: Instant) -> None:
        """Append the records of one write other than a commit, if it has any."""
        if len(records) and not self.has_too_few_replicas:
            self.log.append_records(records, now, base_sequence=self.behaviours.base_sequence_of_groups)

    # -- GroupHost -----------------------------------------------------------------------------------------------

    def new_member_id(self, prefix: str) -> str:
        """A new, unique member id (JG-14)."""
        return self.cluster.new_member_id(prefix)

    def new_base64_id(self) -> str:
        """A new, unique member id without a prefix (CGH-4, CGM-5)."""
        return self.cluster.new_base64_id()

    def write_group(self, group_id: str, value: GroupValue, now: Instant) -> ErrorCode:
        """Append the group's record (CR-12). Returns NONE, or MESSAGE_TOO_LARGE if all members are too large (ST-8).

        Nothing else can fail: the node leads the partition, and the append does not wait for other replicas.
        """
        record = ClassicGroupRecord(group_id, value, self._format, self.log.log_end_offset, self._latest)
        if record.is_larger_than(self.log.config.max_message_bytes):
            return ErrorCode.MESSAGE_TOO_LARGE
        if self.has_too_few_replicas:
            return ErrorCode.NOT_ENOUGH_REPLICAS
        self._latest[group_id] = record.offset
        self.append(record, now)
        if value.members and not self.is_replicated:
            self._latest.pop(group_id, None)
            self.log.materialize_pending()
            return ErrorCode.KAFKA_STORAGE_ERROR if self.is_on_no_disk else ErrorCode.NOT_ENOUGH_REPLICAS
        group = self.groups[group_id]
        assert isinstance(group, ClassicGroup)
        self.emit(stored_group(group, value, "written"))
        return ErrorCode.NONE

    @property
    def group_configs(self) -> dict[str, dict[str, str]]:
        """The groups' own configs, by group id."""
        return self.cluster.group_configs

    @property
    def topics(self) -> "Topics":
        """The topics of the cluster."""
        return self.cluster.topics

    def write_records(self, group_id: str, records: "Sequence[GroupRecord | GroupEntry]", now: Instant) -> ErrorCode:
        """See `GroupHost.write_records`. A group that changes its kind keeps its committed offsets (CGO-11).

        Returns NONE, MESSAGE_TOO_LARGE (ST-8), or before 4.0 NOT_ENOUGH_REPLICAS (CLU-65): then nothing has changed.
        """
        if self.has_too_few_replicas:
            return ErrorCode.NOT_ENOUGH_REPLICAS
        batch = GroupRecords(records, self._format)
        if batch.is_larger_than(self.log.config.max_message_bytes):
            return ErrorCode.MESSAGE_TOO_LARGE
        before = self.groups.get(group_id)
        self.append(batch, now)
        self.emit(CoordinatorRecords("written", [each for each in records if not isinstance(each, GroupEntry)]))
        for record in records:
            self._apply(record, now)
        after = self.groups.get(group_id)
        if after is not None and after is not before:
            if before is not None:
                after.offsets = before.offsets
                after.offsets.check_ms = NEVER
            self.look_at(after, now)
        return ErrorCode.NONE

    def _apply(self, record: "GroupRecord | GroupEntry", now: Instant) -> None:
        from fakebroker.broker.core.groups.modern.replaying import kind_of_record, replay_record

        group_id = record.group_id
        group = self.groups.get(group_id)
        if isinstance(record, GroupEntry):
            after: Group | None = None
            if record.value is not None:
                after = classic = restored(self, group_id, record.value, now)
                self.emit(stored_group(classic, record.value, "written"))
        elif record.value is None and (group is None or group.kind is not kind_of_record(record)):
            return  # a tombstone of what is not there
        else:
            after = replay_record(group, record, self, now)
        if group is not None and after is not group:
            group.die(now, "it became a group of another type")
        if after is None:
            self.groups.pop(group_id, None)
        else:
            self.groups[group_id] = after

    def emit(self, event: CoreEvent) -> None:
        """Pass an event on to the journal. A group in another state ages differently, so the cleanup looks at it."""
        self.cluster.outbox.append(event)
        if isinstance(event, Transition) and (group := self.groups.get(event.group_id)) is not None:
            self.cleanup.touch(group, group.state_ms, group.state_ms)

    def __iter__(self) -> Iterator[Group]:
        return iter(self.groups.values())

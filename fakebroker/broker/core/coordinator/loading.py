"""Loading a partition of `__consumer_offsets`: the groups are what its records say, and nothing else (LD-1..LD-5).

Kafka: `CoordinatorLoaderImpl`.
"""

from typing import TYPE_CHECKING, NamedTuple

from fakebroker.broker.core.coordinator.stored_groups import stored_group
from fakebroker.broker.core.events import CoordinatorRecords, GroupsLoaded, GroupStored
from fakebroker.broker.core.groups.classic.classic_group import ClassicGroup
from fakebroker.broker.core.offsets.group_offsets import GroupOffsets
from fakebroker.protocol.errors import WireError
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.records.batch import parse_header, read_records
from fakebroker.protocol.records.faults import InvalidRecord
from fakebroker.protocol.records.markers import ControlRecordType, control_record_type
from fakebroker.protocol.records.offsets_codec import read_entry
from fakebroker.protocol.records.offsets_topic import Entry, GroupEntry, GroupValue, OffsetEntry

if TYPE_CHECKING:
    from fakebroker.broker.core.coordinator.shard import Shard
    from fakebroker.broker.core.groups.modern.modern_group import ModernGroup
    from fakebroker.protocol.records.group_records import GroupRecord


class DecodedBatch(NamedTuple):
    """What a batch says about groups; nothing in it is ever changed."""

    producer_id: int | None  # of its transaction, None if it is in none
    markers: list[bool]  # of a control batch: whether the transaction was committed
    entries: list[tuple[Entry, int]]  # each with its offset in the log


class _Replay:
    """The groups and offsets as of the records read so far."""

    def __init__(self, shard: "Shard", now: Instant) -> None:
        self.shard = shard
        self.now = now
        self.groups: dict[str, GroupValue | ModernGroup | None] = {}  # None: a simple one, made by its offsets
        self.records: dict[str, dict[tuple[int, bytes], GroupRecord]] = {}  # of newer groups, those not overwritten
        self.offsets: dict[str, GroupOffsets] = {}

    def apply_batch(self, batch: DecodedBatch) -> None:
        """Apply a batch."""
        producer_id = batch.producer_id
        for is_commit in batch.markers:
            self.apply_marker(-1 if producer_id is None else producer_id, is_commit)
        for entry, log_offset in batch.entries:
            self.apply(entry, log_offset, producer_id)

    def apply(self, entry: Entry, log_offset: int, producer_id: int | None) -> None:
        """Apply one record at `log_offset`; `producer_id` is that of its transaction, None if it is in none."""
        if isinstance(entry, OffsetEntry):
            self._apply_offset(entry, log_offset, producer_id)
        elif isinstance(entry, GroupEntry):
            self._keep(entry.group_id, entry.value)
        else:
            self._apply_record(entry)

    def _keep(self, group_id: str, group: "GroupValue | ModernGroup | None") -> None:
        if group is None:
            self.groups.pop(group_id, None)
        else:
            self.groups[group_id] = group

    def _apply_record(self, record: "GroupRecord") -> None:
        from fakebroker.broker.core.groups.modern.replaying import kind_of_record, replay_record

        before = self.groups.get(record.group_id)
        group = None if isinstance(before, GroupValue) else before
        if record.value is None and (group is None or group.kind is not kind_of_record(record)):
            return  # a tombstone of what is not there any more
        records, key = self.records.setdefault(record.group_id, {}), (record.type, record.key.encode(0))
        records.pop(key, None)
        if record.value is not None:
            records[key] = record
        self._keep(record.group_id, replay_record(group, record, self.shard, self.now))

    def _apply_offset(self, entry: OffsetEntry, log_offset: int, producer_id: int | None) -> None:
        offsets = self.offsets.setdefault(entry.group_id, GroupOffsets())
        if entry.value is not None and self.shard.behaviours.offsets_leave_simple_groups:
            self.groups.setdefault(entry.group_id, None)
        if entry.value is None:
            offsets.replay_tombstones([(entry.topic, entry.partition)])
        elif producer_id is not None:
            offsets.replay_pending(producer_id, [entry.value], log_offset)
        else:
            offsets.replay([entry.value], log_offset)

    def apply_marker(self, producer_id: int, commit: bool) -> None:
        """Apply the end of a transaction in all groups."""
        for offsets in self.offsets.values():
            offsets.replay_end_transaction_marker(producer_id, commit)


def load_groups(shard: "Shard", now: Instant) -> None:
    """Fill the shard from its log. Raises WireError naming the record that cannot be read (LD-5)."""
    replay = _Replay(shard, now)
    for batch in shard.partition.log.batches():
        try:
            replay.apply_batch(_decoded(batch, shard.cluster.decoded_batches))
        except (WireError, InvalidRecord) as error:
            raise WireError(
                f"{shard.partition.log.name}: batch at {parse_header(batch).base_offset}: {error}"
            ) from error
    loaded: list[GroupStored] = []
    for group_id in replay.groups | {name: None for name, offsets in replay.offsets.items() if not offsets.is_empty()}:
        offsets, found = replay.offsets.get(group_id, GroupOffsets()), replay.groups.get(group_id)
        if found is None or isinstance(found, GroupValue):
            group = _group(shard, group_id, found, offsets, now)
            shard.adopt(group, now)
            loaded.append(stored_group(group, found or group.to_value(), "loaded"))
        else:
            found.offsets = offsets
            shard.adopt(found, now)
            shard.emit(CoordinatorRecords("loaded", list(replay.records[group_id].values())))
            found.loaded(now)
    if loaded:
        shard.emit(GroupsLoaded(loaded))


def _decoded(batch: bytes, known: dict[bytes, DecodedBatch] | None) -> DecodedBatch:
    """What a batch says. Batches that were decoded before are in `known`."""
    found = None if known is None else known.get(batch)
    if found is None:
        found = _decode(batch)
        if known is not None:
            known[batch] = found
    return found


def _decode(batch: bytes) -> DecodedBatch:
    header = parse_header(batch)
    if header.is_control:
        kinds = [control_record_type(record.key) for record in read_records(batch)]
        return DecodedBatch(header.producer_id, [kind == ControlRecordType.COMMIT for kind in kinds], [])
    entries = [(read_entry(record.key, record.value), record.offset) for record in read_records(batch)]
    producer_id = header.producer_id if header.is_transactional else None
    return DecodedBatch(producer_id, [], [(entry, offset) for entry, offset in entries if entry is not None])


def _group(
    shard: "Shard", group_id: str, value: GroupValue | None, offsets: GroupOffsets, now: Instant
) -> ClassicGroup:
    """A group as it is stored; without a group record it is a simple group that is Empty since now (LD-3)."""
    group = ClassicGroup(group_id, shard, now)
    group.offsets = offsets
    if value is not None:
        group.restore(value, now)
    return group

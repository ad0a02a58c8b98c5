"""Loading a partition of `__consumer_offsets`: the groups are what its records say, and nothing else (LD-1..LD-5).

Kafka: `CoordinatorLoaderImpl`.
"""

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, NamedTuple

from fakebroker.broker.core.coordinator.runtime.process_steps import Steps
from fakebroker.broker.core.coordinator.runtime.reading import RECORDS_PER_STEP, cost_of, read_in_steps
from fakebroker.broker.core.coordinator.stored_groups import stored_group
from fakebroker.broker.core.events import CoordinatorRecords, GroupsLoaded, GroupStored
from fakebroker.broker.core.groups.classic.classic_group import ClassicGroup
from fakebroker.broker.core.offsets.group_offsets import GroupOffsets
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.pace import Pace
from fakebroker.protocol.records.batch import parse_header, read_records
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

    def __init__(self, shard: "Shard") -> None:
        self.shard = shard
        self.groups: dict[str, GroupValue | ModernGroup | None] = {}  # None: a simple one, made by its offsets
        self.records: dict[str, dict[tuple[int, bytes], GroupRecord]] = {}  # of newer groups, those not overwritten
        self.offsets: dict[str, GroupOffsets] = {}
        self._open: dict[int, dict[str, None]] = {}  # producer id -> groups with pending offsets

    def apply_batch(self, data: bytes, pace: Pace) -> Iterator[None]:
        """Apply a batch, in steps."""
        batch = yield from _decoded(data, self.shard.cluster.decoded_batches, pace)
        producer_id = batch.producer_id
        for is_commit in batch.markers:
            self.apply_marker(-1 if producer_id is None else producer_id, is_commit)
        for entry, log_offset in batch.entries:
            self.apply(entry, log_offset, producer_id)
            if pace.is_over():
                yield

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
        self._keep(record.group_id, replay_record(group, record, self.shard, self.shard.timers.passes.now))

    def _apply_offset(self, entry: OffsetEntry, log_offset: int, producer_id: int | None) -> None:
        offsets = self.offsets.setdefault(entry.group_id, GroupOffsets())
        if entry.value is not None and self.shard.behaviours.offsets_leave_simple_groups:
            self.groups.setdefault(entry.group_id, None)
        if entry.value is None:
            offsets.replay_tombstones([(entry.topic, entry.partition)])
        elif producer_id is not None:
            offsets.replay_pending(producer_id, [entry.value], log_offset)
            self._open.setdefault(producer_id, {})[entry.group_id] = None
        else:
            offsets.replay([entry.value], log_offset)

    def apply_marker(self, producer_id: int, commit: bool) -> None:
        """Apply the end of a transaction in all groups where it has offsets."""
        for group_id in self._open.pop(producer_id, ()):
            self.offsets[group_id].replay_end_transaction_marker(producer_id, commit)

    def ids(self) -> Iterator[str]:
        """The groups that there are: those with a record, and those that have offsets only."""
        yield from self.groups
        yield from (name for name, each in self.offsets.items() if name not in self.groups and not each.is_empty())

    def adopt(self, group_id: str, now: Instant) -> GroupStored | None:
        """Let the shard have a group. Returns what the journal says of a classic one."""
        shard = self.shard
        offsets, found = self.offsets.get(group_id, GroupOffsets()), self.groups.get(group_id)
        if found is None or isinstance(found, GroupValue):
            group = _group(shard, group_id, found, offsets, now)
            shard.adopt(group, now)
            return stored_group(group, found or group.to_value(), "loaded")
        found.offsets = offsets
        shard.adopt(found, now)
        shard.emit(CoordinatorRecords("loaded", list(self.records[group_id].values())))
        found.loaded(now)
        return None


def load_groups(shard: "Shard") -> Steps:
    """Fill the shard from its log, in steps. Raises WireError naming the record that cannot be read (LD-5)."""
    replay = _Replay(shard)
    yield from read_in_steps(shard, replay.apply_batch)
    pace = Pace(RECORDS_PER_STEP)
    loaded: list[GroupStored] = []
    for group_id in replay.ids():
        stored = replay.adopt(group_id, shard.timers.passes.now)
        if stored is not None:
            loaded.append(stored)
        if pace.is_over():
            loaded = _emit_loaded(shard, loaded)
            yield
    _emit_loaded(shard, loaded)


def _emit_loaded(shard: "Shard", loaded: list[GroupStored]) -> list[GroupStored]:
    """Have the journal note what was loaded. Returns what it has not noted yet: nothing."""
    if loaded:
        shard.emit(GroupsLoaded(loaded))
    return []


def _decoded(batch: bytes, known: dict[bytes, DecodedBatch] | None, pace: Pace) -> Generator[None, None, DecodedBatch]:
    """What a batch says, in steps. Batches that were decoded before are in `known`."""
    found = None if known is None else known.get(batch)
    if found is None:
        found = yield from _decode(batch, pace)
        if known is not None:
            known[batch] = found
    return found


def _decode(batch: bytes, pace: Pace) -> Generator[None, None, DecodedBatch]:
    header = parse_header(batch)
    if header.is_control:
        kinds = [control_record_type(record.key) for record in read_records(batch)]
        return DecodedBatch(header.producer_id, [kind == ControlRecordType.COMMIT for kind in kinds], [])
    entries: list[tuple[Entry, int]] = []
    for record in read_records(batch):
        entry = read_entry(record.key, record.value)
        if entry is not None:
            entries.append((entry, record.offset))
        if pace.is_over(cost_of(record)):
            yield
    return DecodedBatch(header.producer_id if header.is_transactional else None, [], entries)


def _group(
    shard: "Shard", group_id: str, value: GroupValue | None, offsets: GroupOffsets, now: Instant
) -> ClassicGroup:
    """A group as it is stored; without a group record it is a simple group that is Empty since now (LD-3)."""
    group = ClassicGroup(group_id, shard, now)
    group.offsets = offsets
    if value is not None:
        group.restore(value, now)
    return group

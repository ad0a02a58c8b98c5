"""Keeps one cluster in a data directory (core's `Storage`): what a turn has changed is written before its answers go.

It is written to the page cache of the system, which outlives the process. The disk itself is asked to store it when a
segment is closed, as `flush.messages` and `flush.ms` say, and by a clean stop.
"""

import logging
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from fakebroker.broker.core.deadlines import Deadline
from fakebroker.broker.core.metadata_parts import MetadataPart
from fakebroker.broker.core.topics import Partition, Topic
from fakebroker.protocol.errors import KafkaError, WireError
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.pace import Pace
from fakebroker.protocol.records.metadata_records import encode_metadata_record
from fakebroker.protocol.records.metadata_records_schema import NoOpRecord
from fakebroker.protocol.schema import Message
from fakebroker.protocol.storage import names
from fakebroker.protocol.storage.names import PartitionFolder
from fakebroker.serve.storage.data_directory import DataDirectory
from fakebroker.serve.storage.disk import cause
from fakebroker.serve.storage.flusher import Flusher
from fakebroker.serve.storage.metadata_changes import MetadataChanges
from fakebroker.serve.storage.metadata_log import batches_of
from fakebroker.serve.storage.partition_files import PartitionFiles
from fakebroker.serve.storage.removals import Removals
from fakebroker.serve.storage.spare_descriptors import are_used_up
from fakebroker.serve.storage.stored_log import StoredLog
from fakebroker.serve.storage.stored_segment import StoredSegment

if TYPE_CHECKING:
    from fakebroker.broker.core.cluster import Cluster
    from fakebroker.broker.core.logs.log import PartitionLog
    from fakebroker.broker.core.topics_host import What

T = TypeVar("T")

log = logging.getLogger("fakebroker")
# What it takes to write for one copy of a log, roughly.
FOLDER_S = 0.001  # a folder that is made, with its files
SEGMENT_S = 0.001  # a segment that begins, with the indexes of the one before
_UNKNOWN = -1  # an offset that no checkpoint has yet
WRITE_S = 0.0002  # what was appended, or a file that is replaced


class LostReplica(NamedTuple):
    """A replica that could not be written to: the offset at which its files end, and the reason."""

    node_id: int
    partition: Partition
    end_offset: int
    reason: str


class ClusterStore:
    """All of it belongs to the engine's thread.

    A data directory that cannot be written to is in `failed`, and is left alone until its broker has started again. If
    the broker has several log directories (`log.dirs`), a replica that cannot be written to is in `lost` instead, and
    those whose directory is offline are left alone.
    """

    def __init__(self, data: DataDirectory, cluster: "Cluster") -> None:
        self.data = data
        self.failed: dict[int, OSError] = {}  # by node id
        self._new_failed: list[int] = []  # of them those that `write` has not returned yet: the brokers still run
        self.lost: list[LostReplica] = []  # that the engine does not know of yet
        self.ahead_s = 0.0  # of writing, for all that has happened since the start
        self._left_alone: dict[StoredLog, None] = {}  # with replicas that are offline
        self._cluster = cluster
        self._metadata_changes = MetadataChanges(cluster, data.image, data.ids)
        self._logs: dict[bytes, dict[int, StoredLog]] = {}  # by topic id and partition
        self._dirty: dict[StoredLog, None] = {}
        self._changed: dict[What, None] = {}  # of the metadata
        self.is_loading = False  # logs that are made are adopted by the start, and are not new
        self._removals = Removals(cluster.timers.passes, self._do, self._remove_next)
        self._flusher = Flusher()
        self._checkpoint_interval_ms = cluster.settings.get_int("log.flush.offset.checkpoint.interval.ms")
        self._checkpoint_timer = Deadline(self._checkpoint_due, owner=self)
        self._is_checkpoint_due = False
        cluster.storage = self

    def end(self) -> None:
        """Keep the cluster no more."""
        self._cluster.storage = None
        self._flusher.end()
        self._checkpoint_timer.end()
        for stored in self.stored_logs():
            stored.end()

    def move_to(self, data: DataDirectory) -> None:
        """All that was written is in this directory now."""
        self.data = data
        for stored in self.stored_logs():
            for copy in stored.copies:
                copy.move_to(data.directories[copy.directory.node_id])

    def stored_logs(self) -> list[StoredLog]:
        """The logs that are kept."""
        return [stored for partitions in self._logs.values() for stored in partitions.values()]

    # Called by the core

    def log_made(self, log: "PartitionLog") -> None:
        """See Storage."""
        if self.is_loading:
            return
        partition: Partition = self._partition_of(log)
        stored = self.adopt(log, [self.new_copy(log, node_id) for node_id in self.holders(partition)])
        self._dirty[stored] = None
        self.ahead_s += FOLDER_S * len(stored.copies)

    def metadata_changed(self, what: "What") -> None:
        """See Storage."""
        self._changed[what] = None
        if isinstance(what, Partition) and self._stored(what) is not None:  # it may have other replicas
            self.ahead_s += FOLDER_S * len(self._new_holders(what))

    def copied_ahead(self, partition: Partition, replicas: Sequence[int], pace: Pace) -> Generator[None, None, None]:
        """See Storage. The copies are partial, and nothing else is written to them, until the partition has moved."""
        stored = self._stored(partition)
        if stored is None or len(stored.log.segments) < 2:  # the move itself makes the folder
            return
        self._begin_copies(stored, replicas)
        for copy in [each for each in stored.copies if each.is_partial and each.directory.node_id in replicas]:
            while stored.has_partial(copy) and self._do(copy.directory.node_id, copy.copy_next):
                if pace.is_over():
                    yield

    def _begin_copies(self, stored: StoredLog, replicas: Sequence[int]) -> None:
        """Begin the copies that are missing; another request may have begun some."""
        present = [copy.directory.node_id for copy in stored.copies]
        for node_id in [each for each in replicas if each in self.data.directories and each not in present]:
            copy = self.new_copy(stored.log, node_id)
            copy.is_partial = True
            stored.copies.append(copy)

    def keep_everything(self) -> None:
        """The directory is empty: all that the cluster has is new."""
        self._changed.update(dict.fromkeys((MetadataPart.FEATURES, MetadataPart.NODES, *MetadataPart)))
        for topic in self._cluster.topics:
            self._changed[topic] = None
            for partition in topic.partitions:
                if partition.has_log:
                    self.log_made(partition.log)

    def adopt(self, log: "PartitionLog", copies: Iterable[PartitionFiles]) -> StoredLog:
        """Keep a log in these copies, in place of those that it had."""
        partition = self._partition_of(log)
        logs = self._logs.setdefault(partition.topic.id, {})
        if partition.index in logs:
            logs[partition.index].end()
        stored = logs[partition.index] = StoredLog(log, list(copies), self._cluster.timers, self._log_changed)
        return stored

    def new_copy(self, log: "PartitionLog", node_id: int) -> PartitionFiles:
        """A copy in the directory of a broker, which has no folder yet."""
        return PartitionFiles(self.data.directories[node_id], log, self._partition_of(log).topic.id)

    def holders(self, partition: Partition) -> list[int]:
        """The brokers in whose directories a partition is kept."""
        return [node_id for node_id in partition.replicas if node_id in self.data.directories]

    def _stored(self, partition: Partition) -> StoredLog | None:
        return self._logs.get(partition.topic.id, {}).get(partition.index)

    def _new_holders(self, partition: Partition) -> list[int]:
        """The holders of a partition, whose log is kept, that do not have it."""
        present = [each.directory.node_id for each in self._logs[partition.topic.id][partition.index].copies]
        return [node_id for node_id in self.holders(partition) if node_id not in present]

    @staticmethod
    def _partition_of(log: "PartitionLog") -> Partition:
        partition = log.partition
        assert isinstance(partition, Partition)
        return partition

    def _log_changed(self, stored: StoredLog, begins_segment: bool) -> None:
        if stored not in self._dirty:
            self._dirty[stored] = None
            self.ahead_s += WRITE_S * len(stored.copies)
        if begins_segment:
            self.ahead_s += SEGMENT_S * len(stored.copies)

    # Writing

    @property
    def is_dirty(self) -> bool:
        """Whether there is something to write."""
        return bool(self._dirty or self._changed)

    def write(self, now: Instant) -> list[int]:
        """Write what has changed. Returns the brokers whose directories have failed since the last call (logged)."""
        if self.failed:
            self._retry()
        if self._left_alone:
            self._dirty |= self._left_alone
            self._left_alone = {}
        if not (self._dirty or self._changed or self._flusher.has_done or self._is_checkpoint_due):
            return self._take_failed()
        self._take_flushed()
        if self._is_checkpoint_due:
            self._write_recovery_points(now)
        if self._changed:
            self._write_metadata(now)
        if self._dirty:
            self._write_logs(now)
        self._removals.begin(now)
        return self._take_failed()

    def _take_failed(self) -> list[int]:
        failed, self._new_failed = self._new_failed, []
        return failed

    def _do(self, node_id: int, action: Callable[..., T], *arguments: object) -> T | None:
        """Do something in a broker's directory, and return its result; None if the directory has failed."""
        if node_id in self.failed:
            return None
        try:
            return self.data.spare.run(action, *arguments)
        except OSError as error:
            self._fail(node_id, error)
            return None

    def _fail(self, node_id: int, error: OSError) -> None:
        self.failed[node_id] = error
        self._new_failed.append(node_id)
        if not self.data.is_open:  # a replacement, whose caller has the error
            return
        path = self.data.directories[node_id].path
        log.error("node %d stops: its log directory %s has failed: %s", node_id, path, cause(error))

    def _retry(self) -> None:
        """Use the directories again of brokers that were started again; they are brought up to date."""
        stopped = [each for each in self.failed if each not in self._new_failed]
        for node_id in [each for each in stopped if self._cluster.nodes[each].has_process]:
            del self.failed[node_id]
            self._do(node_id, self.data.metadata[node_id].write)
            self._dirty.update(dict.fromkeys(self.stored_logs()))

    def _write_metadata(self, now: Instant) -> None:
        changed, self._changed = self._changed, {}
        self.append_metadata([record for what in changed for record in self._records_of(what)], now)
        removed, gone = list[StoredLog](), list[PartitionFiles]()
        for what in changed:
            if isinstance(what, Topic) and self._cluster.topics.by_id(what.id) is not what:
                removed += self._remove_topic(what)
            elif isinstance(what, Partition):
                gone += self._move_copies(what, now)
        if gone:  # a start that finds no copy of before must not find more records than there were
            self._write_checkpoint(names.LOG_STARTS, self._starts())
        for copy in gone:
            self._do(copy.directory.node_id, self._removals.remove_copy, copy)
        if any(each.log_start_offset or each.recovery_point or each.log.cleaned_until for each in removed):
            self.write_checkpoints(now)

    def _records_of(self, what: "What") -> list[bytes]:
        """The records of a change, which the image has from then on, but for those that are too long for a record.

        That is an error of ours. What else has changed is written nevertheless.
        """
        records = []
        for message in self._messages_of(what):
            try:
                records.append(encode_metadata_record(message))
            except WireError as error:
                log.error("a change is not kept, since the metadata log cannot have it: %s", error)
            else:
                self.data.image.apply(message)
        return records

    def _messages_of(self, what: "What") -> list[Message]:
        if isinstance(what, Topic):
            return self._metadata_changes.of_topic(what)
        if isinstance(what, Partition):
            return self._metadata_changes.of_partition(what)
        if isinstance(what, MetadataPart):
            return self._metadata_changes.of_part(what)
        return self._metadata_changes.of_entry(what)

    def append_metadata(self, records: list[bytes], now: Instant) -> None:
        """Append records to the metadata log of every directory."""
        if not records:
            return
        batches: dict[int, bytes] = {}  # by where they begin: at the same offset, unless a directory had failed
        for node_id, each in self.data.metadata.items():
            offset = each.end_offset
            if offset not in batches:
                batches[offset] = batches_of(records, offset, now.wall_ms)
            each.add(batches[offset], len(records), now.wall_ms)
            self._do(node_id, each.write)

    def _write_logs(self, now: Instant) -> None:
        dirty, self._dirty = self._dirty, {}
        has_start_moved = was_flushed = False
        for stored in dirty:
            if stored.log.store is not stored:  # deleted meanwhile
                continue
            try:
                was_flushed |= self._write_log(stored, now)
            except Exception as error:  # a bug of ours; the others are written
                self._cluster.timers.passes.on_error(error)
            if stored.log_start_offset != stored.log.log_start_offset:
                stored.log_start_offset = stored.log.log_start_offset
                has_start_moved = True
        if has_start_moved:
            self._write_checkpoint(names.LOG_STARTS, self._starts())
        if was_flushed:
            self._write_recovery_points(now)

    def _write_log(self, stored: StoredLog, now: Instant) -> bool:
        """Write what the copies of a log do not have; returns whether they were flushed."""
        stored.log.materialize_pending()
        for copy in stored.copies:
            self._write_copy(stored, copy, now)
        was_flushed = stored.written()
        self._flush_closed(stored, now)
        return was_flushed

    # Flushing closed segments

    def _flush_closed(self, stored: StoredLog, now: Instant) -> None:
        """Ask the disk to store the segments of a log that were closed."""
        job = stored.take_closed_files()
        if job is not None:
            self._flusher.add(job)
            self._arm_checkpoint(now)

    def _arm_checkpoint(self, now: Instant) -> None:
        if self._checkpoint_timer.due_ms is None:
            self._cluster.timers.mono.arm(self._checkpoint_timer, now.mono_ms + self._checkpoint_interval_ms)

    def _checkpoint_due(self, _now: Instant) -> None:
        self._is_checkpoint_due = True

    def _take_flushed(self) -> None:
        """Move the recovery points of logs whose closed segments the disk has stored; the checkpoint comes later."""
        for job, errors in list(self._flusher.take_done()):  # one that is added again may be done at once
            if any(map(are_used_up, errors.values())):
                self._flusher.add(job)  # there will be descriptors again
                continue
            stored, offset, _ = job
            for copy in stored.copies:
                error = errors.get(copy.directory.node_id)
                if error is not None and copy.directory.node_id not in self.failed:
                    self._copy_failed(stored, copy, error)
            if not errors:
                stored.closed_stored(offset)

    def _write_recovery_points(self, now: Instant) -> None:
        self._is_checkpoint_due = False
        self._checkpoint_timer.disarm()
        self._write_checkpoint(names.RECOVERY_POINTS, {each: each.recovery_point for each in self.stored_logs()})
        if self._flusher.is_busy:
            self._arm_checkpoint(now)

    def _write_copy(self, stored: StoredLog, copy: PartitionFiles, now: Instant) -> None:
        node_id, partition = copy.directory.node_id, self._partition_of(stored.log)
        if node_id in partition.offline:
            self._left_alone[stored] = None
        elif node_id not in self.failed and not copy.is_partial:
            try:
                self.data.spare.run(stored.write, copy, now)
            except OSError as error:
                self._copy_failed(stored, copy, error)
            if copy.has_leaving:
                self._removals.add_segments(stored, copy)

    def _remove_next(self, stored: StoredLog, copy: PartitionFiles) -> bool:
        """Remove one more segment from a copy. False if none is left, or the copy cannot be written to now."""
        node_id = copy.directory.node_id
        if (
            stored.log.store is not stored
            or node_id in self.failed
            or node_id in self._partition_of(stored.log).offline
        ):
            return False
        try:
            return self.data.spare.run(copy.remove_next)
        except OSError as error:
            self._copy_failed(stored, copy, error)
            return False

    def _copy_failed(self, stored: StoredLog, copy: PartitionFiles, error: OSError) -> None:
        """A replica could not be written to or flushed: its log directory has failed, or the only one of its broker."""
        node_id = copy.directory.node_id
        if len(self._cluster.nodes[node_id].log_directories.online) == 1:
            self._fail(node_id, error)
            return
        self._left_alone[stored] = None
        self.lost.append(LostReplica(node_id, self._partition_of(stored.log), copy.written_until, cause(error)))

    def _remove_topic(self, topic: Topic) -> list[StoredLog]:
        """Remove the logs of a topic that is deleted; returns them."""
        removed = [*self._logs.pop(topic.id, {}).values()]
        for stored in removed:
            stored.end()
            for copy in stored.copies:
                self._do(copy.directory.node_id, self._removals.remove_copy, copy)
        return removed

    def _move_copies(self, partition: Partition, now: Instant) -> list[PartitionFiles]:
        """The replicas of a partition may be others now. Returns the copies that are to be removed."""
        stored, holders = self._stored(partition), self.holders(partition)
        if stored is None:
            return []
        gone = [each for each in stored.copies if each.directory.node_id not in holders]
        new = [self.new_copy(stored.log, node_id) for node_id in self._new_holders(partition)]
        stored.copies += new
        new = [each for each in stored.copies if each.is_partial and each not in gone] + new
        for copy in new:
            copy.is_partial = False
        if new:
            stored.stored_until(stored.log.log_start_offset)
            if not gone:  # else the checkpoints are written before the copies of before are removed
                stored.log_start_offset = _UNKNOWN  # in the checkpoints of the new brokers
            self._dirty[stored] = None
        if gone:
            stored.log.materialize_pending()
            for copy in new:
                self._write_copy(stored, copy, now)
        for copy in gone:
            stored.copies.remove(copy)
        if gone:
            self._keep_readable(stored)
        return gone

    def _keep_readable(self, stored: StoredLog) -> None:
        """Some copies are to be removed: what was not read since the start is read from others, or now."""
        unusable = {*self.failed, *self._partition_of(stored.log).offline}
        usable = [each for each in stored.copies if each.directory.node_id not in unusable]
        for segment in stored.log.segments.values():
            if isinstance(segment, StoredSegment) and not any(each.has_file_of(segment) for each in usable):
                with suppress(KafkaError):  # it is logged
                    segment.load()

    # Checkpoints, and the end

    def _starts(self) -> dict[StoredLog, int]:
        """The log starts that the first segment does not tell, or not yet."""
        return {
            stored: stored.log.log_start_offset
            for stored in self.stored_logs()
            if stored.log.log_start_offset > stored.log.segments.keys()[0] or stored.has_leaving
        }

    def write_checkpoints(self, now: Instant) -> None:
        """Write the checkpoints that a start after a kill believes.

        They go by the names of topics: what they say of a topic that was deleted must not be there any more when
        another gets its name.
        """
        self._write_recovery_points(now)
        self._write_checkpoint(names.LOG_STARTS, self._starts())
        cleaned = {each: each.log.cleaned_until for each in self.stored_logs() if each.log.cleaned_until}
        self._write_checkpoint(names.CLEANER_OFFSETS, cleaned)

    def _write_checkpoint(self, name: str, offsets: Mapping[StoredLog, int]) -> None:
        by_node: dict[int, dict[PartitionFolder, int]] = {node_id: {} for node_id in self.data.directories}
        for stored, offset in offsets.items():
            for copy in stored.copies:
                by_node[copy.directory.node_id][copy.name] = offset
        for node_id, of_node in by_node.items():
            self._do(node_id, self.data.directories[node_id].write_offsets, name, of_node)

    def stop(self, now: Instant) -> None:
        """Write everything, so that the next start need not check it. The directory stays locked."""
        self.append_metadata([encode_metadata_record(NoOpRecord())], now)
        self.write(now)
        self._removals.finish()
        self._flusher.end()
        self._take_flushed()
        logs = self.stored_logs()
        for stored in logs:
            for copy in stored.copies:
                self._do(copy.directory.node_id, copy.settle, stored.recovery_point)
            stored.stored_until(stored.log.log_end_offset)
        self.write_checkpoints(now)
        self._write_checkpoint(names.HIGH_WATERMARKS, {each: each.log.high_watermark for each in logs})
        for node_id, metadata in self.data.metadata.items():
            self._do(node_id, self.data.directories[node_id].write_clean_shutdown, metadata.end_offset)
        self._new_failed = []  # those that are used again begin anew

"""One log and its copies in the log directories of its replicas."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from fakebroker.broker.core.deadlines import Deadline, Timers
from fakebroker.protocol.instant import Instant
from fakebroker.serve.storage.flusher import FlushJob
from fakebroker.serve.storage.partition_files import PartitionFiles

if TYPE_CHECKING:
    from fakebroker.broker.core.logs.config import LogConfig
    from fakebroker.broker.core.logs.log import PartitionLog

_NEVER = 2**63 - 1


class StoredLog:
    """Keeps one log (core's `LogStore`). `on_change` is called when there is something to write: with this, and whether
    a segment has begun, or others are gone or replaced.

    It learns of appends as a waiter of the log, so that a log that is not stored pays nothing.
    """

    def __init__(
        self,
        log: "PartitionLog",
        copies: Sequence[PartitionFiles],
        timers: Timers,
        on_change: Callable[["StoredLog", bool], None],
    ) -> None:
        self.log = log
        self.copies = list(copies)
        self.log_start_offset = log.log_start_offset  # that is in the checkpoint
        self.recovery_point = log.log_start_offset  # up to where the disk itself has stored it
        self._flush_asked = log.log_start_offset  # up to where it stores it, or was asked to
        self.has_unloaded = any(not each.is_loaded for each in log.segments.values())
        self._timers = timers
        self._on_change = on_change
        self._config: LogConfig | None = None  # that the next two are of
        self._flush_messages = self._flush_ms = _NEVER
        self._newest_segment: int = log.segments.keys()[-1]  # its base offset
        self._flush_timer = Deadline(self._flush_due, owner=self)
        self._is_flush_due = False
        log.store = self
        log.waiters[self] = self._moved

    def _moved(self, _now: Instant) -> None:
        before, self._newest_segment = self._newest_segment, self.log.segments.keys()[-1]
        self._on_change(self, self._newest_segment != before)

    def altered(self, offset: int) -> None:
        """See LogStore."""
        for copy in self.copies:
            copy.altered(offset)
        self.stored_until(min(offset, self.recovery_point))
        self._on_change(self, True)

    def segments_changed(self) -> None:
        """See LogStore."""
        for copy in self.copies:
            copy.segments_changed()
        self._on_change(self, True)

    @property
    def has_leaving(self) -> bool:
        """Whether any copy may have files of segments that the log has no more."""
        return any(copy.has_leaving for copy in self.copies)

    def has_partial(self, copy: PartitionFiles) -> bool:
        """Whether the log is still stored, and this still a copy of a part of it, which the log is about to get."""
        return self.log.store is self and copy.is_partial and copy in self.copies

    def end(self) -> None:
        """The log is stored no more."""
        self.log.waiters.pop(self, None)
        self.log.store = None
        self._flush_timer.end()

    def write(self, copy: PartitionFiles, now: Instant) -> None:
        """Write what a copy does not have, and flush it if the topic's settings say so. Raises OSError."""
        log = self.log
        copy.write()
        if log.config is not self._config:
            self._read_settings()
        if self._flush_messages != _NEVER and log.log_end_offset - self.recovery_point >= self._flush_messages:
            self._is_flush_due = True
        if self._is_flush_due:
            copy.flush(self.recovery_point)
        elif self._flush_ms != _NEVER and self._flush_timer.due_ms is None:
            self._timers.mono.arm(self._flush_timer, now.mono_ms + self._flush_ms)

    def written(self) -> bool:
        """All copies have been written; returns whether they were flushed, so that the recovery point has moved."""
        was_flushed, self._is_flush_due = self._is_flush_due, False
        if was_flushed:
            self.stored_until(self.log.log_end_offset)
            self._flush_timer.disarm()
        return was_flushed

    def stored_until(self, offset: int) -> None:
        """The disk has stored the log up to an offset, and is not asked for more."""
        self.recovery_point = self._flush_asked = offset

    def take_closed_files(self) -> FlushJob | None:
        """The files of segments that were closed since the last time: the disk is to store them."""
        closed_until = self.log.active_segment.base_offset
        if closed_until <= self._flush_asked:
            return None
        whole = [copy for copy in self.copies if not copy.is_partial]
        paths = {copy.directory.node_id: copy.closed_files(self._flush_asked) for copy in whole}
        self._flush_asked = closed_until
        return FlushJob(self, closed_until, paths)

    def closed_stored(self, offset: int) -> None:
        """The disk has stored closed segments up to an offset."""
        if self.recovery_point < offset <= self._flush_asked:
            self.recovery_point = offset

    def _flush_due(self, _now: Instant) -> None:
        self._is_flush_due = True
        self._on_change(self, False)

    def _read_settings(self) -> None:
        config = self.log.partition.topic.config
        self._config = config.log
        self._flush_messages, self._flush_ms = config.get_int("flush.messages"), config.get_int("flush.ms")

"""A coordinator's answer that waits until what it wrote is replicated (CLU-42, CLU-43, CLU-63)."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from fakebroker.broker.core.deadlines import Deadline
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.instant import Instant

if TYPE_CHECKING:
    from fakebroker.broker.core.coordinator.runtime.coordinator_shard import CoordinatorShard


class ReplicationWait:
    """Ends with NONE when all records that the partition has now are replicated, with COORDINATOR_NOT_AVAILABLE after
    the shard's `write_timeout`, and with NOT_COORDINATOR when the partition is unloaded.
    """

    __slots__ = ("_deadline", "_done", "_end_offset", "_log", "_shard")

    def __init__(self, shard: "CoordinatorShard", done: Callable[[ErrorCode, Instant], None], now: Instant) -> None:
        self._shard = shard
        self._done = done
        self._log = shard.log
        self._end_offset = self._log.log_end_offset
        self._deadline = Deadline(lambda now: self.end(ErrorCode.COORDINATOR_NOT_AVAILABLE, now), owner=shard)
        shard.timers.mono.arm(self._deadline, now.mono_ms + shard.settings.get_int(shard.write_timeout))
        shard.waits[self] = None
        self._log.waiters[self] = self._look

    def end(self, code: ErrorCode, now: Instant) -> None:
        """Stop waiting, and say how it went."""
        self.stop()
        self._done(code, now)

    def stop(self) -> None:
        """Stop waiting: the client has gone."""
        self._deadline.end()
        self._log.waiters.pop(self, None)
        self._shard.waits.pop(self, None)

    def _look(self, now: Instant) -> None:
        if self._log.high_watermark >= self._end_offset:
            self.end(ErrorCode.NONE, now)

"""Where a coordinator writes that was replaced and does not know it: nothing of it is ever replicated (CLU-42)."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from fakebroker.protocol.instant import Instant

if TYPE_CHECKING:
    from fakebroker.broker.core.logs.config import LogConfig
    from fakebroker.broker.core.logs.log import PartitionLog
    from fakebroker.broker.core.logs.pending_batches import DeferredRecords
    from fakebroker.broker.core.stale_view import StaleView


class StrandedLog:
    """In the place of the partition's log: it counts offsets and forgets the records."""

    def __init__(self, log: "PartitionLog", view: "StaleView") -> None:
        self.config: LogConfig = log.config
        self.name = log.name
        self.waiters: dict[object, Callable[[Instant], None]] = {}
        self.disk_guard = None
        self._view = view

    @property
    def log_end_offset(self) -> int:
        """The end of the broker's own copy."""
        return self._view.log_end_offset

    @property
    def high_watermark(self) -> int:
        """Where replication ended."""
        return self._view.high_watermark

    @property
    def high_watermark_limit(self) -> int:
        """What replicas have: nothing that is written here reaches one."""
        return self._view.high_watermark

    def append_records(
        self,
        records: "DeferredRecords",
        now: Instant,  # noqa: ARG002 - as PartitionLog
        producer: tuple[int, int] | None = None,  # noqa: ARG002
        *,
        base_sequence: int = 0,  # noqa: ARG002
    ) -> int:
        """Forget the records; returns the offset that the first of them got."""
        return self._view.append(len(records))

    def materialize_pending(self) -> None:
        """Nothing is pending."""

"""The lock on acquired records: when its time is up, the records are released without anyone asking (SGP-5)."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from fakebroker.broker.core.deadlines import Deadline
from fakebroker.protocol.instant import Instant

if TYPE_CHECKING:
    from fakebroker.broker.core.share_state.asking import ShareStateNode


class AcquisitionLock:
    """The lock on a range of offsets that a member has acquired, or renewed, at one time.

    `records` is how many of them it still holds; with the last one the timer goes. `due_ms` is monotonic time.
    """

    __slots__ = ("_deadline", "_timed_out", "first_offset", "last_offset", "node", "records")

    def __init__(
        self,
        node: "ShareStateNode",
        first_offset: int,
        last_offset: int,
        timed_out: Callable[["AcquisitionLock", Instant], None],
        due_ms: int,
    ) -> None:
        self.node = node
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.records = last_offset - first_offset + 1
        self._timed_out = timed_out
        self._deadline = Deadline(self._run, self)
        node.cluster.timers.mono.arm(self._deadline, due_ms)

    @property
    def due_ms(self) -> int | None:
        """When it times out, in monotonic time; None when it holds nothing any more."""
        return self._deadline.due_ms

    def let_go(self, records: int) -> None:
        """So many records are not held any more."""
        self.records -= records
        if self.records <= 0:
            self._deadline.end()

    def end(self) -> None:
        """Stop the timer for good."""
        self._deadline.end()

    def _run(self, now: Instant) -> None:
        if self.node.is_running:
            self._timed_out(self, now)
        else:
            self.node.run_when_thawed(Deadline(self._run, self), now)

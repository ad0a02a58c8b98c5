"""Passes of a coordinator over what it has, at whole intervals; those that can find nothing are left out."""

from collections.abc import Callable

from fakebroker.broker.core.deadlines import Deadline, DeadlineQueue
from fakebroker.protocol.instant import Instant


class PassGrid:
    """The times of the passes: `since_ms` and every `interval_ms` after it, wall time."""

    __slots__ = ("_interval_ms", "_since_ms")

    def __init__(self, since_ms: int, interval_ms: int) -> None:
        self._since_ms = since_ms
        self._interval_ms = interval_ms

    def next_ms(self, due_ms: int, now_ms: int) -> int:
        """The time of the first pass after `now_ms` at which `due_ms` has come."""
        since_ms, interval_ms = self._since_ms, self._interval_ms
        passes = max(-((since_ms - due_ms) // interval_ms), (now_ms - since_ms) // interval_ms + 1, 1)
        return since_ms + passes * interval_ms

    def wall_time_went_back(self, by_ms: int) -> None:
        """The time of day was set back by `by_ms`: the next pass comes as soon as it would have come."""
        self._since_ms -= by_ms


class Passes:
    """Passes that call `run`, the next one when there is something to find."""

    def __init__(self, grid: PassGrid, queue: DeadlineQueue, run: Callable[[Instant], None], owner: object) -> None:
        self._grid = grid
        self._queue = queue
        self._deadline = Deadline(run, owner=owner)

    def look_at(self, due_ms: int, now_ms: int) -> None:
        """Have a pass that sees what is due at `due_ms`; the next one after `now_ms` if that is past."""
        armed_ms = self._deadline.due_ms
        if armed_ms is None or due_ms < armed_ms:
            pass_ms = self._grid.next_ms(due_ms, now_ms)
            if armed_ms is None or pass_ms < armed_ms:
                self._queue.arm(self._deadline, pass_ms)

    def wall_time_went_back(self, by_ms: int, now_ms: int) -> None:
        """The time of day was set back by `by_ms` to `now_ms`: the next pass comes as soon as it would have come.

        It looks at everything.
        """
        self._grid.wall_time_went_back(by_ms)
        if self._deadline.due_ms is not None:
            self._queue.arm(self._deadline, self._grid.next_ms(now_ms, now_ms))

    def stop(self) -> None:
        """No pass any more: the partition is unloaded."""
        self._deadline.end()

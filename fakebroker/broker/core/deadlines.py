"""Deadlines: one lazy queue class, an instance for each of the two readings of time.

Moving a deadline later (a heartbeat does it thousands of times a second) writes one integer: the queue looks at it
again when its heap entry comes up. Moving one earlier adds a second entry; stale entries are skipped. At equal times
deadlines run in the order in which they were queued, so a run is the same every time.
"""

from collections.abc import Callable, Iterator
from heapq import heappop, heappush

from fakebroker.broker.core.long_passes import LongPasses
from fakebroker.protocol.instant import Instant


class Deadline:
    """Something that happens at a time unless it is moved or disarmed first. `due_ms` is None while disarmed."""

    __slots__ = ("_queued_ms", "_ticket", "action", "due_ms", "owner")

    def __init__(self, action: Callable[[Instant], None], owner: object = None) -> None:
        self.action = action
        self.owner = owner  # whom the timer watches over; for invariants ("no timer without an owner") and debugging
        self.due_ms: int | None = None
        self._queued_ms: int | None = None  # the time of its live heap entry; the ticket tells which entry that is
        self._ticket = 0

    def disarm(self) -> None:
        """Disarm: `due_ms` becomes None. The heap entry is dropped when it comes up."""
        self.due_ms = None

    def end(self) -> None:
        """Disarm for good, and let go of action and owner: the heap entry may keep the deadline alive for long."""
        self.due_ms = self.owner = None
        self.action = _nothing


def _nothing(_now: Instant) -> None:
    """The action of a deadline that has ended."""


NEVER_MS = 1 << 63


class DeadlineQueue:
    """All deadlines on one reading of time.

    `earliest_ms` is a lower bound of `next_due_ms()`, and costs nothing to look at; NEVER_MS when the queue is empty.
    """

    def __init__(self) -> None:
        self.earliest_ms = NEVER_MS
        self._heap: list[tuple[int, int, Deadline]] = []
        self._count = 0

    def arm(self, deadline: Deadline, due_ms: int) -> None:
        """Set or move `deadline` to `due_ms`; cheap when it moves later."""
        deadline.due_ms = due_ms
        queued_ms = deadline._queued_ms
        if queued_ms is None or due_ms < queued_ms:
            self._queue(deadline, due_ms)

    def next_due_ms(self) -> int | None:
        """When the next deadline is due, or None."""
        while self._heap:
            queued_ms, ticket, deadline = self._heap[0]
            due_ms = deadline.due_ms
            live = ticket == deadline._ticket
            if live and due_ms == queued_ms:
                self.earliest_ms = queued_ms
                return queued_ms
            heappop(self._heap)
            if live:  # but it was moved later or disarmed
                deadline._queued_ms = None
                deadline._ticket = 0
                if due_ms is not None:
                    self._queue(deadline, due_ms)
        self.earliest_ms = NEVER_MS
        return None

    def pop_due(self, now_ms: int) -> Deadline | None:
        """The next deadline due at or before `now_ms`, disarmed and out of the queue, or None."""
        due_ms = self.next_due_ms()
        if due_ms is None or due_ms > now_ms:
            return None
        _, _, deadline = heappop(self._heap)
        deadline._queued_ms = deadline.due_ms = None
        deadline._ticket = 0
        return deadline

    def __len__(self) -> int:
        """How many deadlines are armed."""
        return len(self.armed())

    def armed(self) -> list[Deadline]:
        """Every armed deadline, in no particular order (for invariants)."""
        return [d for _, ticket, d in self._heap if ticket == d._ticket and d.due_ms is not None]

    def _queue(self, deadline: Deadline, due_ms: int) -> None:
        self._count += 1
        deadline._queued_ms, deadline._ticket = due_ms, self._count
        heappush(self._heap, (due_ms, self._count, deadline))
        if due_ms < self.earliest_ms:
            self.earliest_ms = due_ms


class Timers:
    """The two queues: `wall` for what is compared with stored times, `mono` for what watches over live clients.

    `passes` has what deadlines began and could not finish in one turn.
    """

    def __init__(self) -> None:
        self.wall = DeadlineQueue()
        self.mono = DeadlineQueue()
        self.passes = LongPasses()

    def pop_due(self, start: Instant, target: Instant) -> Iterator[tuple[Instant, Callable[[Instant], None]]]:
        """What falls due while time passes from `start` to `target`, in due order: its own moment, and its action.

        The caller runs each action before it asks for the next one: an action may arm, move or disarm others. The two
        readings may move by different amounts; each goes at the same pace until it reaches its target. What was due
        before `start` comes first, at `start`.
        """
        passed_ms = 0
        while (step := self._next_step(start, target)) is not None:
            due_after_ms, queue, due_ms = step
            passed_ms = max(passed_ms, due_after_ms)
            deadline = queue.pop_due(due_ms)
            if deadline is not None:
                yield _on_the_way(start, target, passed_ms), deadline.action

    def _next_step(self, start: Instant, target: Instant) -> tuple[int, DeadlineQueue, int] | None:
        """The deadline that comes next on the way: how long after `start`, in which queue, and when.

        Where both queues have one at the same distance from `start`, that of `mono` comes first.
        """
        mono_ms, wall_ms = self.mono.next_due_ms(), self.wall.next_due_ms()
        step = None
        if mono_ms is not None and mono_ms <= target.mono_ms:
            step = max(mono_ms - start.mono_ms, 0), self.mono, mono_ms
        if wall_ms is not None and wall_ms <= target.wall_ms:
            after_ms = max(wall_ms - start.wall_ms, 0)
            if step is None or after_ms < step[0]:
                step = after_ms, self.wall, wall_ms
        return step


def _on_the_way(start: Instant, target: Instant, passed_ms: int) -> Instant:
    wall_ms = min(start.wall_ms + passed_ms, target.wall_ms)
    mono_ms = min(start.mono_ms + passed_ms, target.mono_ms)
    return Instant(wall_ms, mono_ms)

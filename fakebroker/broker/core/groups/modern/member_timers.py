"""Timers of members, one for each at most: who has not done something in time is removed (CGT-3, STM-2)."""

from collections.abc import Callable

from fakebroker.broker.core.deadlines import Deadline, DeadlineQueue
from fakebroker.protocol.instant import Instant


class MemberTimers:
    """Timers of one kind of the members of a group. `owner` is the group, `mono` the queue of its timers."""

    def __init__(self, mono: DeadlineQueue, owner: object) -> None:
        self._mono = mono
        self._owner = owner
        self._timers: dict[str, Deadline] = {}  # by member id

    def start(self, member_id: str, timeout_ms: int, action: Callable[[Instant], None], now: Instant) -> None:
        """Let `action` run `timeout_ms` from now unless `end` comes first; a timer that ran before is replaced."""
        self.end(member_id)
        timer = self._timers[member_id] = Deadline(action, self._owner)
        self._mono.arm(timer, now.mono_ms + timeout_ms)

    def end(self, member_id: str) -> None:
        """The member has done it, or is gone."""
        timer = self._timers.pop(member_id, None)
        if timer is not None:
            timer.end()

    def end_all(self) -> None:
        """Disarm every timer for good."""
        for member_id in list(self._timers):
            self.end(member_id)

    def due_ms(self, member_id: str) -> int | None:
        """When the member's timer runs out, by the monotonic clock; None if it has none."""
        timer = self._timers.get(member_id)
        return None if timer is None else timer.due_ms

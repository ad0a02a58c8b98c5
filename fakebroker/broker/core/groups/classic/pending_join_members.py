"""Member ids that were handed out with MEMBER_ID_REQUIRED and have not joined yet (KIP-394, JG-16, JG-17)."""

from collections.abc import Callable, Iterator
from functools import partial

from fakebroker.broker.core.deadlines import Deadline, DeadlineQueue
from fakebroker.protocol.instant import Instant


class PendingJoinMembers:
    """The pending member ids of one group, each with the timer that forgets it (TM-4). Kafka: pendingJoinMembers."""

    __slots__ = ("_mono", "_on_timeout", "_timers")

    def __init__(self, mono: DeadlineQueue, on_timeout: Callable[[str, Instant], None]) -> None:
        """`on_timeout(member_id, now)` runs when an id has not joined in time; the id is forgotten then."""
        self._mono = mono
        self._on_timeout = on_timeout
        self._timers: dict[str, Deadline] = {}

    def add(self, member_id: str, session_timeout_ms: int, owner: object, now: Instant) -> None:
        """Remember an id for as long as the session timeout of the request that asked for it."""
        timer = Deadline(partial(self._time_out, member_id), owner)
        self._timers[member_id] = timer
        self._mono.arm(timer, now.mono_ms + session_timeout_ms)

    def discard(self, member_id: str) -> None:
        """Forget an id, if it is here: it joined, left or was rejected."""
        timer = self._timers.pop(member_id, None)
        if timer is not None:
            timer.end()

    def clear(self) -> None:
        """Forget all: the group is gone."""
        for member_id in list(self._timers):
            self.discard(member_id)

    def __contains__(self, member_id: str) -> bool:
        return member_id in self._timers

    def __iter__(self) -> Iterator[str]:
        return iter(self._timers)

    def __len__(self) -> int:
        return len(self._timers)

    def due_ms(self) -> dict[str, int]:
        """When each id is forgotten, by the monotonic clock."""
        return {member_id: timer.due_ms for member_id, timer in self._timers.items() if timer.due_ms is not None}

    def _time_out(self, member_id: str, now: Instant) -> None:
        del self._timers[member_id]
        self._on_timeout(member_id, now)

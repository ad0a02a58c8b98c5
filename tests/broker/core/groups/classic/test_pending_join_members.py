"""Handed-out ids and their timers (TM-4)."""

import pytest

from fakebroker.broker.core.deadlines import DeadlineQueue
from fakebroker.broker.core.groups.classic.pending_join_members import PendingJoinMembers
from fakebroker.protocol.instant import Instant


@pytest.mark.rules("TM-4")
def test_each_has_its_timer() -> None:
    """An id lives as long as its own timeout; one that was discarded never times out."""
    mono = DeadlineQueue()
    gone: list[tuple[str, Instant]] = []
    pending = PendingJoinMembers(mono, lambda member_id, now: gone.append((member_id, now)))
    for member_id, timeout_ms in (("a", 100), ("b", 50), ("c", 70)):
        pending.add(member_id, timeout_ms, "group", Instant(0, 1000))
    pending.discard("c")
    pending.discard("never there")
    assert (list(pending), len(pending), "c" in pending) == (["a", "b"], 2, False)

    deadline = mono.pop_due(1050)
    assert deadline is not None
    deadline.action(Instant(0, 1050))
    assert (gone, list(pending), deadline.owner) == ([("b", Instant(0, 1050))], ["a"], "group")

    pending.clear()
    assert (len(pending), len(mono)) == (0, 0)

"""Timers of members: one for each, which runs out once."""

from fakebroker.broker.core.deadlines import DeadlineQueue
from fakebroker.broker.core.groups.modern.member_timers import MemberTimers
from fakebroker.protocol.instant import Instant
from tests.support.time import START


class Lab:
    """Timers of a group that note what runs out, and when."""

    def __init__(self) -> None:
        self.queue = DeadlineQueue()
        self.timers = MemberTimers(self.queue, self)
        self.ran: list[tuple[str, int]] = []

    def start(self, member_id: str, timeout_ms: int, now: Instant = START) -> None:
        self.timers.start(
            member_id, timeout_ms, lambda at: self.ran.append((member_id, at.mono_ms - START.mono_ms)), now
        )

    def run_until(self, ms: int) -> None:
        """Let the time pass."""
        end = START.plus(ms)
        while (due_ms := self.queue.next_due_ms()) is not None and due_ms <= end.mono_ms:
            for deadline in self.queue.armed():
                if deadline.due_ms == due_ms:
                    deadline.disarm()
                    deadline.action(START.plus(due_ms - START.mono_ms))


def test_a_timer_runs_out_unless_it_is_ended() -> None:
    """Each at its own time; one that was ended never does."""
    lab = Lab()
    for member_id, timeout_ms in (("a", 300), ("b", 200), ("c", 100)):
        lab.start(member_id, timeout_ms)
    lab.timers.end("b")
    lab.timers.end("nobody")
    lab.run_until(1_000)

    assert lab.ran == [("c", 100), ("a", 300)]


def test_a_timer_that_is_started_again_is_replaced() -> None:
    """Only the later start counts."""
    lab = Lab()
    lab.start("a", 100)
    lab.start("a", 400, START.plus(50))
    lab.run_until(1_000)

    assert lab.ran == [("a", 450)]


def test_when_a_timer_runs_out() -> None:
    """It can be reported while it runs; at the end of the group all are gone, and owned by nobody."""
    lab = Lab()
    lab.start("a", 100)
    due = lab.timers.due_ms("a"), lab.timers.due_ms("b")
    owners = [deadline.owner for deadline in lab.queue.armed()]
    lab.timers.end_all()

    assert due == (START.mono_ms + 100, None)
    assert owners == [lab]
    assert lab.timers.due_ms("a") is None
    assert lab.queue.armed() == []

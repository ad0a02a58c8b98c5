"""Deadlines run when they are due, in order, whatever they were moved to before."""

from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.core.deadlines import Deadline, DeadlineQueue, Timers
from fakebroker.protocol.instant import Instant


def quiet() -> Deadline:
    return Deadline(lambda _: None)


def test_a_deadline_moved_later_keeps_quiet_until_then() -> None:
    """What a heartbeat does: the old place comes up and nothing happens."""
    queue, deadline = DeadlineQueue(), quiet()
    queue.arm(deadline, 10)
    queue.arm(deadline, 30)

    assert queue.pop_due(29) is None
    assert queue.pop_due(30) is deadline
    assert queue.pop_due(1_000) is None


def test_a_deadline_moved_earlier_is_due_earlier_and_once() -> None:
    """The place that it had before is skipped."""
    queue, deadline = DeadlineQueue(), quiet()
    queue.arm(deadline, 30)
    queue.arm(deadline, 10)

    assert queue.next_due_ms() == 10
    assert queue.pop_due(30) is deadline
    assert queue.pop_due(30) is None


def test_equal_times_run_in_the_order_of_arming() -> None:
    """A run is the same every time."""
    queue, deadlines = DeadlineQueue(), [quiet() for _ in range(5)]
    for deadline in deadlines:
        queue.arm(deadline, 7)

    assert [queue.pop_due(7) for _ in deadlines] == deadlines


@given(
    st.lists(st.tuples(st.sampled_from(["arm", "disarm", "pop"]), st.integers(0, 4), st.integers(0, 20)), max_size=60)
)
def test_the_queue_does_what_a_plain_table_does(steps: list[tuple[str, int, int]]) -> None:
    """After any arming, moving and disarming, the same deadlines are due at the same times."""
    queue, deadlines = DeadlineQueue(), [quiet() for _ in range(5)]
    table: dict[int, int] = {}
    for what, number, ms in steps:
        if what == "arm":
            queue.arm(deadlines[number], ms)
            table[number] = ms
        elif what == "disarm":
            deadlines[number].disarm()
            table.pop(number, None)
        else:
            popped = queue.pop_due(ms)
            due = [n for n, due_ms in table.items() if due_ms == min(table.values()) and due_ms <= ms]
            assert (popped is None) == (not due)
            if popped is not None:
                assert table.pop(deadlines.index(popped)) is not None
                assert deadlines.index(popped) in due
        assert queue.next_due_ms() == min(table.values(), default=None)
        assert {d.due_ms for d in queue.armed()} == set(table.values())
        assert len(queue) == len(table)


def test_both_readings_run_in_due_order_each_at_its_own_moment() -> None:
    """Mono first at equal distance, what is overdue at the start, and what is armed on the way in its place."""
    timers, ran = Timers(), []
    start = Instant(wall_ms=1_000, mono_ms=50)
    later = Deadline(lambda now: ran.append(("later", now)))

    def arm_later(now: Instant) -> None:
        ran.append(("wall", now))
        timers.mono.arm(later, now.mono_ms + 1)

    for queue, due_ms, action in (
        (timers.wall, 1_020, arm_later),
        (timers.mono, 70, lambda now: ran.append(("mono", now))),
        (timers.mono, 40, lambda now: ran.append(("overdue", now))),
        (timers.mono, 81, lambda now: ran.append(("too late", now))),
    ):
        queue.arm(Deadline(action), due_ms)
    for moment, action in timers.pop_due(start, start.plus(30)):
        action(moment)

    assert ran == [
        ("overdue", start),
        ("mono", start.plus(20)),
        ("wall", start.plus(20)),
        ("later", start.plus(21)),
    ]
    assert timers.mono.next_due_ms() == 81


def test_a_reading_that_has_reached_its_target_stands_still() -> None:
    """Where wall time moves further than monotonic time, what falls due later is at the last monotonic moment."""
    timers = Timers()
    timers.wall.arm(quiet(), 500)

    moments = [moment for moment, _ in timers.pop_due(Instant(0, 0), Instant(1_000, 100))]

    assert moments == [Instant(500, 100)]

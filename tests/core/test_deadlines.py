"""Deadlines run when they are due, in order, whatever they were moved to before."""

from hypothesis import given
from hypothesis import strategies as st

from fakebroker.core.deadlines import Deadline, DeadlineQueue


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

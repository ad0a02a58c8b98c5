"""A priority queue hands out equals as java.util.PriorityQueue does."""

from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.core.java_priority_queue import JavaPriorityQueue


def drained(items: list[str]) -> str:
    """What comes out, one after the other, of a queue that orders by the second letter."""
    queue: JavaPriorityQueue[str] = JavaPriorityQueue(lambda item: float(item[1]), items)
    return " ".join(queue.poll() for _ in range(len(queue)))


def test_equals_come_as_in_java() -> None:
    """Of items that are equal the order is Java's: neither that of adding nor that of Python's heap."""
    assert drained(["a0", "b0", "c0", "d0"]) == "a0 d0 c0 b0"
    assert drained(["a1", "b0", "c1", "d0", "e1", "f0", "g0"]) == "b0 g0 d0 f0 a1 e1 c1"


def test_a_load_may_change_while_an_item_is_outside() -> None:
    """An item that is taken out, loaded and put back stands behind those that are less loaded."""
    loads = {"a": 0, "b": 0, "c": 1}
    queue: JavaPriorityQueue[str] = JavaPriorityQueue(lambda name: loads[name], loads)
    order = []
    for _ in range(6):
        name = queue.poll()
        loads[name] += 1
        queue.add(name)
        order.append(name)

    assert order == ["a", "b", "a", "b", "c", "b"]


@given(st.lists(st.integers(0, 5)))
def test_the_least_comes_first(numbers: list[int]) -> None:
    """Whatever is added comes out in ascending order, and nothing is lost."""
    queue: JavaPriorityQueue[int] = JavaPriorityQueue(lambda number: number, numbers)

    assert [queue.poll() for _ in range(len(queue))] == sorted(numbers)

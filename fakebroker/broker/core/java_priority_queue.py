"""`java.util.PriorityQueue`, whose order among equals Kafka's assignor of streams groups depends on (STA-3).

Python's heapq keeps another order among equals: after a pop it moves the gap down to a leaf before it moves up again.
"""

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

T = TypeVar("T")


class JavaPriorityQueue(Generic[T]):
    """A binary heap of items; `key` is asked at each comparison, so it may change while an item is outside."""

    def __init__(self, key: Callable[[T], float], items: Iterable[T] = ()) -> None:
        """A queue to which `items` are added one after the other."""
        self._key = key
        self._heap: list[T] = []
        for item in items:
            self.add(item)

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, item: T) -> None:
        """Add an item: it rises until the one above it is not greater."""
        heap, key = self._heap, self._key(item)
        index = len(heap)
        heap.append(item)
        while index > 0:
            parent = (index - 1) >> 1
            if key >= self._key(heap[parent]):
                break
            heap[index] = heap[parent]
            index = parent
        heap[index] = item

    def poll(self) -> T:
        """Take out the least item. IndexError if there is none."""
        heap = self._heap
        least, last = heap[0], heap.pop()
        if heap:
            self._sink(last)
        return least

    def _sink(self, item: T) -> None:
        """Put an item in the place of the one at the top: it sinks until none below it is less."""
        heap, key = self._heap, self._key(item)
        index, first_leaf = 0, len(heap) >> 1
        while index < first_leaf:
            child = 2 * index + 1
            if child + 1 < len(heap) and self._key(heap[child]) > self._key(heap[child + 1]):
                child += 1
            if key <= self._key(heap[child]):
                break
            heap[index] = heap[child]
            index = child
        heap[index] = item

"""What a seed decides: orders that do not matter, pauses, and lengths of time that a scenario leaves open."""

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Shuffle:
    """Draws of one seed; without one everything is as written, and nothing is drawn."""

    def __init__(self, seed: int | None) -> None:
        self.seed = seed
        self._random = random.Random(seed) if seed is not None else None

    def order(self, items: Sequence[T]) -> list[T]:
        """The items in an order of the seed's."""
        items = list(items)
        if self._random is not None:
            self._random.shuffle(items)
        return items

    def between(self, min_ms: int, max_ms: int) -> int:
        """A time of the seed's, the least without one."""
        return min_ms if self._random is None else self._random.randint(min_ms, max(min_ms, max_ms))

    def pause_ms(self, min_ms: int, max_ms: int) -> int:
        """A pause of the seed's, none without one."""
        return 0 if self._random is None else self.between(min_ms, max_ms)

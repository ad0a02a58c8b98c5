"""Has Python's cycle collector run by the bytes that came in, too.

It runs by the number of objects, and `serve` lets it run seldom. A request of 100 MB is some twenty objects: if it ends
in a cycle, such as that of an exception and its frames, thousands of them would be kept until the collector comes by.
"""

import gc
from typing import Final

YOUNG_EACH_BYTES: Final = 32 << 20
OLDER_EACH: Final = 8  # of the collections of the youngest objects: those that one of them has passed over


class ReadBytes:
    """How much may still be read before the collector runs. The collector is the process's, and so is this."""

    __slots__ = ("_collections", "left_bytes")

    def __init__(self) -> None:
        self.left_bytes = YOUNG_EACH_BYTES
        self._collections = 0

    def add(self, size_bytes: int) -> None:
        """So much was read."""
        self.left_bytes -= size_bytes
        if self.left_bytes < 0:
            self.collect()

    def collect(self) -> None:
        """Collect now, unless the process wants no collector."""
        self.left_bytes = YOUNG_EACH_BYTES
        self._collections += 1
        if gc.isenabled():
            gc.collect(0 if self._collections % OLDER_EACH else 1)


READ = ReadBytes()

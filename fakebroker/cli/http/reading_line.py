"""Where readers of records by HTTP wait for one another: an unpacked batch takes up to 128 MiB, and its values as much.

There are two lines. In one are the answers that end with their last step, as those of `browse`. In the other are those
that are sent while the records are read: they take as long as their readers do.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from starlette.types import Send

LONGEST_S: Final = 30.0
"""A reader that others wait for is cut off when it has taken so long to take what it got, all parts together."""

LOOK_S: Final = 1.0  # how often a reader that takes nothing is looked at


class LongRecords(Iterator[Any]):
    """Records, read as they are written, of which some are unpacked to more than 1 MiB."""

    def __init__(self, records: Iterator[Any]) -> None:
        self._records = records

    def __next__(self) -> Any:
        return next(self._records)


class ReadingLine:
    """A line of which one reader at a time reads records."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._waiting = 0
        self._kept_s = 0.0  # for how long others have waited for the reader that has its turn to take something

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for the turn, and have it."""
        self._waiting += 1
        try:
            await self._lock.acquire()
        finally:
            self._waiting -= 1
        self._kept_s = 0.0
        try:
            yield
        finally:
            self._lock.release()

    async def send(self, send: "Send", message: Any) -> None:
        """Send a part of the answer that has its turn. Raises TimeoutError if others have waited too long for it."""
        sending, loop = asyncio.ensure_future(send(message)), asyncio.get_running_loop()
        try:
            while not sending.done():
                begun_s = loop.time()
                await asyncio.wait({sending}, timeout=LOOK_S)
                self._kept_s += loop.time() - begun_s if self._waiting else 0
                if self._kept_s > LONGEST_S and self._waiting:
                    raise TimeoutError("the reader is too slow")
            sending.result()
        finally:
            sending.cancel()


_LINES: "WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[ReadingLine, ReadingLine]]" = WeakKeyDictionary()


def line_of_looks() -> ReadingLine:
    """The line of answers that are written when all is read."""
    return _lines()[0]


def line_of_answers() -> ReadingLine:
    """The line of answers that are sent while the records are read."""
    return _lines()[1]


def _lines() -> tuple[ReadingLine, ReadingLine]:
    return _LINES.setdefault(asyncio.get_running_loop(), (ReadingLine(), ReadingLine()))

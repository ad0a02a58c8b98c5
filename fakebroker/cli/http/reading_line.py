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

SLOW_S: Final = 30.0
"""A reader that has taken nothing for so long is cut off if others wait for it."""


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

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for the turn, and have it."""
        self._waiting += 1
        try:
            await self._lock.acquire()
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._lock.release()

    async def send(self, send: "Send", message: Any) -> None:
        """Send a part of the answer that has its turn. Raises TimeoutError if it is not taken and others wait."""
        sending = asyncio.ensure_future(send(message))
        try:
            while not sending.done():
                await asyncio.wait({sending}, timeout=SLOW_S)
                if not sending.done() and self._waiting:
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

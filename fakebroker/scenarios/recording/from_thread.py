"""Items that are made by blocking calls, for an event loop."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


async def from_thread(items: Iterator[T]) -> AsyncIterator[T]:
    """The items, made in a thread of their own; raises what the iterator raises.

    The thread does not keep the process from ending, so that a signal need not wait for a call that blocks.
    """
    loop, made = asyncio.get_running_loop(), asyncio.Queue[tuple[T] | Exception | None]()

    def make() -> None:
        end: Exception | None = None
        try:
            for item in items:
                loop.call_soon_threadsafe(made.put_nowait, (item,))
        except Exception as error:
            end = error
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(made.put_nowait, end)

    threading.Thread(target=make, daemon=True).start()
    while (found := await made.get()) is not None:
        if isinstance(found, Exception):
            raise found
        yield found[0]

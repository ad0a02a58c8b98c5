"""Long work in steps, each in its own turn of the loop. Without Starlette, which `fakebroker ctl` does not need."""

import asyncio
from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import asynccontextmanager
from time import monotonic
from typing import TypeVar
from weakref import WeakKeyDictionary

from fakebroker.protocol.pace import Pace, StepTime

T = TypeVar("T")

_TURNS: "WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock]" = WeakKeyDictionary()


def pace_of(units_per_step: int) -> Pace:
    """A pace by the clock, also for a broker in virtual time: those who ask by HTTP wait in real time."""
    return Pace(units_per_step, StepTime(monotonic))


@asynccontextmanager
async def own_turn() -> AsyncIterator[None]:
    """A turn of the loop in which no one else does long work in steps, however many do: the broker serves its clients
    between any two steps.
    """
    async with _TURNS.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
        yield
        await asyncio.sleep(0)


async def in_turns(steps: Generator[None, None, T]) -> T:
    """The result of long work; the loop has its turn after each step."""
    while True:
        async with own_turn():
            try:
                next(steps)
            except StopIteration as end:
                result: T = end.value
                return result


async def each_in_turn(steps: Iterator[T | None]) -> AsyncIterator[T]:
    """What long work gives on its way; None is the end of a step, as is each thing that it gives."""
    while True:
        async with own_turn():
            try:
                given = next(steps)
            except StopIteration:
                return
        if given is not None:
            yield given

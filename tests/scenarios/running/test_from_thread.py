"""A broker in an event loop, reached from another thread."""

import asyncio
from collections.abc import Callable

import pytest

from fakebroker import AsyncFakeBroker, BrokerStopped, InvalidArgument, WaitTimeout
from fakebroker.scenarios.running.from_thread import FromThread


def in_a_thread(work: Callable[[FromThread], object], meanwhile: Callable[[FromThread], None] | None = None) -> None:
    """Run `work` in a thread beside the loop of a running broker."""

    async def run() -> None:
        async with AsyncFakeBroker() as broker:
            powers = FromThread(broker, asyncio.get_running_loop())
            working = asyncio.ensure_future(asyncio.to_thread(work, powers))
            if meanwhile is not None:
                await asyncio.sleep(0)
                meanwhile(powers)
            await asyncio.wait_for(working, 20)

    asyncio.run(run())


def test_powers_work_from_another_thread() -> None:
    """Calls block until they are done; what they raise is raised there."""

    def work(powers: FromThread) -> None:
        powers.create_topic("orders", 2)
        powers.group("billing").commit({("orders", 0): 42})
        assert powers.group("billing").wait(state="Empty", timeout_s=5).offsets == {("orders", 0): 42}
        with pytest.raises(WaitTimeout, match="Stable"):
            powers.group("billing").wait(state="Stable", timeout_s=0.01)
        with pytest.raises(InvalidArgument):
            powers.node(7).stop()
        before = powers.snapshot()
        powers.topic("orders").delete()
        powers.restore(before)
        assert powers.topic("orders").exists

    in_a_thread(work)


def test_the_end_ends_waits_and_lets_no_call_begin() -> None:
    """A thread that waits for ever would keep the process."""

    def work(powers: FromThread) -> None:
        with pytest.raises(BrokerStopped):
            powers.group("billing").wait(state="Stable", timeout_s=3600)
        with pytest.raises(BrokerStopped):
            powers._call(lambda: None)

    in_a_thread(work, FromThread.close)

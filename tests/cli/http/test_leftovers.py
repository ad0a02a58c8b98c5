"""What has ended behind the HTTP API gives its memory back, though the cycle collector runs seldom, as in `serve`."""

import asyncio
import gc
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import ref

import pytest

from fakebroker.broker.core.cluster import Cluster
from fakebroker.broker.core.logs.log import PartitionLog
from fakebroker.broker.engine.engine import Engine
from fakebroker.cli.http import brokers as brokers_module
from fakebroker.cli.http import plays as plays_module
from fakebroker.scenarios.happenings import Sent
from fakebroker.testing.broker import AsyncFakeBroker
from fakebroker.testing.virtual_broker import VirtualBroker
from tests.support.control import Client, with_control

OURS = (AsyncFakeBroker, VirtualBroker, Engine, Cluster, PartitionLog, Sent)
PLAY = """about: A producer.
topics: {orders: {partitions: 1}}
actors: [a]
timeline:
  - {a: produce orders-0, records: [one, two]}
"""
WAITS = PLAY + "  - {pass: 1h}\n"
LONG_S = 60


@contextmanager
def collector_is_rare() -> Iterator[None]:
    """It runs only where it is called."""
    before = gc.get_threshold()
    gc.set_threshold(10**9, 10**9, 10**9)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def ours() -> list[object]:
    """What there is of brokers and their logs, in this process."""
    return [each for each in gc.get_objects() if type(each) in OURS]


async def delete_a_broker(control: Client) -> None:
    own = f"/brokers/{(await control.do('POST', '/brokers'))['broker_id']}"
    await fill(control, own)
    await control.do("DELETE", own)


async def forget_a_broker(control: Client) -> None:
    own = f"/brokers/{(await control.do('POST', '/brokers', {'idle_ttl_s': 0.0}))['broker_id']}"
    while any(each["broker_id"] in own for each in await control.get("/brokers")):
        await asyncio.sleep(0)


async def fork(control: Client) -> None:
    await fill(control)
    snapshot = (await control.do("POST", "/snapshots"))["snapshot_id"]
    forked = await control.do("POST", f"/snapshots/{snapshot}/fork")
    await control.do("DELETE", f"/brokers/{forked['broker_id']}")
    await control.do("DELETE", f"/snapshots/{snapshot}")
    await control.do("DELETE", "/topics/orders")


async def restore(control: Client) -> None:
    snapshot = (await control.do("POST", "/snapshots"))["snapshot_id"]
    await fill(control)
    await control.do("POST", f"/snapshots/{snapshot}/restore")
    await control.do("DELETE", f"/snapshots/{snapshot}")


async def reset(control: Client) -> None:
    await fill(control)
    await control.do("POST", "/reset")


async def play_in_virtual_time(control: Client) -> None:
    assert (await control.do("POST", "/scenarios", {"scenario": PLAY, "virtual": True}))["state"] == "passed"


async def play_what_fails(control: Client) -> None:
    failing = PLAY + "  - {expect: {group: g, state: Stable}}\n"
    assert (await control.do("POST", "/scenarios", {"scenario": failing, "virtual": True}))["state"] == "failed"


async def cancel_a_play(control: Client) -> None:
    own = f"/brokers/{(await control.do('POST', '/brokers'))['broker_id']}"
    answer = await control.ask("POST", f"{own}/scenarios", {"scenario": WAITS})
    await control.do("DELETE", f"{own}/scenarios/{answer.json()['scenario_id']}")
    await control.do("DELETE", own)


async def delete_a_broker_that_plays(control: Client) -> None:
    own = f"/brokers/{(await control.do('POST', '/brokers'))['broker_id']}"
    await control.ask("POST", f"{own}/scenarios", {"scenario": WAITS})
    await control.do("DELETE", own)


async def refuse_a_broker(control: Client) -> None:
    taken = (await control.get("/bootstrap")).rpartition(":")[2]
    assert (await control.problem("POST", "/brokers", {"listen": f"127.0.0.1:{taken}"}))["status"] == 409


async def fill(control: Client, own: str = "") -> None:
    await control.do("PUT", f"{own}/topics/orders")
    await control.do("POST", f"{own}/topics/orders/records", {"values": ["a", "b"]})


ENDS: dict[str, Callable[[Client], Awaitable[None]]] = {
    each.__name__: each
    for each in (
        delete_a_broker,
        forget_a_broker,
        fork,
        restore,
        reset,
        play_in_virtual_time,
        play_what_fails,
        cancel_a_play,
        delete_a_broker_that_plays,
        refuse_a_broker,
    )
}


@pytest.mark.parametrize("name", ENDS)
def test_what_has_ended_is_gone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """After several have ended, there is as much as before."""
    monkeypatch.setattr(brokers_module, "LOOK_EVERY_S", 0)

    async def test(control: Client) -> None:
        await ENDS[name](control)  # what is made once is there
        gc.collect()
        before = len(ours())
        with collector_is_rare():
            for _ in range(3):
                await ENDS[name](control)
            await gone(before)

    with_control(test)


async def gone(most: int) -> None:
    """Wait until there are at most so many."""
    async with asyncio.timeout(LONG_S):
        while len(ours()) > most:
            await asyncio.sleep(0)


def test_one_that_a_request_still_waits_for() -> None:
    """A removed broker is gone after the last request that waited for it."""

    async def test(control: Client) -> None:
        own = f"/brokers/{(await control.do('POST', '/brokers'))['broker_id']}"
        engine: Any = ref(control.app.brokers.find(own.rpartition("/")[2]).broker._engine)
        reading = asyncio.ensure_future(control.ask("POST", f"{own}/groups/g/wait", {"state": "Stable"}))
        await asyncio.sleep(0)
        with collector_is_rare():
            await control.do("DELETE", own)
            assert (await reading).status_code >= 400
            del reading
            async with asyncio.timeout(LONG_S):
                while engine() is not None:
                    await asyncio.sleep(0)

    with_control(test)


def test_what_is_kept_of_plays_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest go when the transcripts together are too long."""

    async def test(control: Client) -> None:
        sent = {"scenario": PLAY, "virtual": True}
        length = len((await control.do("POST", "/scenarios", sent))["transcript"])
        monkeypatch.setattr(plays_module, "MAX_TRANSCRIPTS_CHARS", 2 * length)
        for _ in range(3):
            await control.do("POST", "/scenarios", sent)
        assert [each["scenario_id"] for each in await control.get("/scenarios")] == ["p3", "p4"]

    with_control(test)

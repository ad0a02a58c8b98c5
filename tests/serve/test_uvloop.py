"""AsyncFakeBroker in uvloop's loops, whose transports and timers differ from asyncio's in many small ways."""

import asyncio
import socket
import struct
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from fakebroker import AsyncFakeBroker
from tests.model.life import descriptors
from tests.support.frames import frames, long_poll, request

if sys.platform == "win32":
    pytest.skip("uvloop does not exist for Windows", allow_module_level=True)
uvloop = pytest.importorskip("uvloop", reason="uvloop is not installed")

HEARTBEAT = request("Heartbeat", 4, group_id="g", generation_id=1, member_id="m")
SOON_S = 20


def run(live: Callable[[AsyncFakeBroker], Awaitable[None]]) -> None:
    """Run something with a broker in a uvloop loop."""

    async def start() -> None:
        async with AsyncFakeBroker() as broker:
            broker.create_topic("t")
            await asyncio.wait_for(live(broker), 3 * SOON_S)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(start())


async def connect(broker: AsyncFakeBroker) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    listener = broker.listeners[0]
    return await asyncio.open_connection(listener.host, listener.port)


async def close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    await writer.wait_closed()


async def gone(broker: AsyncFakeBroker) -> None:
    await broker.wait(lambda: not broker._engine.connections or None, SOON_S, lambda: "connections are left")


def test_long_polls_end_in_time() -> None:
    """A timer that rings a little early is set again; a parked fetch is answered."""

    async def live(broker: AsyncFakeBroker) -> None:
        reader, writer = await connect(broker)
        writer.write(long_poll(30))
        assert await reader.read(1000)
        await close(writer)
        await gone(broker)

    run(live)


def test_requests_before_the_end_are_answered() -> None:
    """A client that has ended its side gets all its answers, more than one turn's; then we close."""

    async def live(broker: AsyncFakeBroker) -> None:
        reader, writer = await connect(broker)
        writer.write(HEARTBEAT * 2000)
        writer.write_eof()
        assert len(frames(await reader.read())) == 2000
        await close(writer)
        await gone(broker)

    run(live)


def test_a_client_that_does_not_read_blocks_itself_only() -> None:
    """Writing is paused, then reading; others are served; it gets every answer when it reads."""

    async def live(broker: AsyncFakeBroker) -> None:
        broker.create_topic("wide", partitions=500)
        asked = request("Metadata", 1, topics=None)
        slow, writer = await connect(broker)
        writer.write(asked * 1000)
        other, other_writer = await connect(broker)
        other_writer.write(HEARTBEAT)
        assert await other.read(1000)
        for _ in range(1000):
            (size,) = struct.unpack(">i", await slow.readexactly(4))
            await slow.readexactly(size)
        await close(writer)
        await close(other_writer)

    run(live)


def test_clients_that_vanish_and_a_stop() -> None:
    """A reset while parked, then stop and start with clients connected, parked or just connecting."""

    async def live(broker: AsyncFakeBroker) -> None:
        _, writer = await connect(broker)
        writer.write(long_poll(60_000))
        await broker.wait(lambda: broker._engine.connections or None, SOON_S, str)
        sock = writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
        await gone(broker)

        before = descriptors()
        clients = [await connect(broker) for _ in range(10)]
        for _, each in clients[::2]:
            each.write(long_poll(60_000))
        await broker.wait(lambda: len(broker._engine.connections) == 10 or None, SOON_S, str)
        await broker.stop()
        assert broker._server._clients == {}
        for reader, each in clients:
            assert await reader.read() == b""
            await close(each)
        await broker.start()
        assert descriptors() == before
        reader, writer = await connect(broker)
        writer.write(long_poll(30))
        assert await reader.read(1000)
        await close(writer)

    run(live)


@pytest.mark.clients
def test_a_real_client() -> None:
    """aiokafka in the same loop: produce, join, consume, commit."""
    import aiokafka

    async def live(broker: AsyncFakeBroker) -> None:
        options: dict[str, Any] = {"bootstrap_servers": broker.bootstrap}
        async with aiokafka.AIOKafkaProducer(**options) as producer:
            for number in range(20):
                await producer.send_and_wait("t", b"%d" % number)
        async with aiokafka.AIOKafkaConsumer(
            "t", group_id="g", auto_offset_reset="earliest", enable_auto_commit=False, **options
        ) as consumer:
            values = [(await consumer.getone()).value for _ in range(20)]
            await broker.group("g").wait(state="Stable", members=1)
            await consumer.commit()
        assert values == [b"%d" % number for number in range(20)]
        assert broker.group("g").offsets == {("t", 0): 20}

    run(live)

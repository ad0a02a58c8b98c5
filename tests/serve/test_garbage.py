"""The cycle collector runs by the bytes that came in."""

import gc
import socket
from collections.abc import Iterator

import pytest

from fakebroker import FakeBroker
from fakebroker.serve.garbage import READ, YOUNG_EACH_BYTES
from tests.support.control import Client, with_control


@pytest.fixture
def generations() -> Iterator[list[int]]:
    """The generations that are collected, in order, where objects alone would never have the collector run."""
    found: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            found.append(info["generation"])

    gc.callbacks.append(note)
    before = gc.get_threshold()
    gc.set_threshold(10**9, 10**9, 10**9)
    yield found
    gc.set_threshold(*before)
    gc.callbacks.remove(note)


def test_requests_of_clients(generations: list[int]) -> None:
    """Every 32 MiB the youngest objects, and every eighth time those that one collection has passed over."""
    frame_bytes = 1 << 20
    frame = (frame_bytes - 4).to_bytes(4, "big") + b"\x00\x99" + bytes(frame_bytes - 6)  # no API: read, and refused
    READ.collect()
    with FakeBroker() as broker:
        address = (broker.listeners[0].host, broker.listeners[0].port)
        for _ in range(8 * YOUNG_EACH_BYTES // frame_bytes + 8):
            with socket.create_connection(address, timeout=10) as client:
                client.sendall(frame)
                assert client.recv(1) == b""
    assert generations.count(1) == 1
    assert generations.count(0) >= 7


def test_bodies_by_http(generations: list[int]) -> None:
    """Refused ones as well."""

    async def test(control: Client) -> None:
        for _ in range(2 * YOUNG_EACH_BYTES // 4_000_000 + 2):
            await control.problem("POST", "/topics/t/records", content=b"[" * 4_000_000)

    with_control(test)
    assert len(generations) >= 2

"""The HTTP server in the broker's event loop."""

import asyncio

import pytest
from starlette.types import Receive, Scope, Send

from fakebroker.cli.http.server import MAX_READ_BYTES, ControlServer, OneCaller
from fakebroker.protocol.listeners import Listener
from fakebroker.serve.net.ports import Ports


class ReadingApp:
    """Reads the body of every request, and answers with nothing."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - a protocol names it
        """Answer one request."""
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 204})
        await send({"type": "http.response.body"})

    async def close(self) -> None:
        """Nothing is under way."""


def test_little_is_read_at_once_of_a_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    """256 KiB in chunks of one byte, as asyncio reads otherwise, would be a turn of 80 ms for each caller."""
    sizes: list[int] = []
    received = OneCaller.data_received

    def note(self: OneCaller, data: bytes) -> None:
        sizes.append(len(data))
        received(self, data)

    async def run() -> bytes:
        listener = Listener(1, "127.0.0.1", 0)
        server = ControlServer(ReadingApp(), Ports([listener]))
        await server.start()
        reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n")
        writer.write(b"1\r\nx\r\n" * 50_000 + b"0\r\n\r\n")
        answer = await reader.read()
        writer.close()
        await server.stop()
        return answer

    monkeypatch.setattr(OneCaller, "data_received", note)
    assert asyncio.run(run()).startswith(b"HTTP/1.1 204 ")
    assert max(sizes) <= MAX_READ_BYTES
    assert sum(sizes) > 300_000

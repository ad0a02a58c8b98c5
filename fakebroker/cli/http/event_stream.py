"""Answers that are sent piece by piece, such as server-sent events, and end when their reader has gone."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping

from starlette.responses import Response
from starlette.types import Receive, Scope, Send


class Stream(Response):
    """Pieces until there are no more, or until the reader has gone.

    Starlette's own StreamingResponse cancels what it streams only while that waits for something. Under load the next
    piece is always there already, and it goes on for ever. Here the end of the connection is looked at before each
    piece, too.
    """

    def __init__(
        self, pieces: AsyncIterator[bytes], status_code: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(status_code=status_code, headers=headers)
        del self.headers["content-length"]
        self._pieces = pieces

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        """Send the pieces; `receive` says when the reader has gone."""
        leaving = asyncio.ensure_future(disconnected(receive))
        writing = asyncio.ensure_future(self._write(send, leaving))
        try:
            await asyncio.wait((writing, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            writing.cancel()
            await asyncio.wait((writing, leaving))
        if not writing.cancelled():
            writing.result()

    async def _write(self, send: Send, leaving: "asyncio.Future[None]") -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        try:
            async for piece in self._pieces:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
                if leaving.done():
                    return
        finally:
            await self._pieces.aclose()  # type: ignore[attr-defined]
        await send({"type": "http.response.body", "body": b"", "more_body": False})


class ThreadStream(Stream):
    """Pieces that another thread makes, one at a time, and only as fast as they are read."""

    def __init__(self, pieces: Iterator[bytes], media_type: str | None) -> None:
        super().__init__(_from_thread(pieces), headers={"Content-Type": media_type or "application/octet-stream"})


async def _from_thread(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
        yield piece


class EventStream(Stream):
    """Server-sent events."""

    media_type = "text/event-stream"

    def __init__(self, events: AsyncIterator[bytes]) -> None:
        super().__init__(events, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})


async def disconnected(receive: Receive) -> None:
    """Return when the caller has hung up; its request was read before."""
    while (await receive())["type"] != "http.disconnect":
        pass

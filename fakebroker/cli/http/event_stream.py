"""Answers that are streams of server-sent events, and end when their reader has gone."""

import asyncio
from collections.abc import AsyncIterator

from starlette.responses import Response
from starlette.types import Receive, Scope, Send


class EventStream(Response):
    """Events until there are no more, or until the reader has gone.

    Starlette's own StreamingResponse cancels what it streams only while that waits for something. Under load the next
    event is always there already, and it goes on for ever. Here the end of the connection is looked at before each
    event, too.
    """

    media_type = "text/event-stream"

    def __init__(self, events: AsyncIterator[bytes]) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._events = events

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events; `receive` says when the reader has gone."""
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
            async for event in self._events:
                await send({"type": "http.response.body", "body": event, "more_body": True})
                if leaving.done():
                    return
        finally:
            await self._events.aclose()  # type: ignore[attr-defined]
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def disconnected(receive: Receive) -> None:
    """Return when the caller has hung up; its request was read before."""
    while (await receive())["type"] != "http.disconnect":
        pass

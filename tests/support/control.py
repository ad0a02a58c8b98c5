"""The HTTP door without a socket, in the loop of the test."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpx

from fakebroker import AsyncFakeBroker
from fakebroker.control.app import ControlApp

URL = "http://127.0.0.1"
PROBLEM = "application/problem+json"


class Client:
    """A caller of the door; `problem` expects a problem document."""

    def __init__(self, broker: AsyncFakeBroker, app: ControlApp, http: httpx.AsyncClient) -> None:
        self.broker = broker
        self.app = app
        self.http = http

    async def ask(self, verb: str, path: str, body: object = None, **more: Any) -> httpx.Response:
        """The answer."""
        given = {} if body is None else {"json": body}
        return await self.http.request(verb, path, **given, **more)

    async def get(self, path: str, **more: Any) -> Any:
        """The data of a good answer."""
        answer = await self.ask("GET", path, **more)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def do(self, verb: str, path: str, body: object = None) -> Any:
        """The data of a good answer, None if it has none."""
        answer = await self.ask(verb, path, body)
        assert answer.status_code in (200, 201, 204), answer.text
        return answer.json() if answer.content else None

    async def problem(self, verb: str, path: str, body: object = None, **more: Any) -> dict[str, Any]:
        """The problem document of a refusal."""
        answer = await self.ask(verb, path, body, **more)
        assert answer.headers["content-type"] == PROBLEM, answer.text
        problem: dict[str, Any] = answer.json()
        assert problem["status"] == answer.status_code
        assert problem.keys() >= {"type", "title", "status", "detail"}
        return problem


def with_door(test: Callable[[Client], Awaitable[None]], *, token: str | None = None, **options: Any) -> None:
    """Run a test against the door of a broker that serves."""

    async def run() -> None:
        async with AsyncFakeBroker(**options) as broker:
            app = ControlApp(broker, token)
            async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=URL) as http:
                await test(Client(broker, app, http))
            await app.close()

    asyncio.run(run())

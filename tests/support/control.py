"""The HTTP API without a socket, in the loop of the test."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import httpx

from fakebroker import AsyncFakeBroker
from fakebroker.cli.http.app import ControlApp
from fakebroker.cli.http.saved_app import SavedApp

URL = "http://127.0.0.1"
PROBLEM = "application/problem+json"
App = ControlApp | SavedApp


class Client:
    """A caller of the HTTP API; `problem` expects a problem document."""

    def __init__(self, broker: AsyncFakeBroker, app: ControlApp, http: httpx.AsyncClient) -> None:
        self.broker = broker
        self.app = app
        self.http = http

    async def ask(self, verb: str, path: str, body: object = None, **more: Any) -> httpx.Response:
        """The answer."""
        given: dict[str, Any] = {} if body is None else {"json": body}
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


def with_control(
    test: Callable[[Client], Awaitable[None]],
    *,
    token: str | None = None,
    has_host_access: bool = False,
    **options: Any,
) -> None:
    """Run a test against the HTTP API of a broker that serves."""

    async def run() -> None:
        async with AsyncFakeBroker(**options) as broker:
            app = ControlApp(broker, token, has_host_access=has_host_access)
            async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=URL) as http:
                try:
                    await test(Client(broker, app, http))
                finally:
                    await app.close()

    asyncio.run(run())


async def asked(app: App, verb: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> tuple[int, Any]:
    """Status and data of an answer to a request whose header is exactly this: HTTP libraries would mend it."""
    sent: list[Any] = []
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": verb,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
    }
    incoming = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> Any:
        return next(incoming, {"type": "http.disconnect"})

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    content = b"".join(message.get("body", b"") for message in sent)
    is_json = b"json" in dict(sent[0]["headers"]).get(b"content-type", b"")
    return sent[0]["status"], json.loads(content) if is_json and content else content

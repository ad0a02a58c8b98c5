"""A saved journal in the page: the paths that its timeline asks for, answered from the lines of files. Nothing changes.

The answers have the shapes of `/about`, `/names`, `/journal/brief`, `/journal/entries/{seq}` and `/live`.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from fakebroker.cli.http.about import names, version_of_package
from fakebroker.cli.http.admission import AdmittedRoutes, PublicRoute
from fakebroker.cli.http.arguments import Arguments
from fakebroker.cli.http.event_stream import EventStream
from fakebroker.cli.http.live import SILENCE_S
from fakebroker.cli.http.page_files import PageFiles
from fakebroker.cli.http.problems import problem_of
from fakebroker.protocol.errors import UnknownThing
from fakebroker.testing.handles.journal import JournalHandle
from fakebroker.testing.journal.rows import Row
from fakebroker.testing.journal.saved_view import SavedView
from fakebroker.testing.reflection.members import members_of

_BRIEF: Final = members_of(JournalHandle)["brief"]


class SavedApp:
    """The application that shows the lines of one run. `source` names the files, for people."""

    def __init__(self, rows: Sequence[Row], source: str, token: str | None = None) -> None:
        """`token` is what callers have to show; None lets everyone on this host in."""
        self._view = SavedView(rows)
        self._source = source
        self._is_closing = asyncio.Event()
        self._brief_arguments = Arguments(_BRIEF.parameters, "BriefArguments", "brief")
        routes = [
            *PageFiles().routes(),
            PublicRoute("/healthz", _healthy),
            Route("/about", self._about),
            Route("/names", _names),
            Route("/live", self._live),
            Route("/journal/brief", self._brief),
            Route("/journal/entries/{seq:int}", self._entry),
        ]
        self._admitted = AdmittedRoutes(routes, token)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await self._admitted(scope, receive, send)

    @property
    def routes(self) -> tuple[Route, ...]:
        """All routes, in the order in which they are tried."""
        return self._admitted.routes

    async def close(self) -> None:
        """End the streams."""
        self._is_closing.set()

    async def _about(self, _request: Request) -> Response:
        started = self._view.started
        return JSONResponse(
            {
                "version": version_of_package(),
                "release": started.get("release", ""),
                "bootstrap": "",
                "nodes": self._view.nodes,
                "run": self._view.run,
                "is_running": False,
                "is_read_only": True,
                "source": self._source,
                "broker_id": None,
                "brokers": [],
            }
        )

    async def _brief(self, request: Request) -> Response:
        try:
            _, given = self._brief_arguments.from_query(request.query_params.multi_items())
            found = self._view.brief(**given)
        except Exception as error:
            return problem_of(error).response()
        return JSONResponse(found._asdict())

    async def _entry(self, request: Request) -> Response:
        try:
            return JSONResponse(self._view.entry(request.path_params["seq"]))
        except UnknownThing as error:
            return problem_of(error).response()

    async def _live(self, _request: Request) -> Response:
        return EventStream(self._events())

    async def _events(self) -> AsyncIterator[bytes]:
        """The first message of a stream, and then nothing."""
        view = self._view
        hello = {
            "run": view.run,
            "is_resumed": True,
            "first_seq": view.first_seq,
            "next_seq": view.next_seq,
            "group_version": 0,
            "now_ms": view.last_wall_ms,
            "mono_ms": view.last_mono_ms,
        }
        yield f"id: {view.run}.{view.next_seq}.0\nevent: hello\ndata: {json.dumps(hello)}\n\n".encode()
        while not self._is_closing.is_set():
            try:
                async with asyncio.timeout(SILENCE_S):
                    await self._is_closing.wait()
            except TimeoutError:
                yield b": a saved journal\n\n"


async def _healthy(_request: Request) -> Response:
    return JSONResponse({"status": "ok"})


async def _names(_request: Request) -> Response:
    """Those of all APIs: which release wrote the journal does not matter here."""
    from fakebroker.protocol.wire.registry import APIS

    return JSONResponse(names({api.key: (api.min, api.max) for api in APIS.values()}))

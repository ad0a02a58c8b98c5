"""The files of the page: what a browser gets at `/`, below `/page/` and below `/brokers/ID/`.

They hold no data and need no token: all that the page shows it asks by the HTTP API, as a script does. A strict
Content-Security-Policy keeps what clients call themselves from ever being run: no script but these files, no script
from text, nothing from another host, and no frame around it.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Match
from starlette.types import Scope

from fakebroker.cli.http.admission import PublicRoute
from fakebroker.cli.http.problems import Problem

FOLDER = Path(__file__).with_name("page")
INDEX, PREFIX = "index.html", "/page"
OF_BROKER = "/brokers/{broker_id}"

MEDIA_TYPES: Mapping[str, str] = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".mjs": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
}

_POLICY = (
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    # Text becomes markup only where the rendering library makes it from the page's own templates.
    "require-trusted-types-for 'script'",
    "trusted-types lit-html",
)
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": "; ".join(_POLICY),
    "Cache-Control": "no-cache",  # kept, but asked for with its ETag: another version may be served at the same port
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


class _Kept(NamedTuple):
    """A file as it was read; it is read again when its time or size is another."""

    mtime_ns: int
    size_bytes: int
    content: bytes
    etag: str


class PageFiles:
    """The files below a folder, by their paths there."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder
        self._kept: dict[Path, _Kept] = {}

    def routes(self) -> Iterator[PublicRoute]:
        """Where they are: the index at `/`, all of them below `/page/`."""
        yield PublicRoute("/", self._index)
        yield PublicRoute(f"{PREFIX}/{{path:path}}", self._file)

    def routes_of_isolated_brokers(self) -> Iterator[PublicRoute]:
        """The same below `/brokers/ID/`: the links of the index are relative, so each page is about its own broker."""
        yield _BrowserRoute(OF_BROKER, _with_slash)
        yield PublicRoute(f"{OF_BROKER}/", self._index)
        yield PublicRoute(f"{OF_BROKER}{PREFIX}/{{path:path}}", self._file)

    async def _index(self, request: Request) -> Response:
        return self.answer(INDEX, request)

    async def _file(self, request: Request) -> Response:
        return self.answer(request.path_params["path"], request)

    def answer(self, path: str, request: Request) -> Response:
        """One file, 304 if the caller has it already, 404 for what is no file of the page."""
        kept = self._read(path)
        if kept is None:
            return Problem(404, "not-found", f"the page has no file {path[:200]!r}").response()
        headers = {**HEADERS, "ETag": kept.etag}
        if kept.etag in _etags(request.headers.get("if-none-match", "")):
            return Response(status_code=304, headers=headers)
        return Response(kept.content, headers={**headers, "Content-Type": MEDIA_TYPES[Path(path).suffix]})

    def _read(self, path: str) -> _Kept | None:
        """None for a path that leads out of the folder, to no file, or to one of a type that no page has."""
        parts = path.split("/")
        if not all(map(_NAME.fullmatch, parts)) or Path(path).suffix not in MEDIA_TYPES:
            return None
        file = self._folder.joinpath(*parts)
        try:
            stat = file.stat()
            kept = self._kept.get(file)
            if kept is None or (kept.mtime_ns, kept.size_bytes) != (stat.st_mtime_ns, stat.st_size):
                content = file.read_bytes()
                etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
                kept = self._kept[file] = _Kept(stat.st_mtime_ns, stat.st_size, content, etag)
        except OSError:
            return None
        return kept


class _BrowserRoute(PublicRoute):
    """A route for callers that ask for HTML. Others get what the next route of that path has."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Full for a GET whose Accept header names text/html, as the address bar of a browser sends it."""
        match, in_path = super().matches(scope)
        if match is Match.FULL and "text/html" in Headers(scope=scope).get("accept", ""):
            return match, in_path
        return Match.NONE, {}


async def _with_slash(request: Request) -> Response:
    """To the same path with a slash at its end, which relative links need."""
    name = request.scope["path"].rpartition("/")[2]
    return RedirectResponse(f"./{name}/", headers={**HEADERS, "Vary": "Accept"})


def _etags(header: str) -> set[str]:
    """The entity tags of an If-None-Match header, weak ones as strong."""
    return {each.strip().removeprefix("W/") for each in header.split(",")}

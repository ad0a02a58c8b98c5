"""Which requests to the HTTP port are admitted: those with the token, or without one those of this host.

A route needs the token unless it is a PublicRoute. The route that decides is the one that then answers, so no path
is ever compared. The URL that Starlette puts together is not used: it contains the Host header, which a caller
chooses.
"""

import hmac
import re
from collections.abc import Iterable
from contextlib import suppress

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.routing import Match, Route
from starlette.types import Receive, Scope, Send

from fakebroker.cli.http.control_port import is_loopback
from fakebroker.cli.http.problems import Problem, no_such_path
from fakebroker.cli.http.request_body import discard

_HOST = re.compile(r"(?:\[(?P<ipv6>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9_.-]+))(?::[0-9]{0,5})?")
_OTHER_SITES = ("cross-site", "same-site")  # the second: the same host, another port
MAX_SHOWN = 200  # characters of a header in an error
MAX_REFUSED_BYTES = 64 * 1024  # of the body of a request that is not admitted


class PublicRoute(Route):
    """A route that anyone may use without a token: its answers hold no data of the broker."""


class AdmittedRoutes:
    """Routes as an ASGI application, and the token that all but the public ones need (None: no token is needed)."""

    def __init__(self, routes: Iterable[Route], token: str | None) -> None:
        self.routes = tuple(routes)
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request. Paths are matched as they were sent: a group's name may hold an encoded slash."""
        if scope["type"] != "http":
            return
        scope = {**scope, "path": scope["raw_path"].decode("latin-1"), "root_path": ""}
        try:
            route, in_path = self._admitted(scope)
        except Problem as problem:
            if _has_body(headers := Headers(scope=scope)):
                await _end_body(problem, headers, receive)
            await problem.response()(scope, receive, send)
        else:
            await route.handle({**scope, **in_path}, receive, send)

    def _admitted(self, scope: Scope) -> tuple[Route, Scope]:
        """The route of a request, and what its placeholders stand for. Raises Problem for one that is not admitted."""
        headers = Headers(scope=scope)
        _check_length(headers)
        _check_site(headers, self._token, is_get=scope["method"] == "GET")
        for route in self.routes:
            match, in_path = route.matches(scope)
            if match is Match.FULL:
                if not isinstance(route, PublicRoute):
                    _check_token(headers, self._token)
                return route, dict(in_path)
        _check_token(headers, self._token)
        raise no_such_path(scope["path"], [route.path for route in self.routes])


def _has_body(headers: Headers) -> bool:
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0"


async def _end_body(problem: Problem, headers: Headers, receive: Receive) -> None:
    """Read a short body of a request that is not admitted. The connection ends: of a long one the rest is not read."""
    problem.with_headers(Connection="close")
    if "expect" not in headers:  # else the caller waits for our answer before it sends the body
        with suppress(ClientDisconnect):
            await discard(receive, MAX_REFUSED_BYTES)


def _check_length(headers: Headers) -> None:
    """Raises Problem for a body of two lengths: a proxy may have gone by the other one. The connection ends."""
    if "transfer-encoding" in headers and "content-length" in headers:
        problem = Problem(400, "ambiguous-length", "send Content-Length or Transfer-Encoding, not both")
        raise problem.with_headers(Connection="close")


def _check_site(headers: Headers, token: str | None, *, is_get: bool) -> None:
    """Raises Problem for a page of another site in a browser, and without a token for another name of this host.

    A browser sends no Origin for images, scripts and frames, but Sec-Fetch-Site. A link from another site is fine.
    """
    origin, host = headers.get("origin"), headers.get("host", "")
    found = _HOST.fullmatch(host)
    if host and found is None:
        raise Problem(400, "malformed-host", f"the Host header must be HOST[:PORT], not {host[:MAX_SHOWN]!r}")
    if origin is not None and origin.partition("://")[2] != host:
        raise Problem(403, "forbidden-origin", f"pages from {origin[:MAX_SHOWN]!r} may not control this broker")
    is_link = is_get and headers.get("sec-fetch-dest") == "document"  # a form that is sent has that destination, too
    if headers.get("sec-fetch-site") in _OTHER_SITES and not is_link:
        raise Problem(403, "forbidden-origin", "pages of other sites may only link to this broker")
    if token is None and not (found and is_loopback(found["ipv6"] or found["name"])):
        detail = f"without a token this broker can only be reached as localhost, not as {host[:MAX_SHOWN]!r}"
        raise Problem(403, "forbidden-origin", detail)


def _check_token(headers: Headers, token: str | None) -> None:
    """Raises Problem for a caller without the token."""
    if token is None:
        return
    sent = headers.get("authorization", "").encode("latin-1", "replace")
    if not hmac.compare_digest(sent, f"Bearer {token}".encode()):
        problem = Problem(401, "unauthorized", "send `Authorization: Bearer TOKEN` with the broker's control token")
        raise problem.with_headers(**{"WWW-Authenticate": "Bearer"})

"""Who may call the HTTP door: callers with the token; without one this host under its own name, and no other site."""

import hmac
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from fakebroker.control.door import is_loopback
from fakebroker.control.page_files import is_of_page
from fakebroker.control.problems import Problem

OPEN_PATHS = ("/healthz",)  # without a token; so are the files of the page, which have no data


def admit(request: Request, token: str | None) -> None:
    """Raises Problem for a caller without the token, and for pages of other sites in a browser on this host."""
    origin, host = request.headers.get("origin"), request.headers.get("host", "")
    if origin is not None and urlsplit(origin).netloc != host:
        raise Problem(403, "forbidden-origin", f"a page of {origin[:200]} may not control this broker")
    if token is None:
        if not is_loopback(urlsplit(f"//{host}").hostname or ""):
            detail = f"without a token this broker is only controlled as localhost, not as {host[:200]}"
            raise Problem(403, "forbidden-origin", detail)
    elif request.url.path not in OPEN_PATHS and not is_of_page(request.url.path):
        sent = request.headers.get("authorization", "").encode("latin-1", "replace")
        if not hmac.compare_digest(sent, f"Bearer {token}".encode()):
            problem = Problem(401, "unauthorized", "send `Authorization: Bearer TOKEN` with the broker's control token")
            raise problem.with_headers(**{"WWW-Authenticate": "Bearer"})


async def admitted(scope: Scope, receive: Receive, send: Send, token: str | None) -> bool:
    """Whether a request of an application may go on; one that may not is answered here, or is none of HTTP."""
    if scope["type"] != "http":
        return False
    try:
        admit(Request(scope), token)
    except Problem as problem:
        await problem.response()(scope, receive, send)
        return False
    return True

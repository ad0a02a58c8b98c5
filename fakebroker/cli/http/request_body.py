"""Bodies of requests, read within limits, so that none stops the loop that serves the broker's clients for long."""

import asyncio
import re

from starlette.requests import ClientDisconnect, Request
from starlette.types import Receive

from fakebroker.cli.http.problems import Problem
from fakebroker.serve.garbage import READ

MAX_BODY_BYTES = 8 * 1024 * 1024
MAX_VALUES = 50_000  # in a JSON body
MAX_DISCARDED_BYTES = 64 * 1024 * 1024
DISCARD_WITHIN_S = 5.0

_TEXT_OR_COMMA = re.compile(rb'"(?:[^"\\]++|\\.)*+"?+|,', re.DOTALL)


async def body_of(request: Request) -> bytes:
    """The body, empty or JSON. Raises Problem for one that is too large, or said to be something else."""
    body = await read_body(request)
    media_type = media_type_of(request)
    if body and media_type != "application/json":
        given = repr(media_type[:100]) if media_type else "no type"
        detail = f"send a JSON body with `Content-Type: application/json` (curl --json), not with {given}"
        raise Problem(415, "unsupported-media-type", detail)
    if has_many_values(body):
        detail = f"a JSON body may have {MAX_VALUES:,} values; send the others in further requests"
        raise Problem(413, "too-large", detail)
    return body


def media_type_of(request: Request) -> str:
    """What the body is said to be, without parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def read_body(request: Request) -> bytes:
    """The body. Raises Problem for one that is too large, ClientDisconnect when the caller hangs up."""
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > MAX_BODY_BYTES:
        if "expect" not in request.headers:  # else the caller waits for our answer before it sends the body
            await discard(request.receive)
        raise _too_large()
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        READ.add(len(chunk))
        if len(body) > MAX_BODY_BYTES:
            await discard(request.receive)
            raise _too_large()
    return bytes(body)


def has_many_values(body: bytes) -> bool:
    """Whether JSON has more than MAX_VALUES values, by its commas outside of texts."""
    if body.count(b",") < MAX_VALUES:
        return False
    count = 0
    for found in _TEXT_OR_COMMA.finditer(body):
        count += found[0] == b","
        if count >= MAX_VALUES:
            return True
    return False


async def discard(receive: Receive, most_bytes: int = MAX_DISCARDED_BYTES) -> None:
    """Read the rest, so that a caller that sends its whole body first gets our answer and not a reset connection.

    Of a longer one, or one that takes long, not all. Raises ClientDisconnect when the caller hangs up.
    """
    size_bytes = 0
    try:
        async with asyncio.timeout(DISCARD_WITHIN_S):
            while size_bytes < most_bytes:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientDisconnect
                size_bytes += len(message.get("body", b""))
                if not message.get("more_body", False):
                    return
    except TimeoutError:
        pass


def _too_large() -> Problem:
    problem = Problem(413, "too-large", f"a body may have {MAX_BODY_BYTES:,} bytes")
    return problem.with_headers(Connection="close")

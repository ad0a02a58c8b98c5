"""Small documents from URLs, for the engine, which does no input and output: the key sets of signed tokens."""

import asyncio
import threading
from collections.abc import Callable
from http.client import HTTPException
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, build_opener

SCHEMES = ("file", "http", "https")
TIMEOUT_S = 10.0
MAX_BYTES = 1 << 20


def read(url: str) -> bytes | Exception:
    """What a URL of a file or a web server gives, or what was wrong: OSError or ValueError. Proxies are not used."""
    try:
        if urlsplit(url).scheme not in SCHEMES:
            raise ValueError(f"{url} is not the URL of a file or a web server (file:, http:, https:)")
        with build_opener(ProxyHandler({})).open(url, timeout=TIMEOUT_S) as answer:
            data: bytes = answer.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise ValueError(f"{url} is larger than {MAX_BYTES} bytes")
    except (OSError, ValueError) as error:
        return error
    except HTTPException as error:
        return OSError(f"{url}: {error!r}")
    return data


def fetch_in_thread(url: str, then: Callable[[bytes | Exception], None]) -> None:
    """Read a URL in a thread; the running event loop calls `then` with what came, unless it was closed meanwhile."""
    loop = asyncio.get_running_loop()

    def fetch() -> None:
        fetched = read(url)
        try:
            loop.call_soon_threadsafe(then, fetched)
        except RuntimeError:
            return  # nobody waits any more

    threading.Thread(target=fetch, name="fakebroker-fetch", daemon=True).start()

"""Small documents from URLs, for the engine, which does no input and output: the key sets of signed tokens."""

import asyncio
import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from typing import Any, Self
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import (
    FileHandler,
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    Request,
    UnknownHandler,
)

SCHEMES = ("file", "http", "https")
TIMEOUT_S = 10.0  # for each piece of an answer
LONGEST_S = 20.0  # for all of it
MAX_BYTES = 1 << 20


def read(url: str) -> bytes | Exception:
    """What a URL of a file or a web server gives, or an OSError that says what was wrong. Proxies are not used."""
    deadline = _Deadline(LONGEST_S)
    found: bytes | Exception
    try:
        found = _read(url, deadline)
    # The errors themselves have tracebacks, with all that was open: this frame would keep that in a cycle.
    except HTTPError as error:
        error.close()  # it has the answer, and so the connection
        found = OSError(str(error))
    except (OSError, ValueError) as error:
        found = OSError(str(error))
    except Exception as error:  # of http.client, or there was no thread for the deadline: somebody waits for an answer
        found = OSError(repr(error))
    return TimeoutError(f"{url} was not read within {LONGEST_S:g} s") if deadline.is_over else found


def _read(url: str, deadline: "_Deadline") -> bytes:
    if urlsplit(url).scheme not in SCHEMES:
        raise ValueError(f"{url} is not the URL of a file or a web server (file:, http:, https:)")
    with deadline, _opener(deadline).open(url, timeout=TIMEOUT_S) as answer:
        data: bytes = answer.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ValueError(f"{url} is larger than {MAX_BYTES} bytes")
    return data


def _opener(deadline: "_Deadline") -> OpenerDirector:
    """What knows the schemes above and no other, so that nobody is led to one."""
    opener = OpenerDirector()
    errors = HTTPDefaultErrorHandler(), HTTPErrorProcessor(), HTTPRedirectHandler()
    for handler in (FileHandler(), _Http(deadline), _Https(deadline), UnknownHandler(), *errors):
        opener.add_handler(handler)
    return opener


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


class _Deadline:
    """Ends the connections of one read when its time is over, whatever they are doing: a server may send a byte every
    second, in the greeting of TLS as in the headers.
    """

    def __init__(self, seconds: float) -> None:
        self.is_over = False
        self._sockets: list[socket.socket] = []
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._timer.cancel()
        for each in self._sockets:
            each.close()

    def watch(self, connection: socket.socket) -> None:
        """End this connection, too. A second handle of it is kept: TLS takes over the first."""
        self._sockets.append(connection.dup())
        if self.is_over:
            self._end()

    def _end(self) -> None:
        self.is_over = True
        for each in self._sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


class _Answer(HTTPResponse):
    """A response that never reads more than may come: urllib reads the whole body of a redirect."""

    def read(self, amt: int | None = None) -> bytes:
        return super().read(MAX_BYTES + 1 if amt is None else amt)


class _Connection(HTTPConnection):
    """A connection that a deadline ends."""

    response_class = _Answer

    def __init__(self, deadline: _Deadline, host: str, **options: Any) -> None:
        super().__init__(host, **options)
        self._deadline = deadline

    def connect(self) -> None:
        super().connect()
        self._deadline.watch(self.sock)


class _TlsConnection(HTTPSConnection):
    """The same with TLS: the deadline is for its greeting, too."""

    response_class = _Answer

    def __init__(self, deadline: _Deadline, host: str, **options: Any) -> None:
        super().__init__(host, **options)
        self._deadline = deadline

    def connect(self) -> None:
        HTTPConnection.connect(self)
        self._deadline.watch(self.sock)
        self.sock = ssl.create_default_context().wrap_socket(self.sock, server_hostname=self.host)


class _Http(HTTPHandler):
    def __init__(self, deadline: _Deadline) -> None:
        super().__init__()
        self._deadline = deadline

    def http_open(self, req: Request) -> HTTPResponse:
        return self.do_open(partial(_Connection, self._deadline), req)


class _Https(HTTPSHandler):
    def __init__(self, deadline: _Deadline) -> None:
        super().__init__()
        self._deadline = deadline

    def https_open(self, req: Request) -> HTTPResponse:
        return self.do_open(partial(_TlsConnection, self._deadline), req)

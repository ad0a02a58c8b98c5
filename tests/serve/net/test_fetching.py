"""Documents from URLs."""

import gc
import socket
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from fakebroker.serve.net import fetching
from fakebroker.serve.net.fetching import read


def test_files_are_read(tmp_path: Path) -> None:
    """Also those whose names have blanks."""
    path = tmp_path / "a key set.json"
    path.write_bytes(b"{}")

    assert read(path.as_uri()) == b"{}"


@pytest.mark.parametrize("url", ["nonsense", "ftp://127.0.0.1/x", "file:///no/such/file", "http://127.0.0.1:1/x"])
def test_what_cannot_be_read_is_reported(url: str) -> None:
    """As a value: nobody is there to catch an exception."""
    assert isinstance(read(url), OSError | ValueError)


def test_what_nobody_thought_of_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """There may be no thread for the deadline: who waits for the document hears of it all the same."""

    def cannot_start(_self: threading.Timer) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Timer, "start", cannot_start)
    found = read("file:///no/such/file")

    assert isinstance(found, OSError)
    assert "can't start new thread" in str(found)


def test_what_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker reads no more than a megabyte."""
    monkeypatch.setattr(fetching, "MAX_BYTES", 10)
    (tmp_path / "large").write_bytes(b"x" * 11)

    assert "larger than 10 bytes" in str(read((tmp_path / "large").as_uri()))


@contextmanager
def answering(answer: bytes) -> Iterator[str]:
    """The URL of a server that gives each client the same answer."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with connection:
                    connection.recv(1000)
                    connection.sendall(answer)

    server = threading.Thread(target=serve, daemon=True)
    server.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/keys"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        server.join(10)
        listener.close()


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"HTTP/1.1 500 Broken\r\n\r\n", "HTTP Error 500: Broken"),
        (b"HTTP/1.1 302 Found\r\nLocation: ftp://127.0.0.1/x\r\n\r\n", "unknown url type: ftp"),
        (b"HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\n\r\n", "not allowed"),
        (b"HTTP/1.1 302 Found\r\nLocation: /keys\r\n\r\n", "infinite loop"),
        (b"no HTTP at all\r\n\r\n", "BadStatusLine"),
    ],
)
def test_what_a_server_refuses_is_reported_and_leaves_no_connection(answer: bytes, expected: str) -> None:
    """Nobody is led to other kinds of servers, or to files."""
    gc.collect()
    with answering(answer) as url, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = read(url)
        gc.collect()  # which tells of what was left open
    assert isinstance(found, OSError | ValueError)
    assert expected in str(found)
    assert not caught


def test_of_a_redirect_no_more_is_read_than_may_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its body is of no interest, and may be endless."""
    monkeypatch.setattr(fetching, "MAX_BYTES", 10)
    endless = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/x\r\n\r\n"
    with dripping(endless, b"x" * 100) as port:
        found = read(f"http://127.0.0.1:{port}/keys")

    assert "refused" in str(found)


@contextmanager
def dripping(begin: bytes, drop: bytes) -> Iterator[int]:
    """The port of a server that says `begin`, and then never ends: `drop`, again and again."""
    ended = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = listener.accept()
        with connection, suppress(OSError):
            connection.sendall(begin)
            while not ended.wait(0.01):
                connection.sendall(drop)

    server = threading.Thread(target=serve, daemon=True)
    server.start()
    try:
        yield listener.getsockname()[1]
    finally:
        ended.set()
        server.join(10)
        listener.close()


@pytest.mark.parametrize(
    ("scheme", "begin", "drop"),
    [
        ("http", b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", b" "),
        ("http", b"HTTP/1.1 200 OK\r\n\r\n", b" "),
        ("http", b"HTTP/1.1 200 OK\r\n", b"X: y\r\n"),
        ("http", b"HTTP/1.1 200 OK\r\nX: ", b"y"),
        ("http", b"H", b""),
        ("https", b"\x16\x03\x03\x3f\xff", b"\x02"),
    ],
)
def test_a_server_that_never_ends_is_left(
    monkeypatch: pytest.MonkeyPatch, scheme: str, begin: bytes, drop: bytes
) -> None:
    """After a while for all of it, however often a byte comes; nothing of the beginning is taken for the whole."""
    monkeypatch.setattr(fetching, "LONGEST_S", 0.3)
    with dripping(begin, drop) as port:
        found = read(f"{scheme}://127.0.0.1:{port}/keys")

    assert isinstance(found, OSError)
    assert "was not read within 0.3 s" in str(found)

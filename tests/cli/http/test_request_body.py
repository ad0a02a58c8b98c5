"""Bodies of requests: their limits, and callers that hang up inside of them."""

import http.client
import json
import logging
import socket
from typing import Any
from urllib.parse import urlsplit

import pytest

from fakebroker.cli.http import request_body
from fakebroker.cli.http.request_body import MAX_VALUES, has_many_values
from tests.support.control import Client, with_control
from tests.support.serving import controlled


def test_values_are_counted_outside_of_texts() -> None:
    """Commas in texts are none between values, whatever the texts escape or leave open."""
    commas = b"," * MAX_VALUES
    assert has_many_values(b"[" + b"1," * MAX_VALUES + b"1]")
    assert has_many_values(b'["\\"",' + commas + b"]")
    assert has_many_values(b'{"a": "b' + b'","b' * MAX_VALUES + b'"}')
    for text in (b'"' + commas + b'"', b'"\\",' + commas + b'\\\\"', b'"' + commas, b'"\\' + commas, b"[1, 2]", b""):
        assert not has_many_values(text), text[:10]


def test_a_body_of_too_many_values_is_refused() -> None:
    """It would stop the broker for seconds; nothing is done with it."""

    async def test(control: Client) -> None:
        await control.do("PUT", "/topics/orders")
        problem = await control.problem("POST", "/topics/orders/records", {"values": ["a"] * (MAX_VALUES + 1)})
        assert problem["detail"] == "a JSON body may have 50,000 values; send the others in further requests"
        assert problem["status"] == 413
        assert await control.get("/topics/orders/records") == []
        answer = await control.ask("POST", "/topics/orders/records", {"values": ["a," * MAX_VALUES]})
        assert answer.status_code == 200

    with_control(test)


def test_a_caller_that_hangs_up_in_a_body_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    """One line for debugging, and no traceback: every path that takes a body."""
    caplog.set_level(logging.DEBUG, "fakebroker")

    async def test(control: Client) -> None:
        for path in ("/clock/advance", "/journal/diff", "/snapshots/file", "/scenarios", "/brokers", "/snapshots"):
            for length in (b"100", str(2 * request_body.MAX_BODY_BYTES).encode()):
                await hang_up(control, path, length)

    with_control(test)
    records = [record for record in caplog.records if "the client disconnected" in record.getMessage()]
    assert len(records) == 12
    assert all(record.levelno == logging.DEBUG and not record.exc_info for record in caplog.records)


async def hang_up(control: Client, path: str, length: bytes) -> None:
    """Send half of a body."""
    incoming = iter([{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}])

    async def receive() -> Any:
        return next(incoming)

    async def send(_message: Any) -> None:
        """Nobody is there."""

    headers = [(b"host", b"localhost"), (b"content-length", length), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b""}
    await control.app({**scope, "headers": headers, "http_version": "1.1", "scheme": "http"}, receive, send)


def test_a_caller_whose_body_is_too_large_reads_why() -> None:
    """It sends the whole body first; one that asks first (`Expect: 100-continue`) is answered before it sends any."""
    body = b" " * (3 * request_body.MAX_BODY_BYTES)
    with controlled() as url:
        address = urlsplit(url).netloc
        connection = http.client.HTTPConnection(address, timeout=30)
        connection.request("POST", "/clock/advance", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        assert (answer.status, json.loads(answer.read())["type"].rpartition(":")[2]) == (413, "too-large")
        connection.close()
        host, _, port = address.rpartition(":")
        with socket.create_connection((host, int(port)), 30) as asking:
            head = f"POST /clock/advance HTTP/1.1\r\nHost: {address}\r\nContent-Length: {len(body)}\r\n"
            asking.sendall(f"{head}Expect: 100-continue\r\n\r\n".encode())
            assert asking.recv(1000).startswith(b"HTTP/1.1 413")

"""The HTTP server in the broker's event loop."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from fakebroker.cli.http.server import MAX_READ_BYTES, READ_WITHIN_S, ControlServer, OneCaller, Reading
from fakebroker.protocol.listeners import Listener
from fakebroker.serve.net.ports import Ports


class ReadingApp:
    """Reads the body of every request, and answers with nothing."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - a protocol names it
        """Answer one request."""
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 204})
        await send({"type": "http.response.body"})

    async def close(self) -> None:
        """Nothing is under way."""


def test_little_is_read_at_once_of_a_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    """256 KiB in chunks of one byte, as asyncio reads otherwise, would be a turn of 80 ms for each caller."""
    sizes: list[int] = []
    received = OneCaller.data_received

    def note(self: OneCaller, data: bytes) -> None:
        sizes.append(len(data))
        received(self, data)

    async def run() -> bytes:
        listener = Listener(1, "127.0.0.1", 0)
        server = ControlServer(ReadingApp(), Ports([listener]))
        await server.start()
        reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n")
        writer.write(b"1\r\nx\r\n" * 50_000 + b"0\r\n\r\n")
        answer = await reader.read()
        writer.close()
        await server.stop()
        return answer

    monkeypatch.setattr(OneCaller, "data_received", note)
    assert asyncio.run(run()).startswith(b"HTTP/1.1 204 ")
    assert max(sizes) <= MAX_READ_BYTES
    assert sum(sizes) > 300_000


class Turns:
    """A loop that runs a turn when the test says so, and a stopwatch: a caller's bytes take as many ms as they are."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.soon: list[Callable[[], object]] = []

    def call_soon(self, action: Callable[[], object]) -> None:
        """As a loop has it."""
        self.soon.append(action)

    def run(self) -> float:
        """Run a turn; how long it took."""
        began_s, soon, self.soon = self.now_s, self.soon, []
        for action in soon:
            action()
        return self.now_s - began_s


class Caller:
    """One that sends bytes, and its transport."""

    def __init__(self, turns: Turns) -> None:
        self.transport: Any = self
        self.turns = turns
        self.has_read = b""
        self.waiting = 0
        self.may_send_more, self.is_gone, self.fails = True, False, False

    def read(self, data: bytes) -> None:
        """See OneCaller."""
        if self.fails:
            raise MemoryError
        self.turns.now_s += len(data) / 1_000
        self.has_read += data

    def may_send(self) -> None:
        """See OneCaller."""
        self.may_send_more = not self.waiting

    def pause_reading(self) -> None:
        """As a transport has it."""
        self.may_send_more = False

    def abort(self) -> None:
        """As a transport has it."""
        self.is_gone = True

    def is_closing(self) -> bool:
        """As a transport has it."""
        return self.is_gone


def test_callers_that_send_together_do_not_have_one_long_turn() -> None:
    """Each is read in the order of arrival; whoever waits can send no more, and who has gone is not read."""
    turns = Turns()
    reading = Reading(turns, lambda: turns.now_s)  # type: ignore[arg-type]
    callers: list[Any] = [Caller(turns) for _ in range(40)]
    for caller in callers:
        reading.take(caller, b"12345678")
    callers[20].is_gone = True
    reading.take(callers[39], b"9")

    assert [caller.may_send_more for caller in callers].count(True) == 2
    assert turns.now_s <= 2 * READ_WITHIN_S
    lengths = [turns.run() for _ in range(20)]
    assert max(lengths) <= 2 * READ_WITHIN_S
    assert {caller.has_read for caller in callers[:39] if not caller.is_gone} == {b"12345678"}
    assert callers[39].has_read == b"123456789"
    assert callers[20].has_read == b""
    assert all(caller.may_send_more for caller in callers if not caller.is_gone)
    assert not turns.soon

    reading.take(callers[0], b"!")
    assert callers[0].has_read == b"12345678!"


def test_a_caller_that_fails_does_not_hold_up_the_others() -> None:
    """It is cut off, and those that wait have their turns."""
    turns = Turns()
    reading = Reading(turns, lambda: turns.now_s)  # type: ignore[arg-type]
    callers: list[Any] = [Caller(turns) for _ in range(3)]
    for caller in callers:
        reading.take(caller, b"1" * 20)
    callers[1].fails = True
    with pytest.raises(MemoryError):
        turns.run()
    turns.run()
    assert callers[1].is_gone
    assert callers[2].has_read == b"1" * 20


def test_a_caller_may_send_more_when_all_that_it_has_sent_is_read() -> None:
    """Some transports read much at once, which is read in parts."""
    turns = Turns()
    reading = Reading(turns, lambda: turns.now_s)  # type: ignore[arg-type]
    caller: Any = Caller(turns)
    for _ in range(4):
        reading.take(caller, b"1" * 20)
    seen = []
    while turns.soon:
        turns.run()
        seen.append(caller.may_send_more)
    assert seen == [False, False, True]


def test_nothing_is_read_of_a_caller_that_has_had_its_last_answer() -> None:
    """It may have sent more."""
    turns = Turns()
    reading = Reading(turns, lambda: turns.now_s)  # type: ignore[arg-type]
    caller: Any = Caller(turns)
    caller.is_gone = True
    reading.take(caller, b"12")
    assert caller.has_read == b""

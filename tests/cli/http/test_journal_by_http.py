"""What happened, by HTTP: queries, waits, files, and a stream that does not end."""

import asyncio
import json
from time import process_time, thread_time

from fakebroker.cli.http.app import ControlApp
from fakebroker.cli.http.extra import Extra
from fakebroker.cli.http.extras import EXTRAS
from tests.support.control import Client, with_control


async def heartbeat(control: Client, client_id: str = "svc-1") -> None:
    """A client asks once."""
    client = control.broker.client(client_id)
    await asyncio.to_thread(client.request, "Heartbeat", 4, group_id="billing", generation_id=1, member_id="m")


def test_requests_and_events() -> None:
    """As `journal.requests` and `journal.events`, as the lines of a journal file."""

    async def test(control: Client) -> None:
        await heartbeat(control)
        (request,) = await control.get("/journal", params={"api": "Heartbeat", "client_id": "svc-*"})
        assert (request["kind"], request["api"], request["client"]) == ("request", "Heartbeat", "svc-1")
        assert await control.get("/journal", params={"client_id": "other"}) == []
        assert [event["kind"] for event in await control.get("/journal/events?kind=connected")] == ["connected"]
        assert request in await control.get("/journal/lines")
        assert await control.get("/journal/next_seq") > request["seq"]
        lines = (await control.ask("GET", "/journal/file")).text.splitlines()
        assert [json.loads(line)["kind"] for line in lines] == [
            row["kind"] for row in await control.get("/journal/lines")
        ]
        await control.do("DELETE", "/journal")
        assert await control.get("/journal/lines") == []

    with_control(test)


def test_a_wait_for_requests() -> None:
    """As `journal.wait`: it gives them."""

    async def test(control: Client) -> None:
        wanted = {"requests": [{"api": "Heartbeat", "client_id": "svc-2"}], "timeout_s": 30}
        waiting = asyncio.create_task(control.do("POST", "/journal/wait", wanted))
        await heartbeat(control, "svc-1")
        assert not waiting.done()
        await heartbeat(control, "svc-2")
        (found,) = await waiting
        assert found["client"] == "svc-2"

    with_control(test)


def test_a_lost_answer_by_http() -> None:
    """A fault is set, counted, waited for and removed."""

    async def test(control: Client) -> None:
        fault = await control.do("POST", "/faults", {"api": "Heartbeat", "error": "NOT_COORDINATOR", "times": 1})
        assert fault["hits"] == 0
        await heartbeat(control)
        assert await control.do("POST", f"/faults/{fault['fault_id']}/wait", {"hits": 1}) == 1
        assert (await control.get("/journal?error=NOT_COORDINATOR"))[0]["api"] == "Heartbeat"
        await control.do("DELETE", f"/faults/{fault['fault_id']}")
        await control.do("POST", "/faults", {"api": "Fetch", "delay_s": 2, "probability": 0.3})
        await control.do("DELETE", "/faults")
        assert await control.get("/faults") == []

    with_control(test)


def test_files_for_tools() -> None:
    """A trace is JSON, a capture has its magic number, and a journal does not differ from itself."""

    async def test(control: Client) -> None:
        await heartbeat(control)
        assert "traceEvents" in await control.get("/journal/trace")
        assert (await control.ask("GET", "/journal/pcap")).content[:4] in (
            b"\xa1\xb2\xc3\xd4",
            b"\xd4\xc3\xb2\xa1",
            b"\n\r\r\n",
        )
        content = (await control.ask("GET", "/journal/file")).content
        assert (await control.ask("POST", "/journal/diff", content=content)).json() == {"is_same": True, "lines": []}
        assert (await control.problem("POST", "/journal/diff", content=b"junk\njunk\n"))["status"] == 422

    with_control(test)


def test_the_stream() -> None:
    """Events with their sequence numbers, from the one that was asked for; it ends when the control server stops."""

    async def test(control: Client) -> None:
        app = ControlApp(control.broker)
        events = await _read_stream(app, control)
        assert events[0] == ": the journal\n\n"
        data = [json.loads(event.rpartition("data: ")[2]) for event in "".join(events[1:]).split("\n\n") if event]
        assert [row["kind"] for row in data][:3] == ["broker_started", "connected", "request"]

    with_control(test)


async def _read_stream(app: ControlApp, control: Client) -> list[str]:
    """What a stream sends until the request of a client is in it."""
    sent: asyncio.Queue[str] = asyncio.Queue()

    async def send(message: dict[str, object]) -> None:
        if message["type"] == "http.response.body":
            await sent.put(bytes(message["body"]).decode())  # type: ignore[call-overload]

    async def receive() -> dict[str, object]:
        await asyncio.Event().wait()
        return {}

    headers = [(b"host", b"localhost")]
    scope = {"type": "http", "method": "GET", "path": "/journal/stream", "raw_path": b"/journal/stream"}
    scope |= {"query_string": b"since=0", "headers": headers, "http_version": "1.1", "scheme": "http", "root_path": ""}
    stream = asyncio.create_task(app(scope, receive, send))  # type: ignore[arg-type]
    events = [await sent.get()]
    await heartbeat(control)
    while '"kind": "request"' not in events[-1]:
        events.append(await sent.get())
    stream.cancel()
    await asyncio.wait([stream])
    return events


def test_extras_are_described() -> None:
    """Each has a sentence for the document."""
    extras: tuple[Extra, ...] = EXTRAS

    assert [extra.path for extra in extras if not extra.doc] == []


READS_OF_ENTRIES = (
    "/journal",
    "/journal?group=billing",
    "/journal/lines",
    "/journal/events",
    "/journal/file",
    "/journal/trace",
    "/journal/pcap",
    "/metrics",
)


def test_clients_are_served_while_the_whole_journal_is_read() -> None:
    """However long the journal is, no query of it keeps the broker from its clients for more than a moment."""

    async def test(control: Client) -> None:
        for number in range(20):
            await heartbeat(control, f"svc-{number}")
        journal = control.broker._engine.journal
        heartbeats = journal._fresh[:]
        for _ in range(80):
            for entry in heartbeats:
                journal.append(entry)
            journal.settle()
        with LongestTurn() as turn:
            for path in READS_OF_ENTRIES:
                turn.where = path
                assert (await control.ask("GET", path)).status_code == 200
        assert turn.longest_s < turn.total_s / 15, str(turn)

    with_control(test)


class LongestTurn:
    """For how much processor time the running loop does nothing else, at most."""

    def __enter__(self) -> "LongestTurn":
        self.longest_s, self.total_s, self.where, self.longest_at = 0.0, 0.0, "", ""
        self._began_s, self._last_s = process_time(), thread_time()
        self._loop = asyncio.get_running_loop()
        self._next = self._loop.call_soon(self._look)
        return self

    def _look(self) -> None:
        now_s = thread_time()
        if now_s - self._last_s > self.longest_s:
            self.longest_s, self.longest_at = now_s - self._last_s, self.where
        self._last_s = now_s
        self._next = self._loop.call_soon(self._look)

    def __exit__(self, *_: object) -> None:
        self._look()
        self._next.cancel()
        self.total_s = process_time() - self._began_s

    def __str__(self) -> str:
        return f"{self.longest_s:.2f} of {self.total_s:.2f} s for {self.longest_at}"

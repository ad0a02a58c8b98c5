"""The live stream: what a reader gets in each round, where it goes on after a break, and what it costs nobody."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from fakebroker import AsyncFakeBroker
from fakebroker.cli.http import live, turns
from fakebroker.cli.http.live import PARTS, LiveReader, StreamPosition
from fakebroker.protocol.pace import Pace, finished
from fakebroker.testing.handles.group_rows import changes_of
from fakebroker.testing.journal.brief import BYTES_PER_STEP, MAX_NAMES
from tests.support.control import Client, with_control

Heard = list[tuple[str, str, Any]]  # of each message its id, its name and its data


async def heartbeat(broker: AsyncFakeBroker, times: int = 1) -> None:
    """A client asks."""
    client = broker.client("svc-1")
    for _ in range(times):
        await asyncio.to_thread(client.request, "Heartbeat", 4, group_id="billing", generation_id=1, member_id="m")


def reader_of(broker: AsyncFakeBroker, *parts: str) -> LiveReader:
    """A reader of these parts that begins now."""
    place = StreamPosition(broker.journal.next_seq, broker.group_rows(limit=1).version)
    return LiveReader(broker, place, frozenset(parts))


def sent_to(reader: LiveReader) -> dict[str, Any]:
    """What a round tells, by the names of the messages."""
    return dict(message for message in reader.round() if message is not None)


def run(test: Callable[[AsyncFakeBroker], Awaitable[None]]) -> None:
    """Run a test on a broker in this loop."""

    async def with_broker() -> None:
        async with AsyncFakeBroker() as broker:
            broker.create_topic("orders", partitions=2)
            await test(broker)

    asyncio.run(with_broker())


def test_lines_as_they_come() -> None:
    """Each once, in brief, with the number that goes on; a round without news says nothing."""

    async def test(broker: AsyncFakeBroker) -> None:
        reader = reader_of(broker, "lines")
        assert sent_to(reader) == {}
        await heartbeat(broker)
        message = sent_to(reader)["lines"]
        assert [line["kind"] for line in message["lines"]] == ["broker_started", "connected", "request"]
        assert message["next_seq"] == broker.journal.next_seq == reader.place.seq
        assert sent_to(reader) == {}
        await heartbeat(broker)
        assert [line["api"] for line in sent_to(reader)["lines"]["lines"] if line["kind"] == "request"] == ["Heartbeat"]

    run(test)


def test_a_slow_reader_gets_everything_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """What waited comes in messages of a bounded length, round by round, and nothing is left out."""
    monkeypatch.setattr(live, "MAX_LINES", 10)

    async def test(broker: AsyncFakeBroker) -> None:
        reader = reader_of(broker, "lines")
        await heartbeat(broker, 35)
        seqs: list[int] = []
        while message := sent_to(reader):
            lines = message["lines"]["lines"]
            assert len(lines) <= 10
            seqs += [line["seq"] for line in lines]
        assert seqs == list(range(broker.journal.next_seq))

    run(test)


def test_lines_of_long_requests_come_round_by_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """A round ends after some bytes of requests; the next goes on there. Of many names a line has the first."""
    monkeypatch.setattr(turns, "monotonic", lambda: 0.0)

    async def test(broker: AsyncFakeBroker) -> None:
        reader, client = reader_of(broker, "lines"), broker.client("svc-1")
        groups = [f"g{index:04}" for index in range(1000)]
        for _ in range(2 * BYTES_PER_STEP // 6000):
            await asyncio.to_thread(client.request, "DescribeGroups", 5, groups=groups)
        rounds = []
        while message := sent_to(reader):
            rounds.append([line for line in message["lines"]["lines"] if line["kind"] == "request"])
        assert 2 <= len(rounds) <= 4
        assert max(sum(line["request_bytes"] for line in lines) for lines in rounds) < BYTES_PER_STEP + 8192
        assert {tuple(line["groups"]) for lines in rounds for line in lines} == {tuple(groups[:MAX_NAMES])}

    run(test)


def test_groups_come_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Very many rows are several messages. A reader that goes before the last gets them again when it comes back."""
    monkeypatch.setattr(live, "ROWS_IN_MESSAGE", 10)

    async def test(broker: AsyncFakeBroker) -> None:
        for index in range(25):
            broker.group(f"g{index:02}").commit({("orders", 0): 1})
        reader = LiveReader(broker, StreamPosition(0, 0), frozenset({"groups"}))
        parts, versions = [], []
        for message in reader.round():
            if message is not None:
                parts.append(message[1])
                versions.append(reader.place.version)
        assert [row["group_id"] for part in parts for row in part["rows"]] == [f"g{index:02}" for index in range(25)]
        assert [part["is_complete"] for part in parts] == [True, False, False]
        assert versions == [0, 0, parts[-1]["version"]]
        assert sent_to(reader) == {}

    run(test)


def test_a_look_at_groups_takes_steps() -> None:
    """Another look may come between two of them, and counts; what happens meanwhile is found by the next round."""

    async def test(broker: AsyncFakeBroker) -> None:
        reader, changes = reader_of(broker, "groups"), changes_of(broker)
        for name in "abc":
            broker.group(name).commit({("orders", 0): 1})
        steps = changes.look_at_in_steps(broker._engine, Pace(0), again=False)
        next(steps)
        broker.group("d").commit({("orders", 0): 1})
        assert broker.group_rows(limit=1).total == 4
        assert finished(steps) == changes.version
        assert [row["group_id"] for row in sent_to(reader)["groups"]["rows"]] == ["a", "b", "c", "d"]

    run(test)


def test_what_was_forgotten_is_reported() -> None:
    """A reader for whom the journal was too short learns which numbers it will never see."""

    async def test(broker: AsyncFakeBroker) -> None:
        await heartbeat(broker)
        reader = reader_of(broker, "lines")
        began = reader.place.seq
        await heartbeat(broker, 3)
        broker.journal.clear()
        await heartbeat(broker)
        message = sent_to(reader)
        assert message["gap"] == {"from_seq": began, "to_seq": broker.journal.forgotten}
        assert message["lines"]["lines"][0]["seq"] == broker.journal.forgotten

    run(test)


def test_groups_that_changed() -> None:
    """Rows of groups that are new or different, ids of those that are gone; nobody looks while nothing happens."""

    async def test(broker: AsyncFakeBroker) -> None:
        await heartbeat(broker)
        broker.group("old").commit({("orders", 0): 1})
        reader = reader_of(broker, "groups")
        assert sent_to(reader) == {}
        client = broker.client("a", {"JoinGroup": 3})
        await asyncio.to_thread(client.join, "billing", ["orders"])
        message = sent_to(reader)["groups"]
        assert [(row["group_id"], row["state"]) for row in message["rows"]] == [("billing", "CompletingRebalance")]
        assert (message["gone"], message["is_complete"], message["version"]) == ([], False, reader.place.version)
        assert message["counts"] == {"CompletingRebalance": 1, "Empty": 1}
        assert sent_to(reader) == {}
        broker.clock.advance(days=9)
        assert sent_to(reader)["groups"]["gone"] == ["old"]

    run(test)


def test_groups_that_a_test_made() -> None:
    """What a test commits by itself is no request, thus not in the journal, and reported all the same."""

    async def test(broker: AsyncFakeBroker) -> None:
        reader = reader_of(broker, "groups")
        broker.group("made").commit({("orders", 0): 1})
        assert [row["group_id"] for row in sent_to(reader)["groups"]["rows"]] == ["made"]
        assert sent_to(reader) == {}

    run(test)


def test_the_clock_when_it_is_moved() -> None:
    """Jumps, freezes and rates are reported, the passing of time is not; what is due comes with it."""

    async def test(broker: AsyncFakeBroker) -> None:
        reader = reader_of(broker, "clock")
        assert sent_to(reader)["clock"]["due"] == []
        assert sent_to(reader) == {}
        broker.group("old").commit({("orders", 0): 1})
        assert "old" in sent_to(reader)["clock"]["due"][0]["what"]
        changes: list[Callable[[], None]] = [
            lambda: broker.clock.step_back(minutes=1),
            broker.clock.freeze,
            broker.clock.resume,
            lambda: setattr(broker.clock, "rate", 2.0),
        ]
        for change in changes:
            change()
            message = sent_to(reader)["clock"]
            assert (message["is_frozen"], message["rate"]) == (broker.clock.is_frozen, broker.clock.rate)
            assert sent_to(reader) == {}

    run(test)


def test_what_is_to_be_asked_again() -> None:
    """Topics, faults, nodes and holds by their names, when something of them changed."""

    async def test(broker: AsyncFakeBroker) -> None:
        reader = reader_of(broker, "state")
        assert sent_to(reader) == {}
        changes: dict[str, Callable[[], object]] = {
            "topics": lambda: broker.topic("orders").produce("a"),
            "faults": lambda: broker.fault(api="Fetch", error="NOT_COORDINATOR"),
            "holds": lambda: broker.group("billing").hold_joins(),
            "nodes": lambda: broker.add_node("a"),
        }
        for name, change in changes.items():
            change()
            assert sent_to(reader)["state"]["changed"] == [name]
            assert sent_to(reader) == {}

    run(test)


def test_requests_that_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are sent when others wait than before, so many of them; and when nobody does."""
    monkeypatch.setattr(live, "MAX_WAITING", 1)

    async def test(broker: AsyncFakeBroker) -> None:
        reader = reader_of(broker, "waiting")
        assert sent_to(reader) == {}
        hold = broker.group("billing").hold_joins()
        joins = []
        for count, name in enumerate("ab", 1):
            client = broker.client(name, {"JoinGroup": 3})
            joins.append(client.start(client.steps.join("billing", ["orders"])))
            await broker.group("billing").wait(joined=count, timeout_s=30)
        message = sent_to(reader)["waiting"]
        assert ([each["client"] for each in message["waiting"]], message["total"]) == (["a"], 2)
        assert sent_to(reader) == {}
        hold.release()
        assert sent_to(reader)["waiting"] == {"waiting": [], "total": 0}
        await asyncio.to_thread(lambda: [join.result() for join in joins])

    run(test)


async def listen(control: Client, query: str, last_event_id: str | None, until: Callable[[Heard], bool]) -> Heard:
    """What a stream sends until it is enough."""
    sent: asyncio.Queue[str] = asyncio.Queue()

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.body":
            await sent.put(bytes(message["body"]).decode())

    async def receive() -> dict[str, Any]:
        await asyncio.Event().wait()
        return {}

    headers = [(b"host", b"localhost")]
    headers += [] if last_event_id is None else [(b"last-event-id", last_event_id.encode())]
    scope = {"type": "http", "method": "GET", "path": "/live", "raw_path": b"/live", "query_string": query.encode()}
    scope |= {"headers": headers, "http_version": "1.1", "scheme": "http", "root_path": ""}
    stream = asyncio.create_task(control.app(scope, receive, send))  # type: ignore[arg-type]
    heard: Heard = []
    while not until(heard):
        text = await asyncio.wait_for(sent.get(), 30)
        fields = dict(line.split(": ", 1) for line in text.strip().splitlines() if not line.startswith(":"))
        if fields:
            heard.append((fields["id"], fields["event"], json.loads(fields["data"])))
    stream.cancel()
    await asyncio.wait([stream])
    return heard


def has_lines(heard: Heard) -> bool:
    """Whether lines have come."""
    return any(name == "lines" for _, name, _ in heard)


def test_a_reader_goes_on_after_a_break() -> None:
    """With the id of its last message it gets what came after that, and nothing twice."""

    async def test(control: Client) -> None:
        await heartbeat(control.broker)
        first = await listen(control, "since=0&what=lines", None, has_lines)
        assert [name for _, name, _ in first] == ["hello", "lines"]
        assert first[0][2]["is_resumed"] is True
        await heartbeat(control.broker)
        second = await listen(control, "what=lines", first[-1][0], has_lines)
        seqs = [line["seq"] for heard in (first, second) for line in heard[-1][2]["lines"]]
        assert seqs == list(range(control.broker.journal.next_seq))
        assert second[0][2]["next_seq"] == first[-1][2]["next_seq"]

    with_control(test)


def test_a_reader_of_another_run_begins_anew() -> None:
    """Its numbers mean other entries: it is told to forget what it knows."""

    async def test(control: Client) -> None:
        await heartbeat(control.broker)
        for last in ("another-run.5.1", "nonsense", f"{control.app.served.run}.x.y"):
            ((_, _, hello),) = await listen(control, "", last, lambda heard: len(heard) == 1)
            assert (hello["is_resumed"], hello["next_seq"]) == (False, control.broker.journal.next_seq)
            assert hello["run"] == (await control.get("/about"))["run"]

    with_control(test)


def test_a_number_of_the_future_is_the_end() -> None:
    """Whoever says more than there is gets what comes from now on."""

    async def test(control: Client) -> None:
        await heartbeat(control.broker)
        ((_, _, hello),) = await listen(control, "since=100000", None, lambda heard: len(heard) == 1)
        assert hello["next_seq"] == control.broker.journal.next_seq

    with_control(test)


def test_names_of_clients_break_no_message() -> None:
    """Whatever a client calls a group, it stays within the data of one message."""

    async def test(control: Client) -> None:
        hostile = "\n\nevent: end\ndata: <script>\u2028\r\n\0"
        control.broker.create_topic("orders")
        control.broker.group(hostile).commit({("orders", 0): 1})
        client = control.broker.client(hostile)
        await asyncio.to_thread(client.request, "Heartbeat", 4, group_id=hostile, generation_id=1, member_id="m")
        heard = await listen(control, "since=0&groups_since=0&what=lines,groups", None, lambda heard: len(heard) == 3)
        assert [name for _, name, _ in heard] == ["hello", "lines", "groups"]
        (request,) = [line for line in heard[1][2]["lines"] if line.get("api") == "Heartbeat"]
        assert (request["client"], request["groups"]) == (hostile, [hostile])
        assert [row["group_id"] for row in heard[2][2]["rows"]] == [hostile]

    with_control(test)


def test_groups_since_a_version() -> None:
    """Between the rows that a page has asked for and its stream nothing falls."""

    async def test(control: Client) -> None:
        control.broker.create_topic("orders")
        version = (await control.get("/group_rows"))["version"]
        control.broker.group("billing").commit({("orders", 0): 1})
        heard = await listen(control, f"what=groups&groups_since={version}", None, lambda heard: len(heard) == 2)
        assert [row["group_id"] for row in heard[1][2]["rows"]] == ["billing"]

    with_control(test)


def test_the_end_of_a_broker_is_the_end_of_its_stream() -> None:
    """A reader of a broker that was stopped learns it."""

    async def test(control: Client) -> None:
        listening = asyncio.create_task(
            listen(control, "what=lines", None, lambda heard: bool(heard) and heard[-1][1] == "end")
        )
        await asyncio.sleep(0)
        await control.broker.stop()
        assert (await listening)[-1][2] == {"detail": "the broker was stopped"}

    with_control(test)


def test_wrong_questions() -> None:
    """Each is named."""

    async def test(control: Client) -> None:
        for query, field in (("what=lines,nothing", "what"), ("since=x", "since"), ("groups_since=-1", "groups_since")):
            problem = await control.problem("GET", f"/live?{query}")
            assert (problem["status"], problem["field"]) == (422, field)
        assert (await control.problem("GET", "/live?unknown=1"))["field"] == "unknown"

    with_control(test)


def test_the_parts_are_those_of_the_reader() -> None:
    """A reader of all parts in a busy broker gets each by its name."""

    async def test(broker: AsyncFakeBroker) -> None:
        reader = reader_of(broker, *PARTS)
        assert sent_to(reader).keys() == {"clock"}
        broker.topic("orders").produce("a")
        client = broker.client("a", {"JoinGroup": 3})
        await asyncio.to_thread(client.join, "billing", ["orders"])
        assert {"lines", "groups", "clock", "state"} <= sent_to(reader).keys()

    run(test)

"""Every operation of the HTTP API that looks at the broker does so in turns that do not grow with what there is."""

import asyncio
import json
from functools import partial
from typing import Any
from unittest.mock import patch

import pytest

from fakebroker.broker.core.telemetry.client_telemetry import Push
from fakebroker.cli.http.extras import EXTRAS
from fakebroker.cli.http.operations import OPERATIONS
from fakebroker.protocol.pace import no_stopwatch
from tests.support.control import Client, asked, with_control
from tests.support.pushed_metrics import gauge, point, pushed
from tests.support.turns import counted_turns

AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
CONFIG = {"authorizer.class.name": AUTHORIZER, "super.users": "User:ANONYMOUS"}
FEW, MANY = 300, 600
PARTITIONS = 5
PLACES = {
    "name": "many",
    "index": "0",
    "group_id": "big",
    "transactional_id": "t",
    "node_id": "1",
    "seq": "1",
    "fault_id": "1",
    "listener": "PLAINTEXT",
    "snapshot_id": "s1",
    "scenario_id": "p1",
    "token_id": "t",
    "broker_id": "b1",
    "hold_id": "1",
}
QUERIES: dict[str, dict[str, Any]] = {
    "/topics/{name}/find_time": {"when": "max"},
    "/topics/{name}/newest": {"search": "nothing"},
    "/acls/explain": {"principal": "User:a", "operation": "READ", "topic": "orders"},
    "/group_lags": {"group": "big"},
    "/groups/{group_id}/explain": {"policy": "4.3"},
}
ENDLESS = ("/journal/stream", "/live")  # tests/cli/http/test_event_stream.py, test_live.py

CALLS_PER_ENTRY = 8  # of a turn: it goes over many things, but does little with each
# One pass over all of something is one turn, so that what it shows is of one moment: calls for each topic, group, ACL,
# offset or entry of the journal.
ONE_PASS = {
    "/topics": 20,
    "/topics/{name}/groups": 16,
    "/topics/{name}/newest": 16,  # the newest of a partition are picked at once, of at most 5000
    "/topic_rows": 60,
    "/acls": 60,
    "/metrics": 40,
    "/journal/brief": 40,
    "/groups/{group_id}/view": 40,
    "/groups/{group_id}/explain": 20,
    "/groups/{group_id}/explain_policies": 20,
    "/nodes/{node_id}/log_directories": 20,
    "/group_rows": 16,
    "/group_lags": 12,
    "/story": 60,
}
LOOKS = {each.path for each in (*OPERATIONS, *EXTRAS) if each.verb == "GET"} - set(ENDLESS)


def url_of(path: str) -> tuple[str, dict[str, Any]]:
    """A path with its query."""
    return path.format(**PLACES), QUERIES.get(path, {})


def fill(control: Client, entries: int) -> None:
    """So many topics, groups, records of a partition, offsets of a group, ACLs, and so on."""
    broker = control.broker
    broker.create_topic("many", partitions=PARTITIONS)
    for index in range(PARTITIONS):
        broker.topic("many").produce(*["v"] * entries, partition=index)
    broker.create_topic("wide", partitions=entries)
    broker.group("big").commit({("wide", index): 1 for index in range(entries)})
    for index in range(entries):
        name = f"n{index}"
        broker.create_topic(name)
        broker.group(name).commit({("many", 0): 1})
        broker.acls.allow("User:alice", "READ", topic=name)
        broker.quotas.set(user=name, producer_byte_rate=1000)
        broker.telemetry.subscribe(name, interval_ms=1000)
        push = Push(bytes(16), name, "User:a", 1, 0, False, pushed(gauge("org.n", point(index))))
        broker._engine.cluster.telemetry.keep(push)
        broker.fault(api="Heartbeat", group=name, error="NOT_COORDINATOR")


async def longest_turns(control: Client, entries: int) -> dict[str, int]:
    """By path, the calls of the longest turn."""
    control.broker.clock.freeze()  # no timer of the broker has a turn meanwhile
    fill(control, entries)
    await control.do("POST", "/snapshots")
    turns = {}
    for path in sorted(LOOKS):
        url, query = url_of(path)
        await asyncio.sleep(0)
        with counted_turns() as counted:
            await control.http.get(url, params=query)
        turns[path] = counted.longest
    return turns


@pytest.fixture(scope="module")
def grown() -> dict[str, float]:
    """By path, how many calls the longest turn has more for each entry that there is more."""
    found: list[dict[str, int]] = []

    async def measure(control: Client, entries: int) -> None:
        found.append(await longest_turns(control, entries))

    with patch("fakebroker.cli.http.turns.monotonic", no_stopwatch):  # the count alone ends steps
        for entries in (PARTITIONS, FEW, MANY):  # what is loaded and compiled at the first time is there
            with_control(partial(measure, entries=entries), config=CONFIG)
    _, few, many = found
    return {path: (many[path] - few[path]) / (MANY - FEW) for path in LOOKS}


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(LOOKS))
def test_a_turn_does_little_for_each_entry(path: str, grown: dict[str, float]) -> None:
    """An operation that does much for each entry does it in steps."""
    assert grown[path] <= ONE_PASS.get(path, CALLS_PER_ENTRY)


def test_records_are_read_as_they_are_sent() -> None:
    """No more is read and written than the reader takes: a slow one costs no memory."""

    async def test(control: Client) -> None:
        control.broker.create_topic("many")
        for _ in range(50):
            control.broker.topic("many").produce(*["v" * 1000] * 100)
        log = control.broker._engine.cluster.topics.get("many").partitions[0].log  # type: ignore[union-attr]
        offsets: list[int] = []
        original = log.read

        def read(offset: int, *more: int) -> list[bytes]:
            offsets.append(offset)
            return original(offset, *more)

        log.read = read  # type: ignore[method-assign]
        sizes: list[int] = []
        offsets_at: list[int] = []

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                offsets.clear()  # of the look at checksums, which comes first
            sizes.append(len(message.get("body", b"")))
            offsets_at.append(max(offsets, default=0))

        await answered(control, "/topics/many/records", send)
        assert max(sizes) < 200_000
        assert sum(sizes) > 5_000_000
        assert offsets_at[1] <= 200
        assert offsets_at == sorted(offsets_at)

    with_control(test)


async def answered(control: Client, path: str, send: Any) -> None:
    """Send a GET whose answer goes to `send`, piece by piece."""
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
    }
    requests = iter([{"type": "http.request", "body": b"", "more_body": False}])

    async def receive() -> Any:
        first = next(requests, None)
        return first if first is not None else await asyncio.Event().wait()

    await control.app(scope, receive, send)


def test_a_corrupt_batch_is_refused_before_anything_is_sent() -> None:
    """The answer is a problem, not half a list."""

    async def test(control: Client) -> None:
        topic = control.broker.create_topic("many")
        for _ in range(3):
            topic.produce("v")
        topic.corrupt(2)
        status, found = await asked(control.app, "GET", "/topics/many/records", {"host": "127.0.0.1"})
        assert (status, found["type"]) == (422, "urn:fakebroker:problem:kafka-error")

    with_control(test)


def test_what_goes_meanwhile_is_left_out() -> None:
    """Topics that are deleted, and logs that are cut, while they are written are no error."""

    async def test(control: Client) -> None:
        for index in range(1000):
            control.broker.create_topic(f"n{index}")
        control.broker.create_topic("many").produce(*["v"] * 2000)
        pieces: list[bytes] = []
        gone = ["n999", "many"]

        async def send(message: Any) -> None:
            pieces.append(message.get("body", b""))
            while gone and len(pieces) > 1:
                control.broker.topic(gone.pop()).delete()

        await answered(control, "/topics", send)
        assert len(json.loads(b"".join(pieces))) == 1000  # "many" was written before it went
        many = control.broker.create_topic("many")
        for _ in range(2):
            many.produce(*["v"] * 2000)
        pieces.clear()
        gone.append("many")
        await answered(control, "/topics/many/records", send)
        assert len(json.loads(b"".join(pieces))) == 2000

    with_control(test)


def test_a_batch_is_shown_whole() -> None:
    """Large batches that follow each other are not cut."""

    async def test(control: Client) -> None:
        topic = control.broker.create_topic("many")
        for _ in range(3):
            topic.produce("v" * 700_000)
        found = await control.get("/topics/many/browse")
        assert [(each["value_bytes"], each["is_corrupt"]) for each in found["records"]] == [(700_000, False)] * 3

    with_control(test)

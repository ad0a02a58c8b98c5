"""Readers of a journal of long requests: each turn of theirs takes one of these, if it takes as long as a step may."""

import asyncio
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

import pytest

from fakebroker.cli.http import turns
from fakebroker.cli.http.live import PARTS, LiveReader, StreamPosition
from fakebroker.client.scripted.scripted_client import ScriptedClient
from fakebroker.protocol.pace import STEP_S
from fakebroker.protocol.wire.messages.fetch import FetchTopic
from fakebroker.protocol.wire.messages.offset_commit import OffsetCommitRequestTopic
from fakebroker.testing.handles import expectation
from tests.cli.http.test_longest_turn import answered
from tests.support.control import Client, with_control
from tests.support.turns import counted_turns

FEW, MANY = 10, 20
NAMES = 200
CALLS_PER_ENTRY = 100  # of a turn: a look at it, but not at each of its names


def _describe(client: ScriptedClient) -> None:
    client.request("DescribeGroups", 5, groups=[f"g{index}" for index in range(NAMES)])


def _commit(client: ScriptedClient, group: str = "g") -> None:
    topics = [OffsetCommitRequestTopic(name="t", partitions=[(index, 1, -1, -1, "") for index in range(NAMES)])]
    member = {"generation_id_or_member_epoch": -1, "member_id": ""}
    client.request("OffsetCommit", 8, group_id=group, **member, topics=topics)


def _poll(client: ScriptedClient) -> None:
    rows = [(index, -1, 0, -1, 0, 1000, bytes(16), 0) for index in range(NAMES)]
    limits = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1000, "isolation_level": 0}
    client.request("Fetch", 4, replica_id=-1, **limits, topics=[FetchTopic(topic="t", partitions=rows)])


KINDS: dict[str, Callable[[ScriptedClient], None]] = {"describe": _describe, "commit": _commit, "poll": _poll}


async def _brief(control: Client) -> None:
    await control.get("/journal/brief")


async def _story(control: Client) -> None:
    assert (await control.ask("GET", "/story")).status_code == 200


async def _wait(control: Client) -> None:
    await control.problem("POST", "/journal/wait", {"requests": [{"group": "x", "topic": "x"}], "timeout_s": 0})


async def _wait_for_many(control: Client) -> None:
    count = len(control.broker.journal.requests(client_id="svc"))
    found = await control.do("POST", "/journal/wait", {"requests": [{"client_id": "svc"}] * count, "timeout_s": 0})
    assert len(found) == count


async def _live(control: Client) -> None:
    """A round as a page has it. It is the same work whether the text goes out or not."""
    reader = LiveReader(control.broker, StreamPosition(0, 0), frozenset(PARTS))
    async for _ in turns.each_in_turn(reader.round()):
        pass


READERS: dict[str, Callable[[Client], Any]] = {
    "brief": _brief, "story": _story, "wait": _wait, "wait_for_many": _wait_for_many, "live": _live
}  # fmt: skip


async def _longest_turn(control: Client, found: list[int], kind: str, reader: str, entries: int) -> None:
    broker = control.broker
    broker.clock.freeze()  # no timer of the broker has a turn meanwhile
    broker.create_topic("t", partitions=NAMES)
    client = broker.client("svc")
    for _ in range(entries):
        await asyncio.to_thread(KINDS[kind], client)
    for _ in range(2):  # what is made at the first time is there
        with counted_turns() as counted:
            await READERS[reader](control)
    found.append(counted.longest)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_turn_takes_one_long_entry(kind: str, reader: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that moves by a step with each entry, a turn is no longer for there being more of them."""
    clock = count()
    monkeypatch.setattr(expectation, "LAST_SHOWN", 2)  # in the text of a wait in vain
    monkeypatch.setattr(turns, "monotonic", lambda: next(clock) * 2 * STEP_S, raising=False)
    found: list[int] = []

    for entries in (FEW, MANY):
        with_control(partial(_longest_turn, found=found, kind=kind, reader=reader, entries=entries))

    few, many = found
    assert many - few <= CALLS_PER_ENTRY * (MANY - FEW)


@pytest.mark.parametrize("path", ["/journal", "/journal/file", "/journal/lines", "/journal/trace"])
def test_a_long_answer_is_sent_in_pieces(path: str) -> None:
    """What is made of a journal may be a hundred times as long: no more of it is in memory than is sent at once."""

    async def test(control: Client) -> None:
        control.broker.create_topic("t", partitions=NAMES)
        client = control.broker.client("svc")
        for _ in range(10):
            await asyncio.to_thread(_commit, client, "\1" * 3000)
        sizes: list[int] = []

        async def send(message: Any) -> None:
            sizes.append(len(message.get("body", b"")))

        await answered(control, path, send)
        assert sum(sizes) > 600_000
        assert max(sizes) < 400_000

    with_control(test)

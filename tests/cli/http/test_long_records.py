"""Records that unpack to very much, read over HTTP: in short steps, by one reader at a time, and written in parts."""

import asyncio
import json
import tracemalloc
from base64 import b64encode
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from fakebroker.cli.http import reading_line
from fakebroker.cli.http.json_stream import PART, texts_of
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.compression import GZIP
from fakebroker.protocol.records.record_codec import Record
from fakebroker.testing.handles.topic import StoredRecord
from tests.support.control import Client, with_control

MIB = 1 << 20
LARGE = 24 * MIB
LARGEST_PIECE = 8 * PART  # \0 is six characters of JSON
LOOKS = ("browse", "newest", "records")
Send = Callable[[Any], Awaitable[None]]

TEXTS = {
    "text": b"a" * (3 * PART),
    "controls": b'\0"\\\n' * PART,
    "characters cut by parts": "xä€\U0001f600".encode() * PART,
    "cut at the end": b"a" * (2 * PART) + b"\xe2\x82",
    "no text": b"\xff" * (2 * PART + 1),
    "short": b"a",
    "none": None,
}


def as_json(value: bytes | None) -> Any:
    """What the answer has for bytes."""
    try:
        return value and value.decode()
    except UnicodeDecodeError:
        return {"base64": b64encode(value or b"").decode()}


@pytest.mark.parametrize("kind", TEXTS)
def test_long_values_are_written_whole(kind: str) -> None:
    """A key, a value or a header of any length and content is in the answer as if it were short."""
    value = TEXTS[kind]
    records = [StoredRecord(0, 1, 2, value, value, (("a", value), ("b", None))), StoredRecord(0, 2, 2, b"k", None, ())]
    texts = list(texts_of(iter(records), frozenset()))
    key = as_json(value)
    assert json.loads("".join(texts)) == [
        {
            "partition": 0,
            "offset": 1,
            "timestamp_ms": 2,
            "key": key,
            "value": key,
            "headers": [["a", key], ["b", None]],
        },
        {"partition": 0, "offset": 2, "timestamp_ms": 2, "key": "k", "value": None, "headers": []},
    ]
    assert max(map(len, texts)) <= LARGEST_PIECE


def append(control: Client, name: str, size_bytes: int = LARGE, records: int = 1) -> None:
    """A topic with one small batch of records of so many zeros."""
    control.broker.create_topic(name, partitions=1)
    batch = build_batch([Record(n, 1, None, bytes(size_bytes), ()) for n in range(records)], codec=GZIP)
    topic = control.broker._engine.cluster.topics.get(name)
    assert topic is not None
    topic.partitions[0].log.append(batch, control.broker._engine.now)


async def read(control: Client, path: str, send: Send | None = None) -> list[int]:
    """The sizes of the pieces of an answer; `send` gets them, too."""
    sizes: list[int] = []

    async def take(message: Any) -> None:
        sizes.append(len(message.get("body", b"")))
        if send is not None:
            await send(message)

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

    await control.app(scope, receive, take)
    return sizes


@pytest.mark.parametrize("look", LOOKS)
def test_readers_take_as_much_memory_as_one(look: str) -> None:
    """However many read a long batch at a time, one of them has it unpacked, with its value once more."""

    async def test(control: Client) -> None:
        append(control, "many")
        await read(control, f"/topics/many/{look}")
        tracemalloc.start()
        try:
            await asyncio.gather(*(read(control, f"/topics/many/{look}") for _ in range(4)))
            _, peak_bytes = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak_bytes < 3.5 * LARGE

    with_control(test)


@pytest.mark.parametrize("look", LOOKS)
def test_a_long_batch_is_unpacked_in_turns(look: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between its steps the loop serves others."""

    async def test(control: Client) -> None:
        append(control, "many")
        turns = await turns_of(read(control, f"/topics/many/{look}"))
        append(control, "few", 1000)
        assert turns - await turns_of(read(control, f"/topics/few/{look}")) >= LARGE // (8 * MIB)

    with_control(test)


async def turns_of(work: Awaitable[Any]) -> int:
    """How many turns the loop has until something is done."""
    task, turns = asyncio.ensure_future(work), 0
    while not task.done():
        await asyncio.sleep(0)
        turns += 1
    return turns


def test_a_long_value_is_sent_in_pieces() -> None:
    """No piece of an answer grows with a value."""

    async def test(control: Client) -> None:
        append(control, "many", 2 * MIB, records=3)
        sizes = await read(control, "/topics/many/records")
        assert sum(sizes) > 3 * 2 * MIB * 6
        assert max(sizes) < 2 * LARGEST_PIECE

    with_control(test)


def test_a_reader_that_takes_nothing_is_cut_off_if_others_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is left in peace as long as it is the only one."""
    monkeypatch.setattr(reading_line, "LOOK_S", 0.01)
    monkeypatch.setattr(reading_line, "LONGEST_S", 0.01)

    async def test(control: Client) -> None:
        append(control, "many", 2 * MIB)
        parts = 0

        async def stuck(_message: Any) -> None:
            nonlocal parts
            parts += 1
            if parts > 5:
                await asyncio.Event().wait()

        slow = asyncio.ensure_future(read(control, "/topics/many/records", stuck))
        await asyncio.wait({slow}, timeout=0.1)
        assert not slow.done()
        assert sum(await read(control, "/topics/many/browse")) > 4096
        assert not slow.done()
        assert sum(await read(control, "/topics/many/records")) > 2 * MIB * 6
        assert sum(await slow) < 2 * MIB * 6

    with_control(test)


def test_a_reader_that_takes_little_at_a_time_is_cut_off_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """All the time counts for which others have waited for it: each part by itself is soon taken."""
    monkeypatch.setattr(reading_line, "LONGEST_S", 0.05)

    async def test(control: Client) -> None:
        append(control, "many", 2 * MIB)
        parts = 0

        async def slow(_message: Any) -> None:
            nonlocal parts
            parts += 1
            await asyncio.sleep(0.01)

        slow_reader = asyncio.ensure_future(read(control, "/topics/many/records", slow))
        await asyncio.sleep(0)
        assert sum(await read(control, "/topics/many/records")) > 2 * MIB * 6
        await slow_reader
        assert parts < 20

    with_control(test)


def test_readers_of_short_records_do_not_wait() -> None:
    """A reader that takes nothing of long records keeps none of short ones waiting."""

    async def test(control: Client) -> None:
        append(control, "many", 2 * MIB)
        append(control, "few", 10)

        async def stuck(_message: Any) -> None:
            await asyncio.Event().wait()

        slow = asyncio.ensure_future(read(control, "/topics/many/records", stuck))
        await asyncio.sleep(0.05)
        assert sum(await read(control, "/topics/few/records")) > 10
        slow.cancel()

    with_control(test)

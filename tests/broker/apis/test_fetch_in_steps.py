"""Fetches of sessions that are read and answered in steps: what comes between two of them is not missed."""

import itertools
from typing import Any

import pytest

from fakebroker.broker.apis import fetch, fetch_request
from fakebroker.broker.core.logs.produce_validation import append
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.wire.messages.fetch import FetchTopic
from tests.support.engine import Client, SimEngine
from tests.support.fetch_rows import row_of
from tests.support.frames import request

PARTITIONS, STEP, VERSION = 6, 2, 12
LATE = b"came late"


@pytest.fixture(autouse=True)
def _small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in (
        (fetch, "PARTITIONS_PER_STEP"),
        (fetch_request, "PARTITIONS_PER_STEP"),
        (fetch_request, "TARGETS_PER_STEP"),
    ):
        monkeypatch.setattr(module, name, STEP)


def write(lab: SimEngine, partition: int, value: bytes) -> None:
    found = lab.cluster.topics.partition("t", partition)
    assert found is not None
    now = lab.network.now
    append(found, 1, build_batch([Record(0, now.wall_ms, None, value)]), 1, now)


def records(answer: Any) -> bytes:
    return b"".join(data.records or b"" for topic in answer.responses for data in topic.partitions)


def asked(client: Client, lab: SimEngine, session_id: int, epoch: int, wait_ms: int, topics: Any = ()) -> None:
    fields: dict[str, Any] = {
        "session_id": session_id,
        "session_epoch": epoch,
        "max_wait_ms": wait_ms,
        "topics": list(topics),
    }
    data = request("Fetch", VERSION, min_bytes=1, max_bytes=1 << 20, **fields)
    client.socket.connection.receive(data, lab.network.now)


def finished(lab: SimEngine) -> None:
    while lab.engine.works:
        lab.engine.step(lab.network.now)
    lab.network.flush()


@pytest.mark.rules("FS-4", "FS-5", "FT-5")
@pytest.mark.parametrize("is_first_written", [True, False])
@pytest.mark.parametrize("late", range(PARTITIONS))
def test_what_comes_between_two_steps_is_not_missed(late: int, is_first_written: bool) -> None:
    """The Fetch that was under way has it, or the next one; one that finds nothing does not wait beside it."""
    for steps in itertools.count():
        lab = SimEngine(profile="kafka")
        lab.cluster.topics.create("t", PARTITIONS)
        client = lab.client()
        rows = [FetchTopic(topic="t", partitions=[row_of(index) for index in range(PARTITIONS)])]
        asked(client, lab, 0, 0, 0, rows)
        finished(lab)
        session_id = client.answer("Fetch", VERSION).session_id
        if is_first_written:
            write(lab, 0, b"first")
        asked(client, lab, session_id, 1, 60_000)
        for _ in range(steps):
            if lab.engine.works:
                lab.engine.step(lab.network.now)
        if steps and not lab.engine.works:
            break
        write(lab, late, LATE)
        finished(lab)
        answer = client.answer("Fetch", VERSION)
        assert answer is not None, "it waits beside a record"
        if LATE not in records(answer):
            asked(client, lab, session_id, 2, 60_000)
            finished(lab)
            answer = client.answer("Fetch", VERSION)
            assert answer is not None, "the next one waits beside a record"
            assert LATE in records(answer)
        assert lab.engine.errors == []
    assert steps > 3

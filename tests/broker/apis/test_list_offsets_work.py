"""ListOffsets with very many rows: others are served between them, and what is listed fits into an answer."""

import pytest

from fakebroker.broker.apis import list_offsets
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.wire.messages.list_offsets import ListOffsetsTopic
from tests.support.engine import Client, SimEngine
from tests.support.frames import request
from tests.support.time import T0

SEGMENTS = 100
EVERY = 2**31 - 1


@pytest.fixture
def lab() -> SimEngine:
    """A broker of 3.9 with a partition of many segments."""
    lab = SimEngine(as_release="3.9")
    topic = lab.cluster.topics.create("t", 1, config={"segment.bytes": "90"})
    for _ in range(SEGMENTS):
        topic.partitions[0].log.append(build_batch([Record(0, T0, None, b"")]), lab.network.now)
    return lab


def begin(lab: SimEngine, version: int, rows: int, count: int = EVERY) -> Client:
    """A client whose request for the end of the partition, again and again, has had its first turn."""
    client = lab.client()
    topics = [ListOffsetsTopic(name="t", partitions=[(0, -1, -1, count)] * rows)]
    connection = client.socket.connection
    connection.receive(request("ListOffsets", version, replica_id=-1, topics=topics), lab.network.now)
    return client


@pytest.mark.rules("LO-18")
@pytest.mark.parametrize("count", [0, 1, 7, EVERY])
def test_no_turn_lists_the_segments_for_very_many_rows(lab: SimEngine, count: int) -> None:
    """v0 goes over the segments for each row; the newest come first, as many as are asked for."""
    rows = 2 * list_offsets.SEGMENTS_PER_STEP // SEGMENTS
    client = begin(lab, 0, rows, count)
    assert client.socket.connection.is_parked
    assert lab.engine.works
    lab.network.flush()
    (topic,) = client.answer("ListOffsets", 0).topics
    assert [row[2] for row in topic.partitions] == [list(range(SEGMENTS, -1, -1))[:count]] * rows


def test_many_rows_of_other_versions(lab: SimEngine) -> None:
    """Rows that are only refused take steps, too."""
    rows = list_offsets.SEGMENTS_PER_STEP // 10
    client = begin(lab, 5, rows, count=1)
    assert client.socket.connection.is_parked
    lab.network.flush()
    (topic,) = client.answer("ListOffsets", 5).topics
    assert len(topic.partitions) == rows


def test_more_than_an_answer_can_have(lab: SimEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The request fails as soon as that is seen: the lists would fill the memory."""
    monkeypatch.setattr("fakebroker.protocol.schema.runtime.MAX_MESSAGE_BYTES", 1 << 20)
    rows = 3_000
    client = begin(lab, 0, rows)
    lab.network.flush()
    (topic,) = client.answer("ListOffsets", 0).topics
    assert [row[1] for row in topic.partitions] == [ErrorCode.UNKNOWN_SERVER_ERROR] * rows

"""What uses a log first after a start: its segments are loaded in steps, and no turn reads a whole one."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from fakebroker import VirtualBroker
from fakebroker.protocol.errors import ErrorCode, FakebrokerError
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.listeners import Address
from fakebroker.protocol.records.batch import build_batch, plain_records
from fakebroker.protocol.wire.frame import decode_response
from fakebroker.protocol.wire.messages.fetch import FetchableTopicResponse, FetchTopic
from fakebroker.protocol.wire.messages.produce import PartitionProduceData, TopicProduceData
from fakebroker.protocol.wire.registry import api
from fakebroker.serve.storage.segment_content import SegmentContent
from fakebroker.serve.storage.stored_segment import StoredSegment
from tests.support.frames import frames, request
from tests.support.long_segments import (
    BATCHES,
    CONFIG,
    LOGS,
    MOST_CALLS,
    counted_turns,
    loaded,
    log_of,
    make_directory,
)

LATER_MS = 40_000  # the jobs are due; the time of the transaction is not up

Story = Callable[[VirtualBroker, Any], object]


class Directory:
    """The directory, of which each broker has a copy of its own."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.producer_id = make_directory(path)
        self._copies = 0

    def broker(self, **config: Any) -> VirtualBroker:
        self._copies += 1
        copied = self._path.with_name(f"{self._path.name}-{self._copies}")
        shutil.copytree(self._path, copied)
        return VirtualBroker(data=copied, config=CONFIG | config)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Directory:
    return Directory(tmp_path_factory.mktemp("first_use") / "data")


def fetch(offset: int, **fields: Any) -> Story:
    return lambda broker, _: broker.client("c").fetch("orders", 0, offset, max_bytes=100, **fields)


def fetch_in_session(broker: VirtualBroker, _: Directory) -> object:
    """Both partitions at once, the second one in a later request: most that comes is in the first's."""
    client, session = broker.client("c"), (0, 0)
    found = []
    for offset in (5, 6, BATCHES + 5, BATCHES + 6):
        row = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": 100}
        answer = client.request(
            "Fetch",
            12,
            session_id=session[0],
            session_epoch=session[1],
            topics=[{"topic": "orders", "partitions": [row]}],
        )
        session = answer.session_id, session[1] + 1
        found.append([bytes(each.records or b"")[:80] for topic in answer.responses for each in topic.partitions])
    return found


def fetch_again(broker: VirtualBroker, _: Directory) -> object:
    """A reader goes on from the closed segment into the active one."""
    client = broker.client("c")
    return [client.fetch("orders", 0, at, max_bytes=100) for at in (10, 11, 12, BATCHES, BATCHES + 1)]


def produce(**fields: Any) -> Story:
    def story(broker: VirtualBroker, _: Directory) -> object:
        client = broker.client("c")
        if fields:
            client.init_producer_id("other" if "transactional" in fields else None)
        answer = client.produce("orders", 0, ["new"], **fields)
        (part,) = answer.responses[0].partition_responses
        return part.error_code, part.base_offset

    return story


def list_offsets(at: str | int) -> Story:
    def story(broker: VirtualBroker, _: Directory) -> object:
        (row,) = broker.client("c").list_offsets("orders", 0, at).topics[0].partitions
        return row

    return story


def list_after_delete(broker: VirtualBroker, _: Directory) -> object:
    client = broker.client("c")
    deleted = client.delete_records("orders", 0, 17)
    return deleted.topics, list_offsets(0)(broker, _), client.fetch("orders", 0, 17, max_bytes=100)


def end_transaction(broker: VirtualBroker, directory: Directory) -> object:
    client = broker.client("c")
    ended = client.request(
        "EndTxn", 3, transactional_id="tx", producer_id=directory.producer_id, producer_epoch=0, committed=False
    )
    assert ended.error_code == 0
    return log_of(broker).log_end_offset, client.fetch("orders", 0, 2 * BATCHES - 1, isolation_level=1)


def write_marker(broker: VirtualBroker, directory: Directory) -> object:
    marker = {
        "producer_id": directory.producer_id,
        "producer_epoch": 0,
        "topics": [{"name": "orders", "partition_indexes": [0]}],
    }
    answer = broker.client("c").request("WriteTxnMarkers", 1, markers=[marker])
    return answer.markers, log_of(broker).log_end_offset


def share(group_id: str, reset: str) -> Story:
    def story(broker: VirtualBroker, _: Directory) -> object:
        """The share coordinator loads what it knows meanwhile, and a search for the start may be under way."""
        client = broker.client("c")
        client.alter_configs(group_id, {"share.auto.offset.reset": reset}, kind="group")
        client.join_share_group(group_id, ["orders"])
        for _attempt in range(10):
            client.share_group_heartbeat()
            with suppress(FakebrokerError):
                if acquired := client.share_fetch([("orders", 0)], max_bytes=100):
                    return [each.offset for each in acquired]
            broker.pass_time(ms=500)
        return None

    return story


STORIES: dict[str, Story] = {
    "Fetch": fetch(9),
    "Fetch, of the active segment": fetch(BATCHES + 9),
    "Fetch, waits": fetch(BATCHES + 9, min_bytes=90, max_wait_ms=50),
    "Fetch, in a session": fetch_in_session,
    "Fetch, again and again": fetch_again,
    "Produce": produce(),
    "Produce, idempotent": produce(idempotent=True),
    "Produce, in a transaction": produce(transactional=True),
    "ListOffsets, of a time": list_offsets(1),
    "ListOffsets, of the largest time": list_offsets("max_timestamp"),
    "ListOffsets, of a time too late": list_offsets(1 << 50),
    "DeleteRecords, ListOffsets": list_after_delete,
    "EndTxn": end_transaction,
    "WriteTxnMarkers": write_marker,
    "ShareFetch": share("shared", "earliest"),
    "ShareFetch, by time": share("shared", "by_duration:PT1000000H"),
    "ShareFetch, of a group that was there": share("old", "earliest"),
}


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
def test_no_turn_loads_a_segment(directory: Directory, story: Story) -> None:
    """Whatever needs a segment first has it loaded in steps, and is answered as if it had been in memory."""
    with directory.broker() as broker:
        for each in LOGS:
            list(log_of(broker, each).batches())
        expected = story(broker, directory)
    assert expected
    with directory.broker() as broker:
        assert not any(loaded(log_of(broker)))
        with counted_turns() as turns:
            assert story(broker, directory) == expected
        assert max(turns) < MOST_CALLS
        assert any(loaded(log_of(broker)))


def test_what_reads_nothing_loads_nothing(directory: Directory) -> None:
    """A reader at the end, one of committed records after an open transaction began, and others."""
    with directory.broker() as broker:
        client = broker.client("c")
        end = log_of(broker).log_end_offset
        assert client.fetch("orders", 0, end) == []
        assert client.fetch("orders", 0, 9, isolation_level=1) == []
        with pytest.raises(FakebrokerError, match="OFFSET_OUT_OF_RANGE"):
            client.fetch("orders", 0, end + 1)
        client.list_offsets("orders", 0, "earliest")
        client.offset_for_leader_epoch("orders", 0, 0)
        client.describe_topic("orders")
        client.delete_records("orders", 0, 3)
        assert loaded(log_of(broker)) == [False, False]


def test_no_turn_of_a_pass_loads_a_segment(directory: Directory) -> None:
    """Retention needs the times of the oldest segments, the cleaner all closed ones."""
    with directory.broker(**{"log.cleaner.enable": True}) as broker:
        engine = broker._engine
        later = Instant(engine.now.wall_ms + LATER_MS, engine.now.mono_ms + LATER_MS)
        with counted_turns() as turns:
            engine.tick(later)
            while engine.works:
                engine.step(later)
        assert max(turns) < MOST_CALLS
        assert {topic: loaded(log_of(broker, topic)) for topic in LOGS} == {
            "orders": [True, False],
            "compacted": [True, False],
            "__share_group_state": [False, True],  # the newest record says when the broker's time begins
        }


class Asked:
    """A request whose steps the test takes."""

    def __init__(self, broker: VirtualBroker, name: str, version: int, **fields: Any) -> None:
        self.engine = broker._engine
        listener, host = self.engine.listeners[0], Address("127.0.0.1", 9092)
        self.connection = self.engine.connect(listener, "/127.0.0.1", host, self.engine.now)
        self._name, self._version = name, version
        self.connection.receive(request(name, version, **fields), self.engine.now)

    def step(self) -> None:
        self.engine.step(self.engine.now)

    def answer(self) -> Any:
        while self.engine.works:
            self.step()
        (frame,) = frames(b"".join(self.connection.data_to_send()))
        return decode_response(api(self._name).key, self._version, frame)[1]


def asked_to_fetch(broker: VirtualBroker, offset: int) -> Asked:
    row = (0, -1, offset, -1, -1, 1000, bytes(16), 2**63 - 1)
    return Asked(broker, "Fetch", 11, min_bytes=1, topics=[FetchTopic(topic="orders", partitions=[row])])


def asked_to_produce(broker: VirtualBroker) -> Asked:
    batch = build_batch(plain_records([(None, b"new")], broker._engine.now.wall_ms, 0))
    data = PartitionProduceData(index=0, records=batch)
    return Asked(
        broker,
        "Produce",
        7,
        acks=-1,
        timeout_ms=1000,
        topic_data=[TopicProduceData(name="orders", partition_data=[data])],
    )


def write(broker: VirtualBroker) -> None:
    """Bring the files up to date, as after a turn."""
    assert broker._storage is not None
    broker._storage.write(broker._engine.now)


@pytest.fixture
def broker(directory: Directory) -> Iterator[VirtualBroker]:
    with directory.broker() as broker:
        yield broker


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many batches each part had that was read."""
    parts: list[int] = []
    read_on = SegmentContent.read_on

    def spy(self: SegmentContent, *arguments: Any, **options: Any) -> int:
        before = len(self.batches)
        cost = read_on(self, *arguments, **options)
        parts.append(len(self.batches) - before)
        return cost

    monkeypatch.setattr(SegmentContent, "read_on", spy)
    return parts


def test_those_that_wait_for_a_segment_read_it_once(broker: VirtualBroker, read: list[int]) -> None:
    """They go on with one another's reading, whoever has gone meanwhile, and nobody sees a part of it."""
    first, second, third = (asked_to_fetch(broker, offset) for offset in (0, 1, 2))
    assert loaded(log_of(broker)) == [False, False]
    first.connection.closed(first.engine.now)
    assert [each.answer().responses[0].partitions[0].error_code for each in (second, third)] == [0, 0]
    assert sum(read) == BATCHES
    assert loaded(log_of(broker)) == [True, False]


def test_what_cannot_wait_ends_the_reading(broker: VirtualBroker, read: list[int]) -> None:
    """A snapshot has all that is there, in the midst of it."""
    fetch = asked_to_fetch(broker, 0)
    log = log_of(broker)
    assert len(list(log.batches())) == 2 * BATCHES
    assert sum(read) == 2 * BATCHES
    assert fetch.answer().responses[0].partitions[0].error_code == 0


@pytest.mark.parametrize("ask", [lambda broker: asked_to_fetch(broker, 0), asked_to_produce], ids=["Fetch", "Produce"])
def test_the_topic_is_deleted_while_its_segment_is_read(
    broker: VirtualBroker, read: list[int], ask: Callable[[VirtualBroker], Asked]
) -> None:
    """The request is answered like one that comes later, and nothing more is read of files that are gone."""
    waiting = ask(broker)
    broker._engine.cluster.topics.delete("orders", broker._engine.now)
    write(broker)
    parts = len(read)
    answer = waiting.answer().responses[0]
    (part,) = answer.partitions if isinstance(answer, FetchableTopicResponse) else answer.partition_responses
    assert part.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert len(read) == parts


def test_retention_deletes_a_segment_while_it_is_read(broker: VirtualBroker, read: list[int]) -> None:
    """It is not read on, and not there again."""
    waiting = asked_to_fetch(broker, 0)
    log, parts = log_of(broker), len(read)
    log.delete_segments(1, broker._engine.now)
    write(broker)
    part = waiting.answer().responses[0].partitions[0]
    assert (part.error_code, part.log_start_offset) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    assert list(log.segments) == [BATCHES]
    assert len(read) == parts


def test_the_log_is_truncated_while_its_segment_is_read(broker: VirtualBroker) -> None:
    """What is appended then follows what is left."""
    waiting = asked_to_produce(broker)
    log_of(broker).truncate(BATCHES + 7, broker._engine.now)
    write(broker)
    part = waiting.answer().responses[0].partition_responses[0]
    assert (part.error_code, part.base_offset) == (0, BATCHES + 7)


def test_a_file_that_is_gone(broker: VirtualBroker, caplog: pytest.LogCaptureFixture) -> None:
    """The request is answered KAFKA_STORAGE_ERROR, the log says which file it is, and the next one tries again."""
    segment = log_of(broker).segments[0]
    assert isinstance(segment, StoredSegment)
    aside = segment.path.with_suffix(".aside")
    waiting = asked_to_fetch(broker, 0)
    segment.path.rename(aside)
    assert waiting.answer().error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert f"cannot read {segment.path}" in caplog.text
    aside.rename(segment.path)
    assert asked_to_fetch(broker, 0).answer().responses[0].partitions[0].error_code == 0

"""A topic is deleted, and may be made anew, between the steps of what uses its partitions: each API and each pass."""

import logging
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from fakebroker import VirtualBroker
from fakebroker.broker.core.topics import Topic
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.listeners import Address
from fakebroker.protocol.records.batch import build_batch, plain_records, read_records
from fakebroker.protocol.schema.building import built
from fakebroker.protocol.storage.properties import decode_partition_metadata
from fakebroker.protocol.wire.frame import decode_response
from fakebroker.protocol.wire.registry import api
from tests.support.data_directories import SMALL, Life, kept
from tests.support.frames import frames, request
from tests.support.small_steps import make_steps_smaller

PARTITIONS = range(3)
PRODUCER = 777
MOST_STEPS = 60
LATER_MS = 700_000  # retention, the cleaner and the expiry of producers are due
CONFIG = {"segment.ms": "1", "compression.type": "gzip"}


class Story:
    """A life whose topic, of segments that were not read since the start, is asked for by one request."""

    def __init__(self, life: Life) -> None:
        self.life = life
        self.before = self.make()
        self._fill()
        life.broker.stop()
        life.broker = VirtualBroker(data=life.path, **life.options)
        life.client = life.broker.client("client")
        self.before = self.topic
        self.engine = life.broker._engine

    def make(self) -> Topic:
        """Make the topic."""
        life = self.life
        topic: Topic = life.broker._call(lambda: life.cluster.topics.create("made", 3, 1, CONFIG))
        return topic

    @property
    def topic(self) -> Topic:
        """The topic as it is now."""
        found = self.life.cluster.topics.get("made")
        assert found is not None
        return found

    def _fill(self) -> None:
        """Segments in the first two partitions, the first with an open transaction; the third was never used."""
        for index in (0, 0, 1, 1):
            self.life.client.produce("made", index, [(b"k", b"old")])
            self.life.broker.pass_time(ms=10)
        for index in (0, 1):
            batch = self.batch(producer_id=PRODUCER, producer_epoch=1, base_sequence=0, transactional=True)
            log, now = self.topic.partitions[index].log, self.life.broker._broker_clock.now()
            self.life.broker._call(partial(log.append, batch, now))

    def batch(self, **fields: Any) -> bytes:
        """A batch of two records."""
        now_ms = self.life.broker._broker_clock.now().wall_ms
        return build_batch(plain_records([(b"k", b"old"), (None, b"old")], now_ms, 0), **fields)

    def ask(self, name: str, version: int, fields: dict[str, Any]) -> Callable[[], Any]:
        """Send a request, of which the first step is taken. Returns what takes the others and gives the answer."""
        listener, host = self.engine.listeners[0], Address("127.0.0.1", 9092)
        connection = self.engine.connect(listener, "/127.0.0.1", host, self.engine.now)
        plain = {each: getattr(built(api(name).request, fields), each) for each in fields}
        connection.receive(request(name, version, **plain), self.engine.now)

        def answer() -> Any:
            while self.engine.works:
                self.engine.step(self.engine.now)
            self.tick(1_000)
            (frame,) = frames(b"".join(connection.data_to_send()))
            return decode_response(api(name).key, version, frame)[1]

        return answer

    def tick(self, ms: int) -> None:
        """Let time pass, with all steps of what is due."""
        self.begin_passes(ms)
        while self.engine.works:
            self.engine.step(self.engine.now)

    def begin_passes(self, ms: int) -> None:
        """The same with the first steps only."""
        now = self.engine.now
        self.engine.tick(Instant(now.wall_ms + ms, now.mono_ms + ms))

    def write(self) -> None:
        """A turn ends: the files are brought up to date."""
        assert self.life.broker._storage is not None
        assert self.life.broker._storage.write(self.engine.now) == []

    def delete(self) -> None:
        """Delete the topic."""
        self.life.cluster.topics.delete("made", self.engine.now)

    def produce_new(self) -> None:
        """One record in each partition of the topic that was made anew."""
        for partition in self.topic.partitions:
            partition.log.append(build_batch(plain_records([(None, b"new")], 0, 0)), self.engine.now)

    def check(self, *, is_anew: bool) -> None:
        """Nothing of the deleted topic is there, in memory and on disk, and the one made anew has what is its own."""
        self.write()
        cluster, path = self.life.cluster, self.life.path
        state = {name: log for name, log in kept(self.life.broker)["logs"].items() if name.startswith("made-")}
        assert sorted(state) == ([f"made-{index}" for index in PARTITIONS] if is_anew else [])
        for log in state.values():
            ((base_offset, (batch,)),) = log["segments"]
            assert (base_offset, log["offsets"], log["producers"], log["aborted"]) == (0, (0, 1, 1, 1), [], [])
            assert [each.value for each in read_records(batch)] == [b"new"]
        folders = [each for each in path.iterdir() if each.name.startswith("made-")]
        ids = {decode_partition_metadata((each / "partition.metadata").read_bytes()) for each in folders}
        assert (len(folders), ids) == ((3, {self.topic.id}) if is_anew else (0, set()))
        shared = [each.partition.topic for each in cluster.nodes[1].share_partitions]
        assert all(each.exists for each in shared)
        assert self.before.partitions == []
        with self.life.after_kill() as after:
            assert kept(after)["logs"] == kept(self.life.broker)["logs"]


def begin_share_group(story: Story) -> None:
    """A share group of the topic, which reads it from its beginning."""
    name, version, fields = share_states("InitializeShareGroupState", 0, state_epoch=0, start_offset=0)(story)
    story.life.client.request(name, version, **fields)


Request = Callable[[Story], tuple[str, int, dict[str, Any]]]


def produced(story: Story, batch: bytes, **fields: Any) -> tuple[str, int, dict[str, Any]]:
    rows = [{"index": each, "records": batch} for each in PARTITIONS]
    data = [{"name": "made", "partition_data": rows}]
    return "Produce", 9, {"acks": -1, "timeout_ms": 500, "topic_data": data, **fields}


def transactional(story: Story, epoch: int) -> tuple[str, int, dict[str, Any]]:
    batch = story.batch(producer_id=PRODUCER, producer_epoch=epoch, base_sequence=2, transactional=True)
    return produced(story, batch, transactional_id="t")


def fetched(story: Story, **fields: Any) -> tuple[str, int, dict[str, Any]]:
    rows = [{"partition": each, "fetch_offset": 0, "partition_max_bytes": 1000} for each in PARTITIONS]
    return "Fetch", 12, {"max_bytes": 1 << 20, "topics": [{"topic": "made", "partitions": rows}], **fields}


def listed(story: Story, timestamp: int) -> tuple[str, int, dict[str, Any]]:
    rows = [{"partition_index": each, "timestamp": timestamp} for each in PARTITIONS]
    return "ListOffsets", 7, {"replica_id": -1, "topics": [{"name": "made", "partitions": rows}]}


def shared(story: Story, **fields: Any) -> tuple[str, int, dict[str, Any]]:
    rows = [{"partition_index": each} for each in PARTITIONS]
    topics = [{"topic_id": story.topic.id, "partitions": rows}]
    asked = {"group_id": "g", "member_id": "A" * 22, "share_session_epoch": 0, "max_records": 100, "batch_size": 100}
    return "ShareFetch", 1, {**asked, "max_wait_ms": 500, "min_bytes": 1, "topics": topics, **fields}


def share_states(name: str, version: int, **fields: Any) -> Request:
    rows = [{"partition": each, **fields} for each in PARTITIONS]
    return lambda story: (
        name,
        version,
        {"group_id": "g", "topics": [{"topic_id": story.topic.id, "partitions": rows}]},
    )


def by_name(name: str, version: int, topics: str = "topics", **fields: Any) -> Request:
    """A request whose topic has rows of these fields, given the index of the partition."""

    def asked(_story: Story) -> tuple[str, int, dict[str, Any]]:
        rows = [{each: index if value is None else value for each, value in fields.items()} for index in PARTITIONS]
        return name, version, {"timeout_ms": 500, topics: [{"name": "made", "partitions": rows}]}

    return asked


def markers(story: Story) -> tuple[str, int, dict[str, Any]]:
    topics = [{"name": "made", "partition_indexes": list(PARTITIONS)}]
    marker = {"producer_id": PRODUCER, "producer_epoch": 1, "transaction_result": False, "topics": topics}
    return "WriteTxnMarkers", 1, {"markers": [{**marker, "coordinator_epoch": 1}]}


def epochs(story: Story) -> tuple[str, int, dict[str, Any]]:
    rows = [{"partition": each, "current_leader_epoch": -1, "leader_epoch": 0} for each in PARTITIONS]
    return "OffsetForLeaderEpoch", 4, {"replica_id": -1, "topics": [{"topic": "made", "partitions": rows}]}


REQUESTS: dict[str, Request] = {
    "Produce": lambda story: produced(story, story.batch()),
    "idempotent Produce": lambda story: produced(
        story, story.batch(producer_id=5, producer_epoch=0, base_sequence=0)
    ),
    "transactional Produce": lambda story: transactional(story, 1),
    "fenced Produce": lambda story: transactional(story, 0),
    "WriteTxnMarkers": markers,
    "Fetch": fetched,
    "Fetch that waits": lambda story: fetched(story, min_bytes=1 << 19, max_wait_ms=500),
    "ListOffsets": lambda story: listed(story, 1),
    "ListOffsets of the largest": lambda story: listed(story, -3),
    "OffsetForLeaderEpoch": epochs,
    "DeleteRecords": by_name("DeleteRecords", 2, partition_index=None, offset=1),
    "DescribeProducers": lambda _: (
        "DescribeProducers", 0, {"topics": [{"name": "made", "partition_indexes": list(PARTITIONS)}]}
    ),
    "DescribeLogDirs": lambda _: (
        "DescribeLogDirs", 1, {"topics": [{"topic": "made", "partitions": list(PARTITIONS)}]}
    ),
    "ElectLeaders": lambda _: (
        "ElectLeaders", 1, {"topic_partitions": [{"topic": "made", "partitions": list(PARTITIONS)}], "timeout_ms": 500}
    ),
    "AlterPartitionReassignments": by_name(
        "AlterPartitionReassignments", 0, partition_index=None, replicas=[1]
    ),
    "ShareFetch": shared,
    "ShareFetch that waits": lambda story: shared(story, min_bytes=1 << 19),
    "InitializeShareGroupState": share_states("InitializeShareGroupState", 0, state_epoch=1, start_offset=1),
    "WriteShareGroupState": share_states("WriteShareGroupState", 0, state_epoch=0, start_offset=1),
    "ReadShareGroupState": share_states("ReadShareGroupState", 0),
    "DeleteShareGroupState": share_states("DeleteShareGroupState", 0),
}  # fmt: skip


@pytest.fixture
def life(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Life]:
    """Each unit of work is a step."""
    make_steps_smaller(monkeypatch, 1 << 62)
    life = Life(tmp_path / "data", config={**SMALL, "share.coordinator.state.topic.num.partitions": 3})
    yield life
    life.broker.stop()


def has_ended_after(story: Story, steps: int) -> bool:
    """Take so many steps; returns whether there are no more."""
    for _ in range(steps):
        if not story.engine.works:
            return True
        story.engine.step(story.engine.now)
    return not story.engine.works


def go_on_without_topic(story: Story, how: str) -> None:
    """Delete the topic, and make it anew, in one turn or several."""
    story.delete()
    if how != "made anew in one turn":
        story.write()
    if how != "deleted":
        story.make()
        story.produce_new()
        story.write()


def no_internal_error(answer: Any) -> bool:
    return f"error_code={int(ErrorCode.UNKNOWN_SERVER_ERROR)}," not in repr(answer)


HOW = ["made anew", *(pytest.param(each, marks=pytest.mark.slow) for each in ("deleted", "made anew in one turn"))]


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("kind", REQUESTS)
def test_a_request_goes_on_without_its_topic(life: Life, kind: str, how: str, caplog: pytest.LogCaptureFixture) -> None:
    """After whichever step: it is answered, and nothing that it does reaches the topic of the name or the disk."""
    is_over, steps = False, 0
    while not is_over:
        story = Story(life)
        begin_share_group(story)
        answer = story.ask(*REQUESTS[kind](story))
        is_over = has_ended_after(story, steps)
        go_on_without_topic(story, how)
        assert no_internal_error(answer())
        story.check(is_anew=how != "deleted")
        if how != "deleted":
            story.delete()
        assert [each for each in caplog.records if each.levelno >= logging.ERROR] == []
        steps += 1
        assert steps < MOST_STEPS
    assert steps > 1


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("policy", ["delete", "compact", "compact,delete"])
def test_passes_go_on_without_the_topic(life: Life, policy: str, how: str, caplog: pytest.LogCaptureFixture) -> None:
    """Retention, the cleaner and the expiry of producers, after whichever step."""
    is_over, steps = False, 0
    own = {"cleanup.policy": policy, "retention.bytes": "1", "min.cleanable.dirty.ratio": "0.0"}
    while not is_over:
        story = Story(life)
        life.client.alter_configs("made", own)
        story.begin_passes(LATER_MS)
        is_over = has_ended_after(story, steps)
        go_on_without_topic(story, how)
        while story.engine.works:
            story.engine.step(story.engine.now)
        story.check(is_anew=how != "deleted")
        if how != "deleted":
            story.delete()
        assert [each for each in caplog.records if each.levelno >= logging.ERROR] == []
        steps += 1
        assert steps < MOST_STEPS
    assert steps > 1

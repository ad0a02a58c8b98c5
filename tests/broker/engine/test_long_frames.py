"""Frames that take long to read are read in steps; what is in them is served as from any other frame."""

import pytest

from fakebroker.broker.apis import create_topics
from fakebroker.broker.engine.dispatch import LONG_FRAME_BYTES
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.wire.messages.create_topics import CreatableTopic
from fakebroker.protocol.wire.messages.metadata import MetadataRequestTopic
from fakebroker.protocol.wire.messages.produce import PartitionProduceData, TopicProduceData
from tests.support.engine import SimEngine
from tests.support.frames import correlation_ids, framed, request


@pytest.fixture
def lab() -> SimEngine:
    return SimEngine({"message.max.bytes": 10 << 20})


def produce(size_bytes: int, acks: int = -1) -> bytes:
    batch = build_batch([Record(0, 1_700_000_000_000, b"k", bytes(size_bytes))])
    data = [PartitionProduceData(index=0, records=batch)]
    return request("Produce", 9, acks=acks, topic_data=[TopicProduceData(name="t", partition_data=data)])


def names(count: int, length: int = 20) -> bytes:
    """A Metadata request for topics that do not exist."""
    topics = [MetadataRequestTopic(name=f"{number:0{length}}") for number in range(count)]
    return request("Metadata", 12, 7, topics=topics, allow_auto_topic_creation=False)


def end_of(lab: SimEngine) -> int:
    """The topic's log end offset."""
    topic = lab.cluster.topics.get("t")
    assert topic is not None
    return topic.partitions[0].log.log_end_offset


def test_many_entries_are_read_in_steps(lab: SimEngine) -> None:
    """Others are served while a frame of many entries is read, and the answer has all of them."""
    frame = names(60_000)
    assert len(frame) > LONG_FRAME_BYTES
    client = lab.client()
    connection = client.socket.connection
    connection.receive(frame, lab.network.now)
    connection.resume(lab.network.now)
    assert connection.is_parked
    for _ in range(10):
        lab.engine.step(lab.network.now)
    assert connection.is_parked
    assert lab.engine.works
    lab.network.flush()
    assert len(client.answer("Metadata", 12).topics) == 60_000
    assert lab.engine.errors == []


@pytest.mark.parametrize("piece_bytes", [100_000, 1 << 20, 1 << 30])
def test_long_and_short_frames_in_any_pieces(lab: SimEngine, piece_bytes: int) -> None:
    """Requests before and after a long one are answered, in order, however the bytes come."""
    lab.cluster.topics.create("t", 1)
    short = [request("ApiVersions", 0, number) for number in range(4)]
    data = b"".join((short[0], produce(2 << 20), short[1], names(60_000), produce(2 << 20), short[2], short[3]))
    client = lab.client()
    for at in range(0, len(data), piece_bytes):
        client.socket.send(data[at : at + piece_bytes])
    assert correlation_ids(client.socket.take()) == [0, 1, 1, 7, 1, 2, 3]
    assert end_of(lab) == 2
    assert lab.engine.errors == []


def test_a_long_frame_that_is_malformed(lab: SimEngine) -> None:
    """The connection is closed, and the log says where the bytes are wrong."""
    frame = bytearray(names(60_000))
    client = lab.client()
    client.socket.send(framed(bytes(frame[4:-40])))
    assert "Metadata v12: MetadataRequest v12 at Topics" in client.close_reason
    assert lab.engine.errors == []
    assert not lab.engine.works


@pytest.mark.parametrize("acks", [0, -1])
def test_a_client_that_leaves_after_a_long_frame(lab: SimEngine, acks: int) -> None:
    """A request that arrived as a whole is done, as in Kafka."""
    lab.cluster.topics.create("t", 1)
    client = lab.client()
    client.socket.connection.receive(produce(2 << 20, acks), lab.network.now)
    client.socket.connection.resume(lab.network.now)
    assert (lab.engine.works != [], end_of(lab)) == (True, 0)
    client.socket.close()
    assert end_of(lab) == 1
    assert lab.engine.errors == []


def test_a_handler_that_fails_for_a_long_frame(lab: SimEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is answered with UNKNOWN_SERVER_ERROR for what was asked, and the connection goes on."""

    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(create_topics, "handle", fail)
    topics = [CreatableTopic(name=f"{number:0200}", num_partitions=1, replication_factor=1) for number in range(6_000)]
    client = lab.client()
    answer = client.ask("CreateTopics", 7, topics=topics)
    assert {topic.error_code for topic in answer.topics} == {ErrorCode.UNKNOWN_SERVER_ERROR}
    assert len(answer.topics) == 6_000
    assert client.ask("ApiVersions", 0).error_code == 0
    assert [type(error) for error in lab.engine.errors] == [ZeroDivisionError]


def test_what_a_killed_broker_had_not_read_is_not_done() -> None:
    """Not by its next process either; what a living one has begun to read is done although the client has gone."""
    assert records_of_client_that_left(is_killed=False) == 1
    assert records_of_client_that_left(is_killed=True) == 0


def records_of_client_that_left(*, is_killed: bool) -> int:
    lab = SimEngine()
    lab.cluster.topics.create("t", 1)
    batch = build_batch([Record(0, 1_700_000_000_000, b"k", b"v")])
    data = [PartitionProduceData(index=0, records=batch)]
    others = [PartitionProduceData(index=number) for number in range(200_000)]
    topics = [TopicProduceData(name="t", partition_data=data), TopicProduceData(name="u", partition_data=others)]
    connection, now = lab.client().socket.connection, lab.network.now
    connection.receive(request("Produce", 9, acks=-1, topic_data=topics), now)
    connection.resume(now)
    assert connection.is_parked
    connection.closed(now)
    if is_killed:
        lab.cluster.kill_node(1, now)
        lab.cluster.start_node(1, now)
    while lab.engine.works:
        lab.engine.step(now)
    assert lab.engine.errors == []
    return end_of(lab)

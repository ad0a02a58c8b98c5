"""Long requests are answered in steps, and others are served in between."""

from typing import Any

import pytest

from fakebroker.broker.apis import create_topics, metadata
from fakebroker.broker.core.logs.request_scans import UNPACKED_PER_REQUEST_BYTES
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.wire.messages.create_topics import CreatableTopic
from fakebroker.protocol.wire.messages.list_offsets import ListOffsetsTopic
from fakebroker.protocol.wire.messages.metadata import MetadataRequestTopic
from fakebroker.protocol.wire.messages.offset_commit import OffsetCommitRequestTopic
from fakebroker.protocol.wire.messages.produce import PartitionProduceData, TopicProduceData
from tests.support.cluster import partition
from tests.support.engine import SimEngine
from tests.support.frames import request


@pytest.fixture
def lab() -> SimEngine:
    return SimEngine()


def produce(*batches: bytes) -> bytes:
    data = [PartitionProduceData(index=index, records=batch) for index, batch in enumerate(batches)]
    return request("Produce", 7, acks=-1, topic_data=[TopicProduceData(name="t", partition_data=data)])


def zeros(size_bytes: int) -> bytes:
    """A zstd batch of some KiB that unpacks to so much."""
    return build_batch([Record(0, 1_700_000_000_000, b"k", bytes(size_bytes))], codec=4)


def begun(lab: SimEngine, frame: bytes) -> Any:
    """A client whose request has begun and is not done."""
    client = lab.client()
    client.socket.connection.receive(frame, lab.network.now)
    assert client.socket.connection.is_parked
    assert len(lab.engine.works) == 1
    return client


def steps_to_the_end(lab: SimEngine) -> int:
    steps = 0
    while lab.engine.works:
        lab.engine.step(lab.network.now)
        steps += 1
    return steps


def test_others_are_served_between_the_steps(lab: SimEngine) -> None:
    """While Metadata of many topics is made, another client is answered, and the answer is as of the beginning."""
    count = 3 * metadata.PARTITIONS_PER_STEP
    for index in range(count):
        lab.cluster.topics.create(f"t{index}")
    client = begun(lab, request("Metadata", 9, topics=None))
    assert (
        lab.client().ask("Heartbeat", 4, group_id="g", generation_id=1, member_id="m").error_code
        == ErrorCode.UNKNOWN_MEMBER_ID
    )
    lab.network.flush()
    assert len(client.answer("Metadata", 9).topics) == count
    assert lab.engine.errors == []


def test_the_next_request_of_the_connection_waits(lab: SimEngine) -> None:
    """Answers of a connection stay in the order of its requests (AV-2)."""
    lab.cluster.topics.create("t", 9_999)
    client = begun(lab, request("Metadata", 9, 1, topics=None) + request("ApiVersions", 0, 2))
    assert client.socket.connection.wants_turn is False
    lab.network.flush()
    data = client.socket.take()
    assert (data[4:8], data[-4:-2] != b"") == (b"\0\0\0\1", True)
    assert not client.socket.connection.is_parked


def test_work_for_a_client_that_has_gone_is_dropped(lab: SimEngine) -> None:
    """A reader's work ends at its next step, and nothing is wrong afterwards."""
    lab.cluster.topics.create("t", 9_999)
    client = begun(lab, request("Metadata", 9, topics=None))
    client.socket.connection.closed(lab.network.now)
    assert steps_to_the_end(lab) == 1
    assert lab.engine.errors == []


def test_a_deletion_is_finished_whoever_has_gone(lab: SimEngine) -> None:
    """The topic is gone at once, and in the end all groups' offsets of it are (EX-12)."""
    lab.cluster.topics.create("t")
    committer = lab.client()
    topics = [OffsetCommitRequestTopic(name="t", partitions=[(0, 1, -1, -1, None)])]
    for index in range(3_000):
        frame = request("OffsetCommit", 7, group_id=f"g{index}", generation_id_or_member_epoch=-1, topics=topics)
        committer.socket.send(frame)
    client = begun(lab, request("DeleteTopics", 3, topic_names=["t"]))
    assert "t" not in lab.cluster.topics
    client.socket.connection.closed(lab.network.now)
    lab.network.flush()
    assert lab.engine.errors == []
    shards = lab.cluster.nodes[1].coordinator.shards.values()
    assert not any(group.offsets.topics.get("t") for shard in shards for group in shard)


def test_what_one_produce_unpacks_is_bounded(lab: SimEngine) -> None:
    """Beyond 256 MiB the rest is refused with MESSAGE_TOO_LARGE and not unpacked; the steps are few and short."""
    batch = zeros(100 << 20)
    lab.cluster.topics.create("t", 50)
    client = begun(lab, produce(*[batch] * 50))
    steps = steps_to_the_end(lab)
    lab.network.flush()
    codes = [part.error_code for part in client.answer("Produce", 7).responses[0].partition_responses]
    assert codes == [0] * (UNPACKED_PER_REQUEST_BYTES // (100 << 20)) + [ErrorCode.MESSAGE_TOO_LARGE] * 48
    assert 10 < steps < 150
    assert lab.engine.errors == []


def test_a_batch_for_a_topic_that_is_deleted_meanwhile(lab: SimEngine) -> None:
    """Nothing is appended to it."""
    lab.cluster.topics.create("t")
    client = begun(lab, produce(zeros(20 << 20)))
    lab.cluster.topics.delete("t", lab.network.now)
    lab.network.flush()
    assert (
        client.answer("Produce", 7).responses[0].partition_responses[0].error_code
        == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    )


@pytest.mark.rules("PD-24")
@pytest.mark.parametrize("is_transactional", [False, True])
def test_a_produce_is_finished_whoever_has_gone(lab: SimEngine, is_transactional: bool) -> None:
    """Every partition gets its batch although the client went away after the first."""
    topic = lab.cluster.topics.create("t", 3)
    producer: dict[str, Any] = {}
    if is_transactional:
        given = lab.client().ask("InitProducerId", 4, transactional_id="x", transaction_timeout_ms=1000)
        producer = {"producer_id": given.producer_id, "producer_epoch": 0, "base_sequence": 0, "transactional": True}
    batch = build_batch([Record(0, 1_700_000_000_000, b"k", bytes(20 << 20))], codec=4, **producer)
    data = [PartitionProduceData(index=index, records=batch) for index in range(3)]
    topics = [TopicProduceData(name="t", partition_data=data)]
    client = begun(
        lab, request("Produce", 12, transactional_id="x" if is_transactional else None, acks=-1, topic_data=topics)
    )
    client.socket.connection.closed(lab.network.now)
    lab.network.flush()

    assert [partition.log.log_end_offset for partition in topic.partitions] == [1, 1, 1]
    assert lab.engine.errors == []


def creation(*names: str, **fields: Any) -> bytes:
    topics = [CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in names]
    return request("CreateTopics", 7, topics=topics, **fields)


NAMES = [f"t{number}" for number in range(create_topics.ENTRIES_PER_STEP // 10)]


def test_topics_of_one_request_are_made_together(lab: SimEngine) -> None:
    """They are planned in several steps, and exist all at once; who has gone does not matter."""
    client = begun(lab, creation(*NAMES))
    client.socket.connection.closed(lab.network.now)
    counts = [len(lab.cluster.topics)]
    while lab.engine.works:
        lab.engine.step(lab.network.now)
        counts.append(len(lab.cluster.topics))
    assert set(counts) == {0, len(NAMES)}
    assert lab.engine.errors == []


def test_a_topic_that_another_client_makes_meanwhile(lab: SimEngine) -> None:
    """It is refused with TOPIC_ALREADY_EXISTS, as if the request had come later; the others are made."""
    client = begun(lab, creation(*NAMES))
    others = lab.cluster.topics.create("t0", 3)
    lab.network.flush()
    codes = [topic.error_code for topic in client.answer("CreateTopics", 7).topics]
    assert codes == [ErrorCode.TOPIC_ALREADY_EXISTS] + [0] * (len(NAMES) - 1)
    assert lab.cluster.topics.get("t0") is others
    assert lab.cluster.topics.by_id(others.id) is others


def test_a_refused_creation_leaves_nothing(lab: SimEngine) -> None:
    """Too large a change is found out when all is planned: no topic exists, and each is answered."""
    client = begun(lab, creation(*[f"t{number}" for number in range(5_001)]))
    lab.network.flush()
    assert {topic.error_code for topic in client.answer("CreateTopics", 7).topics} == {ErrorCode.POLICY_VIOLATION}
    assert len(lab.cluster.topics) == 0


def test_a_creation_that_is_only_validated(lab: SimEngine) -> None:
    """All are answered with their counts and configs, and none exists."""
    client = begun(lab, creation(*NAMES, validate_only=True))
    lab.network.flush()
    topics = client.answer("CreateTopics", 7).topics
    assert {(topic.error_code, topic.num_partitions, len(topic.configs)) for topic in topics} == {(0, 1, 33)}
    assert len(lab.cluster.topics) == 0


def test_a_created_topic_that_is_deleted_before_the_answer_is_written(lab: SimEngine) -> None:
    """The answer still says what was made."""
    client = begun(lab, creation(*NAMES))
    while not len(lab.cluster.topics):
        lab.engine.step(lab.network.now)
    lab.cluster.topics.delete("t999", lab.network.now)
    lab.network.flush()
    assert {topic.num_partitions for topic in client.answer("CreateTopics", 7).topics} == {1}


def test_auto_creation_counts_more_than_description(lab: SimEngine) -> None:
    """Metadata that makes topics takes more steps than Metadata that finds them."""
    topics = [MetadataRequestTopic(name=f"t{number}") for number in range(1_000)]
    frame = request("Metadata", 12, topics=topics, allow_auto_topic_creation=True)
    making = begun(lab, frame)
    steps = steps_to_the_end(lab)
    lab.network.flush()
    assert len(making.answer("Metadata", 12).topics) == len(lab.cluster.topics) == 1_000
    assert steps >= 5
    finding = lab.client()
    finding.socket.connection.receive(frame, lab.network.now)
    assert not lab.engine.works


def test_a_search_by_time_is_a_step(lab: SimEngine) -> None:
    """A batch of some KiB may unpack to 128 MiB: ListOffsets of many partitions does not unpack all of them at once."""
    topic = lab.cluster.topics.create("t", 5)
    for each in topic.partitions:
        each.log.append(zeros(1000), lab.network.now)
    rows = [(index, -1, 0, 1) for index in range(5)]
    client = begun(lab, request("ListOffsets", 7, topics=[ListOffsetsTopic(name="t", partitions=rows)]))
    assert steps_to_the_end(lab) == 4
    lab.network.flush()
    assert [row[4] for row in client.answer("ListOffsets", 7).topics[0].partitions] == [0] * 5


@pytest.mark.parametrize("has_lane", [True, False])
def test_a_turn_unpacks_little_however_many_requests_it_has(lab: SimEngine, has_lane: bool) -> None:
    """Pipelined Produces of some hundred bytes, each of which unpacks to 7 MiB, are one turn each."""
    lab.cluster.topics.create("t", 2)
    client = lab.client()
    if has_lane:
        client.socket.send(produce(zeros(10)))
        client.socket.take()
    connection = client.socket.connection
    connection.receive(produce(zeros(7 << 20)) * 3, lab.network.now)
    assert connection.is_parked
    assert partition(lab.cluster).log.log_end_offset == int(has_lane)

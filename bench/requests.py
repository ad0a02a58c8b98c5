"""The requests that benchmarks send, by what they mean."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from fakebroker.protocol.records.batch import assemble, build_batch, parse_header
from fakebroker.protocol.records.batch_format import HEADER_BYTES
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.schema import Message
from fakebroker.protocol.wire.frame import encode_request
from fakebroker.protocol.wire.framing import with_length
from fakebroker.protocol.wire.messages.api_versions import ApiVersionsRequest
from fakebroker.protocol.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from fakebroker.protocol.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from fakebroker.protocol.wire.messages.fetch import FetchRequest, FetchTopic
from fakebroker.protocol.wire.messages.heartbeat import HeartbeatRequest
from fakebroker.protocol.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from fakebroker.protocol.wire.messages.list_offsets import ListOffsetsRequest, ListOffsetsTopic
from fakebroker.protocol.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from fakebroker.protocol.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestTopic
from fakebroker.protocol.wire.messages.offset_fetch import OffsetFetchRequest
from fakebroker.protocol.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from fakebroker.protocol.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

FIRST_MS = 1_700_000_000_000
TIMEOUT_MS = 1_000_000

# The versions the benchmarks speak: all of them are known to librdkafka's mock as well.
CREATE_TOPICS, METADATA, JOIN, SYNC, HEARTBEAT, COMMIT, OFFSET_FETCH, PRODUCE, FETCH, LIST_OFFSETS = (
    2,
    4,
    3,
    2,
    3,
    7,
    5,
    7,
    11,
    5,
)
CONSUMER_HEARTBEAT, API_VERSIONS = 1, 3


def frame(request: Message, version: int, correlation_id: int = 1) -> bytes:
    """A request as it goes over the wire."""
    return with_length(encode_request(request, version, correlation_id, "bench"))


def which_versions() -> ApiVersionsRequest:
    """Ask for the versions of APIs that are served."""
    return ApiVersionsRequest(client_software_name="bench", client_software_version="1")


def create(topics: dict[str, int]) -> CreateTopicsRequest:
    made = [CreatableTopic(name=name, num_partitions=count, replication_factor=1) for name, count in topics.items()]
    return CreateTopicsRequest(topics=made, timeout_ms=5000)


def ask_for(topics: Sequence[str]) -> MetadataRequest:
    """Metadata of topics, which makes them where auto-creation is on."""
    return MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in topics], allow_auto_topic_creation=True)


def join(
    group: str, member: str, metadata: bytes = b"", protocol_type: str = "bench", session_timeout_ms: int = 30_000
) -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=group,
        member_id=member,
        session_timeout_ms=session_timeout_ms,
        rebalance_timeout_ms=session_timeout_ms,
        protocol_type=protocol_type,
        protocols=[JoinGroupRequestProtocol(name="range", metadata=metadata)],
    )


def sync(group: str, generation: int, member: str, members: Sequence[str] = ()) -> SyncGroupRequest:
    """A sync; the leader's has an assignment for each of `members`."""
    entries = [SyncGroupRequestAssignment(member_id=m, assignment=b"mine") for m in members]
    return SyncGroupRequest(group_id=group, generation_id=generation, member_id=member, assignments=entries)


def heartbeat(group: str, generation: int, member: str) -> HeartbeatRequest:
    return HeartbeatRequest(group_id=group, generation_id=generation, member_id=member)


def consumer_join(group: str, member: str, topics: Sequence[str]) -> ConsumerGroupHeartbeatRequest:
    """The first heartbeat of a member of a consumer group (KIP-848)."""
    return ConsumerGroupHeartbeatRequest(
        group_id=group,
        member_id=member,
        member_epoch=0,
        rebalance_timeout_ms=TIMEOUT_MS,
        subscribed_topic_names=list(topics),
        topic_partitions=[],
    )


def consumer_heartbeat(
    group: str, member: str, epoch: int, owned: Mapping[bytes, Sequence[int]] | None = None
) -> ConsumerGroupHeartbeatRequest:
    """A later one; `owned` are its partitions by topic id, None when they are those of the heartbeat before."""
    entries = None
    if owned is not None:
        entries = [TopicPartitions(topic_id=topic, partitions=list(numbers)) for topic, numbers in owned.items()]
    return ConsumerGroupHeartbeatRequest(group_id=group, member_id=member, member_epoch=epoch, topic_partitions=entries)


def assigned(answer: ConsumerGroupHeartbeatResponse) -> dict[bytes, list[int]]:
    """The partitions that an answer assigns, by topic id; empty if it says nothing of them."""
    if answer.assignment is None:
        return {}
    return {entry.topic_id: entry.partitions for entry in answer.assignment.topic_partitions}


def commit(
    group: str,
    topics: Sequence[str],
    partitions: int,
    generation: int = -1,
    member: str = "",
    offset: int = 7,
    metadata: str = "",
) -> OffsetCommitRequest:
    """An offset of so many partitions of each topic; each is one more than that of the partition before."""
    entries = [
        OffsetCommitRequestTopic(name=name, partitions=[(p, offset + p, -1, -1, metadata) for p in range(partitions)])
        for name in topics
    ]
    return OffsetCommitRequest(
        group_id=group, generation_id_or_member_epoch=generation, member_id=member, topics=entries
    )


def all_offsets(group: str) -> OffsetFetchRequest:
    return OffsetFetchRequest(group_id=group, topics=None)


def batch(total_bytes: int, count: int, first_ms: int = FIRST_MS) -> bytes:
    """About `total_bytes` in `count` records, a millisecond apart."""
    value = b"v" * max(1, (total_bytes - 61) // count - 12)
    return build_batch([Record(n, first_ms + n, None, value) for n in range(count)])


def unlike_batch(total_bytes: int, count: int, number: int) -> bytes:
    """About `total_bytes`, another amount for each `number`, in `count` records that differ in size, key and time."""
    chance = Random(number)
    mean_bytes = max(1, (total_bytes - 61) // count - 16)
    first_ms, records = FIRST_MS + number * 100, []
    for index in range(count):
        key = b"k%d" % chance.randrange(10**6) if index % 3 else None
        value = chance.randbytes(chance.randint(mean_bytes // 8, 2 * mean_bytes - mean_bytes // 8))
        records.append(Record(index, first_ms + index * chance.randrange(7), key, value))
    return build_batch(records)


def of_producer(data: bytes, sequence: int) -> bytes:
    """The same batch of an idempotent producer, whose records begin at this sequence."""
    header = parse_header(data)._replace(producer_id=1, producer_epoch=0, base_sequence=sequence)
    return assemble(header, data[HEADER_BYTES:])


def produce(topic: str, data: bytes, acks: int = 1) -> ProduceRequest:
    entry = TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=0, records=data)])
    return ProduceRequest(acks=acks, timeout_ms=5000, topic_data=[entry])


def fetch_row(partition: int, offset: int, limit_bytes: int) -> tuple[object, ...]:
    """What a Fetch says of a partition."""
    return (partition, -1, offset, -1, -1, limit_bytes, bytes(16), 2**63 - 1)


def fetch(topic: str, limit_bytes: int, offset: int = 0) -> FetchRequest:
    """A Fetch of partition 0, without a session."""
    return session_fetch(topic, [fetch_row(0, offset, limit_bytes)], 0, -1)


def session_fetch(topic: str, rows: list[Any], session_id: int, epoch: int) -> FetchRequest:
    """A Fetch of a session that names these partitions (`fetch_row`); epoch 0 begins a session, -1 wants none."""
    entry = FetchTopic(topic=topic, partitions=rows)
    return FetchRequest(
        max_wait_ms=100, min_bytes=1, max_bytes=1 << 26, session_id=session_id, session_epoch=epoch, topics=[entry]
    )


def offset_at(topic: str, timestamp_ms: int) -> ListOffsetsRequest:
    return ListOffsetsRequest(
        replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=[(0, -1, timestamp_ms, 1)])]
    )

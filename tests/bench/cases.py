"""What is measured: each case prepares a target over the wire and says which request is then sent as load."""

import socket
from collections.abc import Callable
from typing import NamedTuple

from fakebroker.records.batch import build_batch
from fakebroker.wire.registry import api
from tests.bench.driver import Address, ask, connect, frame

GROUP, TOPIC = "bench", "bench"


class Case(NamedTuple):
    """One line of the report: the load, and the goal as a ratio to librdkafka's mock (None: reported only)."""

    name: str
    connections: int
    depth: int
    goal: float | None
    prepare: Callable[[Address], bytes]
    against_mock: bool = True


def request(name: str, **fields: object) -> object:
    return api(name).request(**fields)


def struct(name: str, part: str, **fields: object) -> object:
    """An instance of a structure that is declared beside the API's messages."""
    return getattr(__import__(api(name).request.__module__, fromlist=[part]), part)(**fields)


def create_topics(address: Address, topics: dict[str, int]) -> None:
    """Metadata with auto-creation is what librdkafka's mock understands; it gives a topic four partitions."""
    with connect(address) as sock:
        names = [struct("CreateTopics", "CreatableTopic", name=t, num_partitions=n, replication_factor=1) for t, n in topics.items()]
        try:
            ask(sock, request("CreateTopics", topics=names, timeout_ms=5000), 2)
            return
        except (OSError, Exception):
            pass
    with connect(address) as sock:
        for name in topics:
            wanted = [struct("Metadata", "MetadataRequestTopic", name=name)]
            ask(sock, request("Metadata", topics=wanted, allow_auto_topic_creation=True), 4)


def join(sock: socket.socket, group: str) -> tuple[int, str]:
    """Become the only member of a group: its generation and member id."""
    protocol = struct("JoinGroup", "JoinGroupRequestProtocol", name="range", metadata=b"\0\0\0\0\0\0\xff\xff\xff\xff")
    fields = {"group_id": group, "session_timeout_ms": 30_000, "rebalance_timeout_ms": 30_000, "protocol_type": "consumer", "protocols": [protocol]}
    joined = ask(sock, request("JoinGroup", member_id="", **fields), 3)
    if joined.error_code == 79:
        joined = ask(sock, request("JoinGroup", member_id=joined.member_id, **fields), 3)
    assert joined.error_code == 0, joined
    mine = struct("SyncGroup", "SyncGroupRequestAssignment", member_id=joined.member_id, assignment=b"x")
    synced = ask(
        sock, request("SyncGroup", group_id=group, generation_id=joined.generation_id, member_id=joined.member_id, assignments=[mine]), 2
    )
    assert synced.error_code == 0, synced
    return joined.generation_id, joined.member_id


def heartbeat(address: Address) -> bytes:
    with connect(address) as sock:
        generation, member = join(sock, GROUP)
    return frame(request("Heartbeat", group_id=GROUP, generation_id=generation, member_id=member), 3)


def commit(topics: int, partitions: int) -> Callable[[Address], bytes]:
    def prepare(address: Address) -> bytes:
        names = [f"{TOPIC}-{n}" for n in range(topics)]
        create_topics(address, dict.fromkeys(names, max(partitions, 1)))
        with connect(address) as sock:
            generation, member = join(sock, GROUP)
        rows = [(p, 7, -1, -1, "") for p in range(partitions)]
        entries = [struct("OffsetCommit", "OffsetCommitRequestTopic", name=name, partitions=rows) for name in names]
        asked = request("OffsetCommit", group_id=GROUP, generation_id_or_member_epoch=generation, member_id=member, topics=entries)
        return frame(asked, 7)

    return prepare


def fetch_all_offsets(address: Address) -> bytes:
    create_topics(address, {TOPIC: 1000})
    rows = [(p, 7, -1, -1, "") for p in range(1000)]
    entry = struct("OffsetCommit", "OffsetCommitRequestTopic", name=TOPIC, partitions=rows)
    with connect(address) as sock:
        ask(sock, request("OffsetCommit", group_id="all", generation_id_or_member_epoch=-1, member_id="", topics=[entry]), 7)
    return frame(request("OffsetFetch", group_id="all", topics=None), 5)


def a_batch(total_bytes: int, records: int) -> bytes:
    """A batch of about `total_bytes` with that many records."""
    value = b"v" * (total_bytes // records - 9)
    return build_batch([(None, value, 1_700_000_000_000 + n, ()) for n in range(records)])


def produce(total_bytes: int, records: int) -> Callable[[Address], bytes]:
    def prepare(address: Address) -> bytes:
        create_topics(address, {TOPIC: 4})
        return produce_frame(total_bytes, records)

    return prepare


def produce_frame(total_bytes: int, records: int) -> bytes:
    entry = struct("Produce", "PartitionProduceData", index=0, records=a_batch(total_bytes, records))
    topic = struct("Produce", "TopicProduceData", name=TOPIC, partition_data=[entry])
    return frame(request("Produce", acks=1, timeout_ms=5000, topic_data=[topic]), 7)


def fetch(total_bytes: int, records: int) -> Callable[[Address], bytes]:
    def prepare(address: Address) -> bytes:
        create_topics(address, {TOPIC: 4})
        with connect(address) as sock:
            sock.sendall(produce_frame(total_bytes, records))
            from tests.bench.driver import read_frame

            read_frame(sock)
        row = fetch_row(partition=0, fetch_offset=0, partition_max_bytes=total_bytes + total_bytes // 10)
        topic = struct("Fetch", "FetchTopic", topic=TOPIC, partitions=[row])
        asked = request("Fetch", max_wait_ms=100, min_bytes=1, max_bytes=1 << 26, topics=[topic])
        return frame(asked, 11)

    return prepare


def fetch_row(**fields: object) -> object:
    """A partition of a Fetch request; a plain tuple where the declaration makes it a row."""
    part = getattr(__import__(api("Fetch").request.__module__, fromlist=["FetchPartition"]), "FetchPartition")
    return tuple(fields.get(f.name, f.default) for f in part.fields)


def by_time(batches: int, batch_bytes: int, batch_records: int) -> Callable[[Address], bytes]:
    """ListOffsets of a time in the middle of a log of `batches` batches."""

    def prepare(address: Address) -> bytes:
        create_topics(address, {TOPIC: 4})
        with connect(address) as sock:
            sock.settimeout(600)
            fill(sock, batches, batch_bytes, batch_records)
        part = struct("ListOffsets", "ListOffsetsTopic", name=TOPIC, partitions=[(0, -1, 1_700_000_000_000 + batches * batch_records // 2, 1)])
        return frame(request("ListOffsets", replica_id=-1, topics=[part]), 5)

    return prepare


def fill(sock: socket.socket, batches: int, batch_bytes: int, batch_records: int) -> None:
    from tests.bench.driver import read_frame

    value = b"v" * (batch_bytes // batch_records - 12)
    in_flight = 0
    for n in range(batches):
        first = 1_700_000_000_000 + n * batch_records
        data = build_batch([(None, value, first + i, ()) for i in range(batch_records)])
        entry = struct("Produce", "PartitionProduceData", index=0, records=data)
        topic = struct("Produce", "TopicProduceData", name=TOPIC, partition_data=[entry])
        sock.sendall(frame(request("Produce", acks=1, timeout_ms=5000, topic_data=[topic]), 7))
        in_flight += 1
        if in_flight == 16:
            read_frame(sock)
            in_flight -= 1
    for _ in range(in_flight):
        read_frame(sock)


CASES = [
    Case("Heartbeat, pipelined", 8, 200, 1.5, heartbeat),
    Case("Heartbeat, closed loop", 64, 1, 0.6, heartbeat),
    Case("OffsetCommit of 1 partition, pipelined", 8, 200, 1.0, commit(1, 1)),
    Case("OffsetCommit of 100 partitions (25 topics x 4), pipelined", 8, 20, 0.5, commit(25, 4)),
    Case("OffsetFetch of all of 1,000 partitions", 8, 8, None, fetch_all_offsets, against_mock=False),
    Case("Produce 1 KiB (1 record), pipelined", 4, 16, None, produce(1024, 1)),
    Case("Produce 16 KiB (16 records), pipelined", 4, 16, 0.7, produce(16384, 16)),
    Case("Produce 1 MiB (1,000 records), pipelined", 4, 3, None, produce(1 << 20, 1000)),
    Case("Fetch 1 KiB, pipelined", 4, 16, None, fetch(1024, 1)),
    Case("Fetch 16 KiB, pipelined", 4, 16, 0.9, fetch(16384, 16)),
    Case("Fetch 1 MiB, pipelined", 4, 3, 0.7, fetch(1 << 20, 1000)),
    Case("ListOffsets by time, 10 k records", 8, 50, None, by_time(100, 16384, 100), against_mock=False),
    Case("ListOffsets by time, 1 M records", 8, 50, None, by_time(10_000, 16384, 100), against_mock=False),
]

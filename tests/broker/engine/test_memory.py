"""What is left of requests and connections: nothing that waits for Python's cycle collector."""

import gc
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from fakebroker.broker.engine.dispatch import LONG_LIST_BYTES
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.wire.messages.alter_configs import AlterableConfig, AlterConfigsResource
from fakebroker.protocol.wire.messages.alter_partition_reassignments import ReassignableTopic
from fakebroker.protocol.wire.messages.create_topics import CreatableTopic
from fakebroker.protocol.wire.messages.delete_topics import DeleteTopicState
from fakebroker.protocol.wire.messages.describe_configs import DescribeConfigsResource
from fakebroker.protocol.wire.messages.fetch import FetchTopic
from fakebroker.protocol.wire.messages.offset_commit import OffsetCommitRequestTopic
from fakebroker.protocol.wire.messages.produce import PartitionProduceData, TopicProduceData
from tests.support.engine import Client, SimEngine
from tests.support.frames import JOIN, framed, request
from tests.support.rights import AUTHORIZER

BATCH = build_batch([Record(0, 1_700_000_000_000, b"k", b"v" * 100)])


@contextmanager
def collector_off() -> Iterator[Counter[str]]:
    """Without the collector; afterwards the counter has the types of what it would have had to collect.

    What was there before is frozen: the collector looks at what is made meanwhile only, and is quick.
    """
    found: Counter[str] = Counter()
    gc.freeze()
    gc.disable()
    try:
        yield found
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        found.update(type(each).__qualname__ for each in gc.garbage)
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def rss_bytes() -> int:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def row(offset: int) -> tuple[Any, ...]:
    """Partition 0 from an offset on, as a fetch names it."""
    values = {"fetch_offset": offset, "partition_max_bytes": 1 << 20}
    (spec,) = (each for each in FetchTopic.fields if each.name == "partitions")
    return tuple(values.get(each.name, each.fresh_default()) for each in spec.type.element.fields)  # type: ignore[union-attr]


def produce(records: bytes | None, topic: str = "t", version: int = 7, acks: int = -1) -> bytes:
    data = [TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=0, records=records)])]
    return request("Produce", version, acks=acks, timeout_ms=1000, topic_data=data)


def broken_batch(at: int) -> bytes:
    batch = bytearray(BATCH)
    batch[at] ^= 0xFF
    return bytes(batch)


def config_of(kind: int, name: str) -> bytes:
    resource = AlterConfigsResource(
        resource_type=kind, resource_name=name, configs=[AlterableConfig(name="nonsense", value="1")]
    )
    return request("AlterConfigs", 1, resources=[resource])


REFUSED = {
    "checksum": produce(broken_batch(-1)),
    "no batch": produce(b"\0" * 200),
    "magic": produce(broken_batch(16)),
    "cut short": produce(BATCH[:-5]),
    "two batches": produce(BATCH * 2),
    "rubbish after": produce(BATCH + b"\0" * 30),
    "null": produce(None),
    "old format": produce(b"\0" * 16 + b"\1" + b"\0" * 50, version=3),
    "unknown topic": produce(BATCH, topic="nosuch"),
    "transactional": produce(broken_batch(22)),
    "acks": produce(BATCH, acks=7),
    "acks 0": produce(broken_batch(-1), acks=0),
    "topic name": request("CreateTopics", 5, topics=[CreatableTopic(name="?", num_partitions=1)], timeout_ms=1),
    "topic count": request("CreateTopics", 5, topics=[CreatableTopic(name="x", num_partitions=10**6)], timeout_ms=1),
    "topic exists": request("CreateTopics", 5, topics=[CreatableTopic(name="t", num_partitions=1)], timeout_ms=1),
    "topic deletion": request("DeleteTopics", 6, topics=[DeleteTopicState(name="nosuch")], timeout_ms=1),
    "topic config": config_of(2, "t"),
    "broker config": config_of(4, "99"),
    "group config": config_of(32, "g"),
    "describe": request("DescribeConfigs", 1, resources=[DescribeConfigsResource(resource_type=2, resource_name="?")]),
    "heartbeat": request("Heartbeat", 3, group_id="g", generation_id=1, member_id="m"),
    "sync": request("SyncGroup", 3, group_id="g", generation_id=1, member_id="m"),
    "join": request("JoinGroup", 3, group_id="", session_timeout_ms=10_000, protocol_type="c", member_id=""),
    "commit": request(
        "OffsetCommit",
        7,
        group_id="g",
        generation_id_or_member_epoch=3,
        member_id="m",
        topics=[OffsetCommitRequestTopic(name="t", partitions=[(0, 5, -1, -1, "")])],
    ),
    "fetch": request(
        "Fetch",
        11,
        session_epoch=-1,
        topics=[FetchTopic(topic="t", partitions=[row(99)])],
    ),
    "reassignment": request("AlterPartitionReassignments", 1, timeout_ms=0, topics=[ReassignableTopic(name="t")] * 20),
    "unknown API": framed(b"\0\x99\0\1\0\0\0\1\0\0"),
    "malformed body": framed(b"\0\0\0\7\0\0\0\1\0\0" + b"\xff" * 50),
    "malformed header": framed(b"\0\0\0\7\0\0\0\1\7\0" + b"\xff" * 50),
    "too large": b"\x7f\xff\xff\xff",
    "TLS": b"\x16\x03\x01\x02\0" + b"\1" * 50,
}


def send_and_close(lab: SimEngine, data: bytes) -> None:
    client: Client = lab.client()
    client.socket.send(data)
    client.socket.take()
    client.socket.close()


@pytest.fixture
def lab() -> SimEngine:
    """A broker with a topic."""
    lab = SimEngine()
    lab.cluster.topics.create("t", 1, 1)
    return lab


@pytest.mark.parametrize("long_list_bytes", [LONG_LIST_BYTES, 8], ids=["at once", "in steps"])
@pytest.mark.parametrize("authorizer", [{}, AUTHORIZER], ids=["without rights", "with an authorizer"])
@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_refused_leaves_nothing(kind: str, authorizer: dict[str, Any], long_list_bytes: int) -> None:
    """Whatever is wrong with a request: neither its frame nor its connection waits for the collector."""
    lab = SimEngine(authorizer)
    lab.cluster.topics.create("t", 1, 1)
    lab.engine.long_list_bytes = lab.engine.at_once_bytes = long_list_bytes
    send_and_close(lab, REFUSED[kind])
    with collector_off() as found:
        for _ in range(10):
            send_and_close(lab, REFUSED[kind])
    assert found == {}
    assert lab.engine.errors == []


def parked_fetch(lab: SimEngine) -> None:
    """A long poll that is answered by time, and one whose client leaves."""
    topics = [FetchTopic(topic="t", partitions=[row(0)])]
    wanted = request("Fetch", 11, session_epoch=-1, min_bytes=1, max_wait_ms=500, topics=topics)
    patient, hasty = lab.client(), lab.client()
    for client in (patient, hasty):
        client.socket.send(wanted)
    hasty.socket.close()
    lab.network.advance(500)
    assert patient.socket.take()
    patient.socket.close()


def group_life(lab: SimEngine) -> None:
    """Members that join, commit, leave, or whose session ends."""
    client = lab.client()
    joined = client.join()
    client.ask("SyncGroup", 3, group_id="g", generation_id=joined.generation_id, member_id=joined.member_id)
    client.socket.send(request("LeaveGroup", 1, group_id="g", member_id=joined.member_id))
    client.socket.take()
    client.ask("JoinGroup", 5, **{**JOIN, "group_id": "g"})
    lab.network.advance(60_000)
    client.ask("DeleteGroups", 1, groups_names=["g"])
    client.socket.close()


def topic_life(lab: SimEngine) -> None:
    """A topic that is made, written, read and deleted."""
    client = lab.client()
    client.ask("CreateTopics", 5, topics=[CreatableTopic(name="x", num_partitions=2, replication_factor=1)])
    client.socket.send(produce(BATCH, topic="x"))
    client.socket.take()
    topics = [FetchTopic(topic="x", partitions=[row(0)])]
    client.ask("Fetch", 11, session_epoch=-1, max_wait_ms=0, topics=topics)
    client.ask("Fetch", 11, session_epoch=-1, max_wait_ms=9, min_bytes=1, topics=[*topics, *topics])
    client.ask("DeleteTopics", 6, topics=[DeleteTopicState(name="x")])
    only = [CreatableTopic(name="x", num_partitions=2, replication_factor=1)]
    client.ask("CreateTopics", 5, topics=only, validate_only=True)
    client.socket.close()


@pytest.mark.parametrize("life", [parked_fetch, group_life, topic_life])
def test_what_ends_leaves_nothing(lab: SimEngine, life: Callable[[SimEngine], Any]) -> None:
    """Long polls, members and topics are gone when they are over."""
    life(lab)
    with collector_off() as found:
        for _ in range(3):
            life(lab)
    assert found == {}


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("data", [produce(b"\0" * 100_000), produce(BATCH * 900), produce(BATCH, acks=0)])
def test_ten_thousand_connections(lab: SimEngine, data: bytes) -> None:
    """Connect, produce, close: memory is flat though nothing is ever collected."""
    for _ in range(500):
        send_and_close(lab, data)
    before = rss_bytes()
    with collector_off() as found:
        for _ in range(10_000):
            send_and_close(lab, data)
        grown = rss_bytes() - before
    assert found == {}
    assert grown < 8 * 2**20


def test_an_idle_connection_does_not_keep_its_last_request(lab: SimEngine) -> None:
    """Nor does one that was parked."""
    client = lab.client()
    data = produce(b"\0" * 1_000_000)
    client.socket.send(data)
    parked_fetch(lab)
    gc.collect()
    held = [each for each in gc.get_referents(client.socket.connection.__dict__) if isinstance(each, bytes)]
    assert all(len(each) < 100 for each in held)
    assert max(map(len, (entry for entry in vars(client.socket.connection).values() if isinstance(entry, bytes)))) < 100

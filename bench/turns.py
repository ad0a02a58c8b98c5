"""How long one request may hold up the others: the longest single turn of each large request, in this process.

    python -m bench.turns [--only TEXT] [--rounds 3]

A turn is what the engine does between two looks at the other clients: the bytes of one read from the socket, or one
step of long work. Python's collector, which looks at all there is when much was made, has a column of its own. For each
case the smallest of several runs counts: the machine may be busy, the work is the same.
"""

import argparse
import gc
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.wire.messages.create_topics import CreatableTopic
from fakebroker.protocol.wire.messages.delete_topics import DeleteTopicState
from fakebroker.protocol.wire.messages.describe_configs import DescribeConfigsResource
from fakebroker.protocol.wire.messages.list_offsets import ListOffsetsTopic
from fakebroker.protocol.wire.messages.metadata import MetadataRequestTopic
from fakebroker.protocol.wire.messages.offset_commit import OffsetCommitRequestTopic
from fakebroker.protocol.wire.messages.produce import PartitionProduceData, TopicProduceData
from tests.support.engine import SimEngine
from tests.support.frames import request

READ_BYTES = 256 << 10  # what asyncio reads from a socket at once
NOW_MS = 1_700_000_000_000


class Turns(NamedTuple):
    """What one large request took."""

    longest_ms: float
    longest: str  # which kind of turn that was
    reads: int
    steps: int
    total_ms: float
    longest_collection_ms: float
    answer: Any


class _Watch:
    def __init__(self) -> None:
        self.longest_s = self.total_s = 0.0
        self.longest = ""
        self.longest_collection_s = 0.0
        self._collections_s = self._collection_began = 0.0

    def turn(self, name: str, action: Callable[[], object]) -> None:
        """Time one turn, without what the collector took of it."""
        self._collections_s = 0.0
        began = time.perf_counter()
        action()
        took = time.perf_counter() - began - self._collections_s
        self.total_s += took
        if took > self.longest_s:
            self.longest_s, self.longest = took, name

    def on_collection(self, phase: str, _info: object) -> None:
        """As `gc.callbacks` are called."""
        if phase == "start":
            self._collection_began = time.perf_counter()
            return
        took = time.perf_counter() - self._collection_began
        self._collections_s += took
        self.longest_collection_s = max(self.longest_collection_s, took)


def ask(lab: SimEngine, frame: bytes) -> Turns:
    """Send one request as a socket would bring it, and take the steps one by one. The answer comes undecoded."""
    engine, socket, watch = lab.engine, lab.client().socket, _Watch()
    lab.network.flush()
    connection, steps = socket.connection, 0
    pieces = [frame[at : at + READ_BYTES] for at in range(0, len(frame), READ_BYTES)]
    gc.callbacks.append(watch.on_collection)
    for number, piece in enumerate(pieces):
        watch.turn(f"read {number + 1} of {len(pieces)}", partial(connection.receive, piece, lab.network.now))
    while engine.works or connection.wants_turn:
        if connection.wants_turn:
            watch.turn("resume", lambda: connection.resume(lab.network.now))
        else:
            steps += 1
            watch.turn(f"step {steps}", lambda: engine.step(lab.network.now))
    gc.callbacks.remove(watch.on_collection)
    lab.network.flush()
    assert not lab.engine.errors, lab.engine.errors
    return Turns(
        watch.longest_s * 1000,
        watch.longest,
        len(pieces),
        steps,
        watch.total_s * 1000,
        watch.longest_collection_s * 1000,
        socket.take(),
    )


class Case(NamedTuple):
    """One large request: `prepare` makes a broker and the frame that is sent to it."""

    name: str
    prepare: Callable[[], tuple[SimEngine, bytes]]


def _produce(*batches: bytes) -> bytes:
    data = [PartitionProduceData(index=index, records=batch) for index, batch in enumerate(batches)]
    return request("Produce", 9, acks=-1, topic_data=[TopicProduceData(name="t", partition_data=data)])


def _zeros(codec: int, size_bytes: int) -> bytes:
    return build_batch([Record(0, NOW_MS, b"k", bytes(size_bytes))], codec=codec)


def _lab(topics: int = 0, prefix: str = "topic", **settings: Any) -> SimEngine:
    lab = SimEngine({name.replace("_", "."): value for name, value in settings.items()})
    for number in range(topics):
        lab.cluster.topics.create(f"{prefix}-{number}", 1)
    return lab


def bombs(codec: int, size_bytes: int, count: int) -> tuple[SimEngine, bytes]:
    """Batches of zeros, in one request."""
    lab = _lab(message_max_bytes=200 << 20)
    lab.cluster.topics.create("t", count)
    return lab, _produce(*[_zeros(codec, size_bytes)] * count)


def large_batch(codec: int, record_bytes: int) -> tuple[SimEngine, bytes]:
    """A frame of some 96 MiB, in one batch."""
    import random

    lab = _lab(message_max_bytes=200 << 20)
    lab.cluster.topics.create("t", 1)
    value = random.Random(1).randbytes(record_bytes)
    count = (94 << 20) // (record_bytes + 10) or 1
    records = [Record(n, NOW_MS, b"k", value) for n in range(count)]
    return lab, _produce(build_batch(records, codec=codec))


def raw_snappy(size_bytes: int) -> tuple[SimEngine, bytes]:
    """One block of snappy without frame, which cannot be unpacked in parts."""
    from cramjam import snappy

    from fakebroker.protocol.records.batch import crc32c
    from fakebroker.protocol.records.batch_format import HEADER_BYTES

    lab = _lab(message_max_bytes=200 << 20)
    lab.cluster.topics.create("t", 1)
    plain = build_batch([Record(0, NOW_MS, b"k", bytes(size_bytes))])
    body = bytes(snappy.compress_raw(plain[HEADER_BYTES:]))
    head = bytearray(plain[:HEADER_BYTES])
    head[8:12] = (HEADER_BYTES - 12 + len(body)).to_bytes(4, "big")
    head[22] |= 2
    tail = bytes(head[21:]) + body
    return lab, _produce(bytes(head[:17]) + crc32c(tail).to_bytes(4, "big") + tail)


def metadata(topics: int) -> tuple[SimEngine, bytes]:
    """All topics."""
    return _lab(topics), request("Metadata", 12, topics=None)


def auto_create(topics: int) -> tuple[SimEngine, bytes]:
    """Topics that are made because they are asked for."""
    asked = [MetadataRequestTopic(name=f"topic-{n}") for n in range(topics)]
    return _lab(auto_create_topics_enable=True), request("Metadata", 12, topics=asked, allow_auto_topic_creation=True)


def create(topics: int, **fields: Any) -> tuple[SimEngine, bytes]:
    """So many topics of one partition."""
    asked = [CreatableTopic(name=f"topic-{n}", num_partitions=1, replication_factor=1, **fields) for n in range(topics)]
    return _lab(), request("CreateTopics", 7, topics=asked)


def committed(groups: int) -> SimEngine:
    """A topic, and groups with an offset of it."""
    lab = _lab()
    lab.cluster.topics.create("t", 1)
    committer = lab.client()
    topics = [OffsetCommitRequestTopic(name="t", partitions=[(0, 1, -1, -1, None)])]
    for number in range(groups):
        frame = request("OffsetCommit", 7, group_id=f"g{number}", generation_id_or_member_epoch=-1, topics=topics)
        committer.socket.send(frame)
        committer.socket.take()
    return lab


def delete(groups: int) -> tuple[SimEngine, bytes]:
    """The topic that all groups have an offset of."""
    return committed(groups), request("DeleteTopics", 6, topics=[DeleteTopicState(name="t")])


def of_groups(name: str, version: int, count: int, **fields: Any) -> tuple[SimEngine, bytes]:
    """A request to a broker with so many groups."""
    return committed(count), request(name, version, **fields)


def describe_configs(topics: int) -> tuple[SimEngine, bytes]:
    """All configs of so many topics, with synonyms."""
    asked = [DescribeConfigsResource(resource_type=2, resource_name=f"topic-{n}") for n in range(topics)]
    return _lab(topics), request("DescribeConfigs", 4, resources=asked, include_synonyms=True)


def list_offsets(partitions: int) -> tuple[SimEngine, bytes]:
    """The ends of so many partitions."""
    lab = _lab()
    lab.cluster.topics.create("t", 9_999)
    rows = [(n % 9_999, -1, -1, 1) for n in range(partitions)]
    return lab, request("ListOffsets", 7, topics=[ListOffsetsTopic(name="t", partitions=rows)])


def offset_commit(partitions: int) -> tuple[SimEngine, bytes]:
    """So many offsets of one group."""
    lab = _lab()
    for number in range(partitions // 9_999 + 1):
        lab.cluster.topics.create(f"t{number}", 9_999)
    topics = [
        OffsetCommitRequestTopic(name=f"t{number}", partitions=[(n, 1, -1, -1, None) for n in range(9_999)])
        for number in range(partitions // 9_999)
    ]
    return lab, request("OffsetCommit", 7, group_id="g", generation_id_or_member_epoch=-1, topics=topics)


IDS = [f"g{number}" for number in range(20_000)]
MIB = 1 << 20
CASES = [
    Case("50 zstd batches of 120 MiB", lambda: bombs(4, 120 * MIB, 50)),
    *(
        Case(f"1 batch of 120 MiB, {name}", lambda codec=codec: bombs(codec, 120 * MIB, 1))  # type: ignore[misc]
        for codec, name in enumerate(("", "gzip", "snappy", "lz4", "zstd"))
        if codec
    ),
    Case("raw snappy of 96 MiB", lambda: raw_snappy(96 * MIB)),
    Case("a frame of 96 MiB, one record of 96 MiB", lambda: large_batch(0, 96 * MIB - 100)),
    Case("a frame of 96 MiB, records of 1 KiB", lambda: large_batch(0, 1024)),
    Case("a frame of 96 MiB, records of 110 bytes", lambda: large_batch(0, 110)),
    Case("a frame of 96 MiB, snappy", lambda: large_batch(2, 1 << 20)),
    Case("a frame of 96 MiB, zstd", lambda: large_batch(4, 96 * MIB - 100)),
    Case("Metadata of 100,000 topics", lambda: metadata(100_000)),
    Case("Metadata that creates 20,000 topics", lambda: auto_create(20_000)),
    Case("DeleteTopics, offsets in 200,000 groups", lambda: delete(200_000)),
    Case("CreateTopics of 5,000", lambda: create(5_000)),
    Case("CreateTopics of 20,000, refused", lambda: create(20_000)),
    Case("CreateTopics of 200,000, refused", lambda: create(200_000)),
    Case("DescribeGroups of 20,000", lambda: of_groups("DescribeGroups", 5, 20_000, groups=IDS)),
    Case("ListGroups of 100,000", lambda: of_groups("ListGroups", 4, 100_000)),
    Case("OffsetCommit of 20,000 partitions", lambda: offset_commit(20_000)),
    Case("ListOffsets of 20,000 partitions", lambda: list_offsets(20_000)),
    Case("DescribeConfigs of 5,000 topics", lambda: describe_configs(5_000)),
    Case("DescribeLogDirs of 100,000 topics", lambda: (_lab(100_000), request("DescribeLogDirs", 4, topics=None))),
]


def measured(case: Case, rounds: int) -> Turns:
    """The run whose longest turn was the shortest."""
    return min((ask(*case.prepare()) for _ in range(rounds)), key=lambda turns: turns.longest_ms)


def report(cases: list[Case], rounds: int) -> Iterator[str]:
    """A table's rows."""
    for case in cases:
        turns = measured(case, rounds)
        yield (
            f"| {case.name} | {turns.longest_ms:,.0f} ms ({turns.longest}) | {turns.reads:,} | {turns.steps:,} "
            f"| {turns.total_ms:,.0f} ms | {turns.longest_collection_ms:,.0f} ms |"
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help="only the cases whose name contains this text")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print("| case | longest turn | reads | steps | all of it | longest collection |\n|---|---|---|---|---|---|")
    for row in report([case for case in CASES if options.only.lower() in case.name.lower()], options.rounds):
        print(row, flush=True)


if __name__ == "__main__":
    main()

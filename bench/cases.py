"""What is measured over sockets: each case prepares a target and says which requests are then sent as load."""

import socket
from collections.abc import Callable
from typing import NamedTuple

from bench import requests as r
from bench.driver import Address, ask, connect
from fakebroker.protocol.errors import FakebrokerError

GROUP, TOPIC = "bench", "bench"
REQUESTS = 1_024  # that differ, before they come again
DISTINCT_BYTES = 8 << 20  # of batches that differ
MOCK_LOG_BYTES = 4 << 20  # of 5 MB that it keeps of a partition

# A log that is bounded as the mock's, so that memory is used again: a page of new memory costs more than its bytes.
AS_THE_MOCK = tuple(
    word
    for setting in (
        "log.retention.bytes=5242880",
        "log.segment.bytes=2097152",
        "log.retention.check.interval.ms=20",
        "log.initial.task.delay.ms=0",
    )
    for word in ("--config", setting)
)


class Case(NamedTuple):
    """One line of the report: the load, and the goal as a ratio to librdkafka's mock (None: reported only).

    `prepare` makes what the requests need, and returns them: connections send them in turn, each from another place on.
    `config` are settings of our broker.
    """

    name: str
    connections: int
    depth: int
    goal: float | None
    prepare: Callable[[Address], list[bytes]]
    against_mock: bool = True
    config: tuple[str, ...] = ()


def create_topics(address: Address, topics: dict[str, int]) -> None:
    """CreateTopics, or, for librdkafka's mock which has none, Metadata: that makes topics of four partitions."""
    try:
        with connect(address) as sock:
            ask(sock, r.create(topics), r.CREATE_TOPICS)
    except (OSError, FakebrokerError):
        with connect(address) as sock:
            ask(sock, r.ask_for(list(topics)), r.METADATA)


def join_alone(sock: socket.socket) -> tuple[int, str]:
    """Become the only member of the group: its generation and member id."""
    joined = ask(sock, r.join(GROUP, ""), r.JOIN)
    if joined.error_code:  # the mock hands out an id first, in every version
        joined = ask(sock, r.join(GROUP, joined.member_id), r.JOIN)
    assert joined.error_code == 0, joined
    synced = ask(sock, r.sync(GROUP, joined.generation_id, joined.member_id, [joined.member_id]), r.SYNC)
    assert synced.error_code == 0, synced
    return joined.generation_id, joined.member_id


def heartbeat(address: Address) -> list[bytes]:
    """Of one member."""
    with connect(address) as sock:
        beat = r.heartbeat(GROUP, *join_alone(sock))
    return [r.frame(beat, r.HEARTBEAT, number) for number in range(REQUESTS)]


def commit(topics: int, partitions: int) -> Callable[[Address], list[bytes]]:
    """Of one member that goes on in each partition."""

    def prepare(address: Address) -> list[bytes]:
        names = [f"{TOPIC}-{n}" for n in range(topics)]
        create_topics(address, dict.fromkeys(names, partitions))
        with connect(address) as sock:
            generation, member = join_alone(sock)
        return [
            r.frame(r.commit(GROUP, names, partitions, generation, member, offset=7 + 3 * number), r.COMMIT, number)
            for number in range(REQUESTS)
        ]

    return prepare


def fetch_all_offsets(address: Address) -> list[bytes]:
    """Of a group with 1,000."""
    create_topics(address, {TOPIC: 1000})
    with connect(address) as sock:
        ask(sock, r.commit("all", [TOPIC], 1000), r.COMMIT)
    return [r.frame(r.all_offsets("all"), r.OFFSET_FETCH, number) for number in range(REQUESTS)]


def alike(total_bytes: int, records: int) -> Callable[[int], bytes]:
    """Batches of one size, whose records are of one size; their times go on."""
    return lambda number: r.batch(total_bytes, records, r.FIRST_MS + number * records)


def unlike(total_bytes: int, records: int) -> Callable[[int], bytes]:
    """Batches of about a size, whose records differ in size, key and time."""
    return lambda number: r.unlike_batch(total_bytes, records, number)


def produce(batch: Callable[[int], bytes]) -> Callable[[Address], list[bytes]]:
    """Of one batch each, to one partition."""

    def prepare(address: Address) -> list[bytes]:
        create_topics(address, {TOPIC: 4})
        count = min(REQUESTS, DISTINCT_BYTES // len(batch(0)))
        return [r.frame(r.produce(TOPIC, batch(number)), r.PRODUCE, number) for number in range(count)]

    return prepare


def fetch(total_bytes: int, records: int) -> Callable[[Address], list[bytes]]:
    """Of one batch after the other of a log, which is small enough for the mock to keep."""

    def prepare(address: Address) -> list[bytes]:
        create_topics(address, {TOPIC: 4})
        batch = alike(total_bytes, records)
        count = min(64, MOCK_LOG_BYTES // len(batch(0)))
        with connect(address) as sock:
            for number in range(count):
                ask(sock, r.produce(TOPIC, batch(number)), r.PRODUCE)
        limit_bytes = len(batch(0))  # more would cut off a piece of the next, which the last does not have
        return [
            r.frame(r.fetch(TOPIC, limit_bytes, number % count * records), r.FETCH, number)
            for number in range(count * (REQUESTS // count))
        ]

    return prepare


KIB_1, KIB_16, MIB_1 = (1024, 1), (16_384, 16), (1 << 20, 1000)
CASES = [
    Case("Heartbeat, pipelined", 8, 200, 2.0, heartbeat),
    Case("Heartbeat, closed loop", 64, 1, 0.75, heartbeat),
    Case("OffsetCommit of 1 partition, pipelined", 8, 200, 1.3, commit(1, 1)),
    Case("OffsetCommit of 100 partitions (25 topics x 4), pipelined", 8, 20, 1.4, commit(25, 4)),
    Case("OffsetFetch of all of 1,000 partitions", 8, 8, None, fetch_all_offsets, against_mock=False),
    Case("Produce 1 KiB (1 record), pipelined", 4, 16, None, produce(alike(*KIB_1))),
    Case("Produce 1 KiB (1 record), bounded log", 4, 16, None, produce(alike(*KIB_1)), config=AS_THE_MOCK),
    Case("Produce 16 KiB (16 records alike), pipelined", 4, 16, None, produce(alike(*KIB_16))),
    Case("Produce 16 KiB (16 records unlike), pipelined", 4, 16, None, produce(unlike(*KIB_16))),
    Case("Produce 16 KiB (16 records alike), bounded log", 4, 16, 0.4, produce(alike(*KIB_16)), config=AS_THE_MOCK),
    Case("Produce 16 KiB (16 records unlike), bounded log", 4, 16, 0.4, produce(unlike(*KIB_16)), config=AS_THE_MOCK),
    Case("Produce 1 MiB (1,000 records alike), pipelined", 4, 3, None, produce(alike(*MIB_1))),
    Case("Produce 1 MiB (1,000 records unlike), pipelined", 4, 3, None, produce(unlike(*MIB_1))),
    Case("Fetch 1 KiB, pipelined", 4, 16, None, fetch(*KIB_1)),
    Case("Fetch 16 KiB, pipelined", 4, 16, 1.3, fetch(*KIB_16)),
    Case("Fetch 1 MiB, pipelined", 4, 3, 0.7, fetch(*MIB_1)),
]

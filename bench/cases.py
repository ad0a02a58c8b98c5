"""What is measured over sockets: each case prepares a target and says which request is then sent as load."""

import socket
from collections.abc import Callable
from typing import NamedTuple

from bench import requests as r
from bench.driver import Address, ask, connect, read_frame
from fakebroker.errors import FakebrokerError

GROUP, TOPIC = "bench", "bench"


class Case(NamedTuple):
    """One line of the report: the load, and the goal as a ratio to librdkafka's mock (None: reported only)."""

    name: str
    connections: int
    depth: int
    goal: float | None
    prepare: Callable[[Address], bytes]
    against_mock: bool = True


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


def heartbeat(address: Address) -> bytes:
    with connect(address) as sock:
        return r.frame(r.heartbeat(GROUP, *join_alone(sock)), r.HEARTBEAT)


def commit(topics: int, partitions: int) -> Callable[[Address], bytes]:
    def prepare(address: Address) -> bytes:
        names = [f"{TOPIC}-{n}" for n in range(topics)]
        create_topics(address, dict.fromkeys(names, partitions))
        with connect(address) as sock:
            return r.frame(r.commit(GROUP, names, partitions, *join_alone(sock)), r.COMMIT)

    return prepare


def fetch_all_offsets(address: Address) -> bytes:
    create_topics(address, {TOPIC: 1000})
    with connect(address) as sock:
        ask(sock, r.commit("all", [TOPIC], 1000), r.COMMIT)
    return r.frame(r.all_offsets("all"), r.OFFSET_FETCH)


def produce(total_bytes: int, records: int) -> Callable[[Address], bytes]:
    def prepare(address: Address) -> bytes:
        create_topics(address, {TOPIC: 4})
        return r.frame(r.produce(TOPIC, r.batch(total_bytes, records)), r.PRODUCE)

    return prepare


def fetch(total_bytes: int, records: int) -> Callable[[Address], bytes]:
    def prepare(address: Address) -> bytes:
        request = produce(total_bytes, records)(address)
        with connect(address) as sock:
            for _ in range(2):
                sock.sendall(request)
                read_frame(sock)
        return r.frame(r.fetch(TOPIC, total_bytes + total_bytes // 10), r.FETCH)

    return prepare


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
]

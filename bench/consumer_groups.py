"""Consumer groups (KIP-848) next to classic ones and to a Kafka: heartbeats, and a thousand members that come at once.

    python -m bench.consumer_groups [--kafka HOST:PORT]

The brokers take turns. A member that was assigned something heartbeats again at once, as clients do, and one that was
not after `PAUSE_S`; real clients wait for seconds, which would only measure the waiting.
"""

import argparse
import heapq
import itertools
import selectors
import time
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from bench import requests as r
from bench.cases import GROUP, REQUESTS, TOPIC, create_topics, heartbeat
from bench.driver import Address, ask, connect, load, median_and_spread
from bench.rows import line, section
from bench.targets import Elsewhere, Target, fakebroker
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.frame import decode_response
from fakebroker.protocol.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from fakebroker.protocol.wire.messages.find_coordinator import FindCoordinatorRequest

MEMBERS = 1_000
PAUSE_S = 0.25
FIND_COORDINATOR = 3
NOT_YET = {
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
}


def await_coordinator(address: Address, group: str) -> None:
    """Until the group's coordinator answers: the first question makes the internal topic."""
    with connect(address) as sock:
        while ask(sock, FindCoordinatorRequest(key=group, key_type=0), FIND_COORDINATOR).error_code:
            time.sleep(0.05)
        while ask(sock, r.all_offsets(group), r.OFFSET_FETCH).error_code in NOT_YET:
            time.sleep(0.05)


def classic_heartbeats(address: Address) -> list[bytes]:
    """Of one member of a classic group."""
    await_coordinator(address, GROUP)
    return heartbeat(address)


def steady_heartbeats(address: Address) -> list[bytes]:
    """Of one member of a consumer group that has its partitions and nothing to tell."""
    group, member = f"{GROUP}-consumer", uuid.uuid4().hex
    topic = f"{TOPIC}-consumer"
    create_topics(address, {topic: 4})
    await_coordinator(address, group)
    with connect(address) as sock:
        answer = ask(sock, r.consumer_join(group, member, [topic]), r.CONSUMER_HEARTBEAT)
        while not r.assigned(answer):  # a coordinator may hear of a new topic late
            assert answer.error_code == 0, answer
            time.sleep(0.05)
            answer = ask(sock, r.consumer_heartbeat(group, member, answer.member_epoch), r.CONSUMER_HEARTBEAT)
        heartbeat = r.consumer_heartbeat(group, member, answer.member_epoch, r.assigned(answer))
        answer = ask(sock, heartbeat, r.CONSUMER_HEARTBEAT)
        assert answer.error_code == 0, answer
    beat = r.consumer_heartbeat(group, member, answer.member_epoch)
    return [r.frame(beat, r.CONSUMER_HEARTBEAT, number) for number in range(REQUESTS)]


class Member:
    """One member of a consumer group on a connection of its own."""

    def __init__(self, address: Address, group: str, topic: str) -> None:
        self.sock = connect(address)
        self.group, self.topic, self.member_id = group, topic, uuid.uuid4().hex
        self.epoch = 0
        self.owned: dict[bytes, list[int]] = {}
        self._buffer = b""

    def join(self) -> None:
        """Send the first heartbeat."""
        self._send(r.consumer_join(self.group, self.member_id, [self.topic]))

    def beat(self) -> None:
        """Send one that has nothing to tell."""
        self._send(r.consumer_heartbeat(self.group, self.member_id, self.epoch))

    def receive(self) -> bool:
        """Take what has come; True if an answer is whole and changed nothing, so that the next heartbeat has time."""
        self._buffer += self.sock.recv(1 << 16)
        size = int.from_bytes(self._buffer[:4], "big")
        if len(self._buffer) < size + 4:
            return False
        answer: Any = decode_response(ConsumerGroupHeartbeatRequest.api_key, r.CONSUMER_HEARTBEAT, self._buffer[4:])[1]
        self._buffer = b""
        assert answer.error_code == 0, answer
        self.epoch = answer.member_epoch
        if answer.assignment is None:
            return True
        self.owned = r.assigned(answer)
        self._send(r.consumer_heartbeat(self.group, self.member_id, self.epoch, self.owned))
        return False

    def _send(self, request: ConsumerGroupHeartbeatRequest) -> None:
        self.sock.sendall(r.frame(request, r.CONSUMER_HEARTBEAT))


def ms_to_reconciled(address: Address, members: int = MEMBERS) -> float:
    """Milliseconds from the first join until each of so many members has its partition of the last target."""
    group = topic = f"bench-{uuid.uuid4().hex}"
    create_topics(address, {topic: members})
    await_coordinator(address, group)
    everyone = [Member(address, group, topic) for _ in range(members)]
    selector = selectors.DefaultSelector()
    for member in everyone:
        selector.register(member.sock, selectors.EVENT_READ, member)
    due: list[tuple[float, int, Member]] = []
    numbers = itertools.count()
    began = time.perf_counter()
    for member in everyone:
        member.join()
    while not _are_reconciled(everyone):
        for key, _ in selector.select(0.01):
            if key.data.receive():
                heapq.heappush(due, (time.perf_counter() + PAUSE_S, next(numbers), key.data))
        while due and due[0][0] <= time.perf_counter():
            heapq.heappop(due)[2].beat()
    elapsed_ms = (time.perf_counter() - began) * 1000
    for member in everyone:
        member.sock.close()
    return elapsed_ms


def _are_reconciled(everyone: list[Member]) -> bool:
    """Whether all are at one epoch, which the last join took the group to or a later one, with all partitions."""
    epoch = everyone[-1].epoch
    if epoch <= len(everyone) or any(each.epoch != epoch for each in everyone):
        return False
    return len(_partitions(everyone)) == len(everyone)


def _partitions(everyone: list[Member]) -> list[int]:
    return [number for each in everyone for numbers in each.owned.values() for number in numbers]


def brokers(kafka: str | None) -> Iterator[Target]:
    """Ours, and a Kafka if there is one."""
    yield fakebroker()
    if kafka:
        yield Elsewhere("Kafka", kafka)


def report(kafka: str | None, kafka_is: str, rounds: int, seconds: float) -> str:
    """The page's section: medians and spreads of rounds in turns, after a first that is not counted."""
    targets = list(brokers(kafka))
    rows = []
    try:
        for name, prepare in HEARTBEATS.items():
            requests = {target.name: prepare(target.address) for target in targets}
            for connections, depth in ((8, 200), (64, 1)):
                rows.append(
                    _row(
                        f"{name}, {connections} connections x {depth} in flight",
                        "/s",
                        targets,
                        rounds,
                        partial(_rate, requests, connections, depth, seconds),
                    )
                )
        name = f"{MEMBERS:,} members, from empty to reconciled"
        rows.append(_row(name, "ms", targets, rounds, lambda to: ms_to_reconciled(to.address)))
    finally:
        for target in targets:
            target.stop()
    head = ["what", "fakebroker", *([f"Kafka {kafka_is}", "ratio"] if kafka else [])]
    return section("Consumer groups (KIP-848), next to classic ones", head, rows)


HEARTBEATS: dict[str, Callable[[Address], list[bytes]]] = {
    "Heartbeat of a classic group": classic_heartbeats,
    "ConsumerGroupHeartbeat": steady_heartbeats,
}


def _rate(requests: dict[str, list[bytes]], connections: int, depth: int, seconds: float, target: Target) -> float:
    return load(target, requests[target.name], connections, depth, seconds).per_second


def _row(name: str, unit: str, targets: list[Target], rounds: int, measure: Callable[[Target], float]) -> str:
    values: dict[str, list[float]] = {target.name: [] for target in targets}
    for number in range(rounds + 1):
        for target in targets if number % 2 else reversed(targets):
            value = measure(target)
            if number:  # the first is to get warm
                values[target.name].append(value)
    cells, middles = [], []
    for each in values.values():
        middle, low, high = median_and_spread(each)
        middles.append(middle)
        cells.append(f"{middle:,.0f} {unit} ({low:,.0f} .. {high:,.0f})")
    if len(middles) > 1:
        ratio = middles[1] / middles[0] if unit == "ms" else middles[0] / middles[1]
        cells.append(f"{ratio:.2f}")
    return line([name, *cells])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kafka", help="HOST:PORT of a real Kafka to measure beside")
    parser.add_argument("--kafka-is", default="4.3.1")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.0)
    options = parser.parse_args()
    report(options.kafka, options.kafka_is, options.rounds, options.seconds)


if __name__ == "__main__":
    main()

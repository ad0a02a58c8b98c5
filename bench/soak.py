"""A soak: clients that come and go for a long time, and the broker's memory, descriptors and latencies meanwhile.

    python -m bench.soak --minutes 60

Producers and consumers of confluent-kafka with short lives, groups that form, commit, are left or deleted, topics made
and deleted, connections that say half a frame or nothing or something else; beside them one member whose heartbeats
are timed. A row per sample goes to the standard output; the end says whether memory was flat.
"""

import argparse
import os
import random
import socket
import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import confluent_kafka

from bench.targets import Target, fakebroker
from fakebroker.client.scripted.scripted_client import ScriptedClient, ScriptedClients
from fakebroker.client.scripted.tcp_driver import TcpDriver

TOPIC, PARTITIONS = "soak", 6
RETENTION = {"retention.bytes": "1000000", "segment.bytes": "1048576"}
# What a broker remembers rightly must not look like a leak: old producer ids go after a minute instead of a day, and
# the groups are so few that all of them are there after some minutes.
CONFIG = {
    "log.retention.check.interval.ms": "2000",
    "log.initial.task.delay.ms": "1000",
    "producer.id.expiration.ms": "60000",
}
GROUPS = 200
SAMPLE_S = 60.0
WARM_MINUTES = 4.0  # until what is bounded is full
FLAT_WITHIN = 0.10
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


class Soak:
    """One broker process, the clients' threads, and what they counted."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.bootstrap = f"{target.address[0]}:{target.address[1]}"
        self.stopping = threading.Event()
        self.counts: Counter[str] = Counter()
        self.latencies_ms: list[float] = []

    def client(self, client_id: str) -> ScriptedClient:
        """A scripted client with a connection of its own."""
        return ScriptedClients(TcpDriver(*self.target.address)).client(client_id)

    def run(self, minutes: float) -> list[tuple[float, float, int]]:
        """Let everybody work for so long; returns (minutes passed, resident MB, descriptors) of every sample."""
        self.create_topic(self.client("admin"), TOPIC, PARTITIONS, RETENTION)
        work = (self.produce, self.produce, *[self.consume] * 4, self.churn, self.join, self.join, self.administer)
        threads = [threading.Thread(target=self.again, args=(each,), daemon=True) for each in (*work, self.beat)]
        for thread in threads:
            thread.start()
        samples = self.sample(minutes * 60)
        self.stopping.set()
        for thread in threads:
            thread.join(60)
        return samples

    def again(self, work: Callable[[], None]) -> None:
        """Do it again and again. What a client meets is counted, and does not end the soak."""
        while not self.stopping.is_set():
            try:
                work()
            except Exception as error:
                self.counts[f"{work.__name__}: {type(error).__name__}"] += 1
                time.sleep(0.2)

    def sample(self, seconds: float) -> list[tuple[float, float, int]]:
        """Print a row for every minute that has passed."""
        began, samples = time.monotonic(), []
        print("| minute | resident MB | descriptors | CPU s | heartbeats | p50 ms | p99 ms | max ms |", flush=True)
        print("|---|---|---|---|---|---|---|---|", flush=True)
        while (passed := time.monotonic() - began) < seconds:
            time.sleep(max(0.0, min(SAMPLE_S, seconds - passed)))
            minute = (time.monotonic() - began) / 60
            samples.append((minute, self.target.rss_mb(), descriptors(self.target.pid)))
            print(self.row(*samples[-1]), flush=True)
        return samples

    def row(self, minute: float, resident: float, fds: int) -> str:
        """A sample with the latencies since the last one."""
        latencies, self.latencies_ms = sorted(self.latencies_ms), []
        if not latencies:
            return f"| {minute:.1f} | {resident:.1f} | {fds} | | 0 | | | |"
        p50, p99 = statistics.median(latencies), latencies[int(len(latencies) * 0.99)]
        quantiles = f"{p50:.2f} | {p99:.2f} | {latencies[-1]:.1f}"
        cpu_s = self.target.cpu_us() / 1e6
        return f"| {minute:.1f} | {resident:.1f} | {fds} | {cpu_s:.0f} | {len(latencies)} | {quantiles} |"

    # What the clients do, over and over

    def produce(self) -> None:
        """An idempotent producer of a random codec, alive for some seconds."""
        config = {"bootstrap.servers": self.bootstrap, "enable.idempotence": True, "linger.ms": 5, "log_level": 0}
        producer = confluent_kafka.Producer({**config, "compression.type": random.choice(CODECS)})
        until = time.monotonic() + random.uniform(5, 20)
        while time.monotonic() < until and not self.stopping.is_set():
            for _ in range(50):
                producer.produce(TOPIC, os.urandom(random.choice((10, 200, 2000))), str(random.randrange(50)))
            producer.poll(0)
            self.counts["records produced"] += 50
            time.sleep(0.1)
        producer.flush(10)

    def consume(self) -> None:
        """A consumer of one of two groups, alive for some seconds."""
        config: dict[str, Any] = {
            "bootstrap.servers": self.bootstrap,
            "group.id": random.choice(("first", "first", "second")),
            "auto.offset.reset": "earliest",
            "session.timeout.ms": 6000,
            "auto.commit.interval.ms": 500,
            "partition.assignment.strategy": "cooperative-sticky",
            "log_level": 0,
        }
        consumer = confluent_kafka.Consumer(config)
        consumer.subscribe([TOPIC])
        until = time.monotonic() + random.uniform(5, 25)
        while time.monotonic() < until and not self.stopping.is_set():
            self.counts["records consumed"] += sum(1 for each in consumer.consume(500, 0.3) if not each.error())
        consumer.close()
        self.counts["consumer lives"] += 1

    def churn(self) -> None:
        """A connection that ends in the middle of something."""
        with socket.create_connection(self.target.address, 10) as sock:
            sock.sendall(random.choice((b"", b"\0\0\1\0half a frame", b"GET / HTTP/1.1\r\n\r\n", os.urandom(40))))
        self.counts["broken connections"] += 1
        time.sleep(0.02)

    def join(self) -> None:
        """A group of its own: join, sync, commit twenty times, and mostly leave."""
        group_id = f"g-{random.randrange(GROUPS)}"
        client = self.client("member")
        try:
            client.join(group_id, [TOPIC], session_timeout_ms=6000)
            client.sync({client.member_id: {TOPIC: list(range(PARTITIONS))}})
            for number in range(20):
                client.commit({(TOPIC, partition): number for partition in range(PARTITIONS)})
            if random.random() < 0.6:
                client.leave()
            if random.random() < 0.4:
                client.request("DeleteGroups", 1, groups_names=[group_id])
        finally:
            client.close()
        self.counts["group lives"] += 1
        time.sleep(0.05)

    def administer(self) -> None:
        """A topic is made, described and deleted."""
        client, name = self.client("admin"), f"topic-{random.randrange(10**9)}"
        try:
            self.create_topic(client, name, 3, {})
            client.request("Metadata", 9, topics=None)
            client.request("DeleteTopics", 3, topic_names=[name], timeout_ms=1000)
        finally:
            client.close()
        self.counts["topics"] += 1
        time.sleep(0.2)

    def beat(self) -> None:
        """One member whose heartbeats are timed until the end."""
        client = self.client("healthy")
        client.join("healthy", [TOPIC], session_timeout_ms=30_000)
        client.sync({client.member_id: {}})
        while not self.stopping.is_set():
            began = time.perf_counter()
            code = client.heartbeat().error_code
            self.latencies_ms.append((time.perf_counter() - began) * 1000)
            self.counts[f"heartbeats answered {code}"] += 1
            time.sleep(0.02)

    @staticmethod
    def create_topic(client: ScriptedClient, name: str, partitions: int, config: dict[str, str]) -> None:
        """Create a topic, and see that it was."""
        from fakebroker.protocol.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig

        configs = [CreatableTopicConfig(name=key, value=value) for key, value in config.items()]
        topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, configs=configs)
        answer = client.request("CreateTopics", 4, topics=[topic], timeout_ms=1000)
        assert answer.topics[0].error_code == 0, answer


def descriptors(pid: int) -> int:
    """How many file descriptors a process has open."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def main() -> None:
    """Run the soak and say whether memory was flat: the last sample against that at a sixth of the time, or later."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    minutes = parser.parse_args().minutes
    if minutes <= WARM_MINUTES:
        parser.error(f"--minutes: more than {WARM_MINUTES:.0f}, after which memory is compared")
    target = fakebroker(*(option for name, value in CONFIG.items() for option in ("--config", f"{name}={value}")))
    try:
        soak = Soak(target)
        samples = soak.run(minutes)
        for what, count in sorted(soak.counts.items()):
            print(f"{what}: {count}")
        since, early = next(each[:2] for each in samples if each[0] >= max(minutes / 6, WARM_MINUTES))
        growth = samples[-1][1] / early - 1
        verdict = "flat" if abs(growth) <= FLAT_WITHIN else "NOT FLAT"
        print(f"resident memory: {early:.1f} MB at minute {since:.0f}, {samples[-1][1]:.1f} MB at the end: {verdict}")
    finally:
        target.stop()


if __name__ == "__main__":
    main()

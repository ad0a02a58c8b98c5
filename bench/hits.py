"""How many requests of real clients are answered by a layout (broker/engine/lanes.py): they are like an earlier one.

    python -m bench.hits [--only java]

Each client writes records of all sizes, reads them in a group and commits after each poll, and then stays a while for
its heartbeats. Java's takes part where java and the jars of `make setup-java` are.
"""

import argparse
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

from bench.clients import JARS
from bench.rows import line, section
from fakebroker import FakeBroker
from fakebroker.broker.engine import lanes
from fakebroker.broker.engine.connection import Connection

TOPIC = "hits"
RECORDS = 20_000
STAY_S = 10.0
FETCH_BYTES = 65_536  # so that there are some hundred fetches; those at the end, which wait, are answered by no layout
APIS = ("Produce", "Fetch", "OffsetCommit", "Heartbeat")
JAVA = Path(__file__).parent / "java" / "Hits.java"

Counts = Counter[tuple[str, int]]  # by API and version


@contextmanager
def counted() -> Iterator[tuple[Counts, Counts]]:
    """Count what is answered in this process meanwhile: all requests, and those that a layout served."""
    every, served = Counter[tuple[str, int]](), Counter[tuple[str, int]]()
    by_lane, by_handler = lanes.Lane.serve, Connection._serve

    def serve_by_lane(lane: lanes.Lane, connection: Connection, route: Any, *rest: Any) -> bool:
        done = by_lane(lane, connection, route, *rest)
        every[route.name, route.version] += done
        served[route.name, route.version] += done
        return done

    def serve_by_handler(connection: Connection, route: Any, *rest: Any) -> None:
        every[route.name, route.version] += 1
        by_handler(connection, route, *rest)

    lanes.Lane.serve, Connection._serve = serve_by_lane, serve_by_handler  # type: ignore[method-assign, assignment]
    try:
        yield every, served
    finally:
        lanes.Lane.serve, Connection._serve = by_lane, by_handler  # type: ignore[method-assign]


def value(chance: Random) -> bytes:
    """Of a record."""
    return bytes(500 + chance.randrange(700))


def confluent(bootstrap: str) -> None:
    """librdkafka."""
    import confluent_kafka

    chance = Random(1)
    producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, "linger.ms": 1})
    for number in range(RECORDS):
        producer.produce(TOPIC, value(chance))
        if number % 50 == 0:
            producer.flush(10)
    assert producer.flush(20) == 0
    config: dict[str, object] = {"group.id": "confluent", "auto.offset.reset": "earliest", "enable.auto.commit": False}
    config |= {"bootstrap.servers": bootstrap, "heartbeat.interval.ms": 50, "max.partition.fetch.bytes": FETCH_BYTES}
    consumer = confluent_kafka.Consumer(config)
    consumer.subscribe([TOPIC])
    read = 0
    while read < RECORDS:
        messages = consumer.consume(50, 10)
        assert messages, f"nothing came after {read} records"
        read += len(messages)
        consumer.commit(asynchronous=False)
    until = time.monotonic() + STAY_S
    while time.monotonic() < until:
        consumer.poll(0.1)
    consumer.close()


def kafka_python(bootstrap: str) -> None:
    """kafka-python."""
    import kafka

    chance = Random(1)
    producer = kafka.KafkaProducer(bootstrap_servers=bootstrap, linger_ms=1)
    for number in range(RECORDS):
        producer.send(TOPIC, value(chance))
        if number % 50 == 0:
            producer.flush(10)
    producer.close()
    consumer = kafka.KafkaConsumer(
        TOPIC,
        bootstrap_servers=bootstrap,
        group_id="kafka-python",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        heartbeat_interval_ms=50,
        max_partition_fetch_bytes=FETCH_BYTES,
    )
    read = 0
    while read < RECORDS:
        found = consumer.poll(10_000, max_records=50)
        assert found, f"nothing came after {read} records"
        read += sum(map(len, found.values()))
        consumer.commit()
    until = time.monotonic() + STAY_S
    while time.monotonic() < until:
        consumer.poll(100)
    consumer.close()


def java(bootstrap: str) -> None:
    """Kafka's own client."""
    command = ["java", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off", "-cp", f"{JARS}/*", str(JAVA)]
    arguments = [bootstrap, TOPIC, str(RECORDS), str(int(STAY_S * 1000)), str(FETCH_BYTES)]
    subprocess.run([*command, *arguments], check=True, timeout=300)


def clients() -> dict[str, Callable[[str], None]]:
    """Those that are here, by name."""
    found: dict[str, Callable[[str], None]] = {"confluent-kafka": confluent, "kafka-python": kafka_python}
    if shutil.which("java") and list(JARS.glob("kafka-clients-*.jar")):
        found["Java"] = java
    return found


def rows(only: str = "") -> list[str]:
    """A row for each client and API."""
    table = []
    for name, play in clients().items():
        if only.lower() not in name.lower():
            continue
        with counted() as (every, served), FakeBroker() as broker:
            broker.create_topic(TOPIC)
            play(broker.bootstrap)
        for (api, version), count in sorted(every.items()):
            if api in APIS:
                by_layout = served[api, version]
                table.append(
                    line([name, f"{api} v{version}", f"{count:,}", f"{by_layout:,}", f"{by_layout / count:.0%}"])
                )
    return table


def report(only: str = "") -> str:
    """The page's section."""
    header = ["client", "request", "sent", "answered by a layout", "share"]
    return section("Requests like the one before", header, rows(only))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help="only the clients whose name contains this text")
    print(report(parser.parse_args().only))

"""What users feel: real clients end to end, next to librdkafka's mock and, if one is named, a real Kafka.

make bench ARGS="--kafka 127.0.0.1:9092"
"""

import re
import shutil
import subprocess
import time
import uuid
from collections.abc import Callable
from functools import cache
from pathlib import Path

from bench.driver import median_and_spread
from bench.rows import line, section
from bench.targets import Target, fakebroker, rdkafka_mock
from bench.transactions import confluent_transactions, transactions

JARS = Path(__file__).resolve().parents[1] / ".java" / "lib"
VALUE = b"v" * 1024
LEAST_ROUNDS = 3
MAX_ROUNDS = 15
LONG_S = 10.0  # rounds of all brokers together; after these there are no more than LEAST_ROUNDS


def confluent_produce(bootstrap: str) -> float:
    """Messages per second of 30,000 of 1 KiB into one partition."""
    import confluent_kafka

    producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, "queue.buffering.max.messages": 100_000})
    topic = warm_topic(bootstrap)
    began = time.perf_counter()
    for _ in range(30_000):
        producer.produce(topic, VALUE, partition=0)
    assert producer.flush(60) == 0
    return 30_000 / (time.perf_counter() - began)


def confluent_consume(bootstrap: str) -> float:
    """Messages per second of 100,000 of 1 KiB from one partition, by a new consumer each time."""
    import confluent_kafka

    topic = filled_topic(bootstrap)
    consumer = confluent_kafka.Consumer({"bootstrap.servers": bootstrap, "group.id": uuid.uuid4().hex})
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    began, read = time.perf_counter(), 0
    while read < 100_000 and time.perf_counter() - began < 60:
        read += len(consumer.consume(1000, timeout=1))
    elapsed = time.perf_counter() - began
    consumer.close()
    return read / elapsed


@cache
def filled_topic(bootstrap: str) -> str:
    """A topic with 100,000 messages of 1 KiB in its partition, in batches of 900 so that all brokers send the same."""
    import confluent_kafka

    topic = warm_topic(bootstrap)
    config = {"linger.ms": 1000, "batch.num.messages": 900, "batch.size": 2_000_000, "message.max.bytes": 1_048_588}
    producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, **config})
    for _ in range(100_000):
        producer.produce(topic, VALUE, partition=0)
    assert producer.flush(60) == 0
    return topic


def first_message_ms(bootstrap: str) -> float:
    """Milliseconds from subscribing as the only member of a new group to the first message."""
    import confluent_kafka

    topic = warm_topic(bootstrap)
    producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap})
    producer.produce(topic, VALUE)
    producer.flush(10)
    config = {"bootstrap.servers": bootstrap, "group.id": uuid.uuid4().hex, "auto.offset.reset": "earliest"}
    consumer = confluent_kafka.Consumer(config)
    began = time.perf_counter()
    consumer.subscribe([topic])
    assert consumer.poll(20) is not None
    elapsed_ms = (time.perf_counter() - began) * 1000
    consumer.close()
    return elapsed_ms


def synchronous_commits(bootstrap: str) -> float:
    """Commits per second, one after the other."""
    import confluent_kafka

    topic = warm_topic(bootstrap)
    consumer = confluent_kafka.Consumer({"bootstrap.servers": bootstrap, "group.id": uuid.uuid4().hex})
    consumer.commit(offsets=[confluent_kafka.TopicPartition(topic, 0, 0)], asynchronous=False)
    began = time.perf_counter()
    for n in range(2_000):
        consumer.commit(offsets=[confluent_kafka.TopicPartition(topic, 0, n)], asynchronous=False)
    rate = 2_000 / (time.perf_counter() - began)
    consumer.close()
    return rate


def kafka_python_produce(bootstrap: str) -> float:
    """Messages per second of 10,000 of 1 KiB into one partition."""
    import kafka

    producer = kafka.KafkaProducer(bootstrap_servers=bootstrap)
    topic = warm_topic(bootstrap)
    began = time.perf_counter()
    for _ in range(10_000):
        producer.send(topic, VALUE, partition=0)
    producer.flush()
    rate = 10_000 / (time.perf_counter() - began)
    producer.close()
    return rate


def java_produce(bootstrap: str) -> float:
    """Records per second of ProducerPerformance: 100,000 of 1 KiB."""
    topic = warm_topic(bootstrap)
    arguments = ["--topic", topic, "--num-records", "100000", "--record-size", "1024", "--throughput", "-1"]
    printed = java("org.apache.kafka.tools.ProducerPerformance", *arguments, "--bootstrap-server", bootstrap)
    return float(re.findall(r"100000 records sent, ([\d.]+) records/sec", printed)[-1])


def java(*command: str) -> str:
    java_command = ["java", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off", "-cp", f"{JARS}/*", *command]
    return subprocess.run(java_command, capture_output=True, text=True, check=True, timeout=120).stdout


def warm_topic(bootstrap: str) -> str:
    """A new topic whose partition answers: made by asking for it."""
    import confluent_kafka

    topic = "bench-" + uuid.uuid4().hex
    producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap})
    producer.produce(topic, b"first", partition=0)
    assert producer.flush(30) == 0
    return topic


MEASURES: list[tuple[str, str, Callable[[str], float], bool]] = [
    ("confluent-kafka, produce", "msg/s", confluent_produce, True),
    ("confluent-kafka, consume", "msg/s", confluent_consume, False),  # the mock keeps 5 MB of a log
    ("confluent-kafka, subscribe to first message", "ms", first_message_ms, True),
    ("confluent-kafka, synchronous commits", "/s", synchronous_commits, True),
    ("confluent-kafka, transactions of 10 records", "/s", confluent_transactions, False),  # the mock does not end them
    ("8 bare producers, transactions of 10 records", "/s", transactions, False),
    ("kafka-python, produce", "msg/s", kafka_python_produce, False),  # cannot bootstrap from the mock
]


def report(kafka: str | None, kafka_is: str, before: Path | None) -> str:
    """The page's section, a row per measure: ours, ours of another day, the mock's, and Kafka's if there is one."""
    started = {"fakebroker": fakebroker(), "librdkafka's mock": rdkafka_mock()}
    if before:
        started["before"] = fakebroker(root=before)
    addresses = {name: address_of(target) for name, target in started.items()}
    if kafka:
        addresses[f"Kafka ({kafka_is})"] = kafka
    measures = list(MEASURES)
    if shutil.which("java") and list(JARS.glob("kafka-tools-*.jar")):
        measures.append(("Java ProducerPerformance", "records/s", java_produce, False))
    try:
        rows = [_row(addresses, *measure) for measure in measures]
    finally:
        for target in started.values():
            target.stop()
    return section("Real clients, 1 KiB records", ["what", *addresses], rows)


def _row(addresses: dict[str, str], name: str, unit: str, measure: Callable[[str], float], mock_can: bool) -> str:
    """Medians and spreads of rounds in which all take turns, each beginning as often as the others.

    The first round is not counted: a broker that was just started loads code in it.
    """
    able = {to: address for to, address in addresses.items() if mock_can or "mock" not in to}
    values: dict[str, list[float]] = {to: [] for to in able}
    for address in able.values():
        measure(address)
    began, names = time.perf_counter(), list(able)
    for number in range(MAX_ROUNDS):
        if number >= LEAST_ROUNDS and time.perf_counter() - began > LONG_S:
            break
        for to in names[number % len(names) :] + names[: number % len(names)]:
            values[to].append(measure(able[to]))
    return line([name, *(_cell(values[to], unit) if to in able else "-" for to in addresses)])


def _cell(values: list[float], unit: str) -> str:
    middle, low, high = median_and_spread(values)
    return f"{middle:,.0f} {unit} ({low:,.0f} .. {high:,.0f})"


def address_of(target: Target) -> str:
    return f"{target.address[0]}:{target.address[1]}"

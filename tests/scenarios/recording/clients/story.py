"""What is recorded of confluent-kafka: a topic, some records, a group of one and then two members, commits."""

import sys
import time
from collections.abc import Callable

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.support.librdkafka import close

TOPIC, GROUP = "orders-python", "billing-python"


def poll_until(consumers: list[Consumer], is_done: Callable[[], bool]) -> list[bytes]:
    """Poll all of them until something is so; the values that came."""
    values: list[bytes] = []
    deadline = time.monotonic() + 60
    while not is_done() or not all(consumer.assignment() for consumer in consumers):
        assert time.monotonic() < deadline, "the story takes too long"
        for consumer in consumers:
            message = consumer.poll(0.1)
            if message is not None and message.error() is None:
                values.append(message.value() or b"")
    return values


def main(bootstrap: str) -> None:
    """Live the story at `bootstrap`."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "client.id": "admin"})
    for future in admin.create_topics([NewTopic(TOPIC, 2, 1, config={"retention.ms": "-1"})]).values():
        future.result(30)
    producer = Producer({"bootstrap.servers": bootstrap, "client.id": "producer", "enable.idempotence": True})
    for number in range(6):
        producer.produce(TOPIC, f"order {number}", f"key {number}", number % 2, headers={"trace": b"secret"})
    producer.flush(30)

    def consumer(name: str) -> Consumer:
        made = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "client.id": name,
                "group.id": GROUP,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "heartbeat.interval.ms": 500,
            }
        )
        made.subscribe([TOPIC])
        return made

    first = consumer("consumer-1")
    seen: list[bytes] = []
    while len(seen) < 6:
        message = first.poll(0.5)
        if message is not None and message.error() is None:
            seen.append(message.value() or b"")
    first.commit(
        offsets=[TopicPartition(TOPIC, 0, 3, metadata="by hand"), TopicPartition(TOPIC, 1, 3)], asynchronous=False
    )
    second = consumer("consumer-2")
    poll_until([first, second], lambda: len(first.assignment()) == 1)
    producer.produce(TOPIC, "order 6", "key 6", 0)
    producer.flush(30)
    admin.describe_consumer_groups([GROUP])[GROUP].result(30)
    close(second)
    poll_until([first], lambda: len(first.assignment()) == 2)
    first.offsets_for_times([TopicPartition(TOPIC, 0, 0)], timeout=30)
    first.commit(offsets=[TopicPartition(TOPIC, 0, 4)], asynchronous=False)
    close(first)


if __name__ == "__main__":
    main(sys.argv[1])

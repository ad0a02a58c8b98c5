"""What is recorded of transactions: two that are committed, one aborted, records with acks 0, and who reads them."""

import sys
import time

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.support.librdkafka import close

TOPIC, GROUP = "orders-in-transactions", "billing-in-transactions"


def read(consumer: Consumer, count: int) -> None:
    """Poll until so many records came."""
    deadline = time.monotonic() + 60
    while count:
        assert time.monotonic() < deadline, "the story takes too long"
        message = consumer.poll(0.5)
        count -= message is not None and message.error() is None


def main(bootstrap: str) -> None:
    """Live the story at `bootstrap`."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "client.id": "admin"})
    for future in admin.create_topics([NewTopic(TOPIC, 1, 1)]).values():
        future.result(30)
    unsafe = Producer({"bootstrap.servers": bootstrap, "client.id": "metrics", "acks": 0, "compression.type": "lz4"})
    for number in range(3):
        unsafe.produce(TOPIC, f"metric {number}")
    unsafe.flush(30)
    producer = Producer({"bootstrap.servers": bootstrap, "client.id": "shop", "transactional.id": "shop"})
    producer.init_transactions(60)
    for number, end in enumerate((producer.commit_transaction, producer.abort_transaction)):
        producer.begin_transaction()
        producer.produce(TOPIC, f"order {number}", "key 0")
        producer.flush(30)
        end(60)
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "client.id": "reader",
            "group.id": GROUP,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
        }
    )
    consumer.subscribe([TOPIC])
    read(consumer, 4)
    producer.begin_transaction()
    producer.produce(TOPIC, "order 2", "key 0")
    producer.send_offsets_to_transaction([TopicPartition(TOPIC, 0, 4)], consumer.consumer_group_metadata(), 60)
    producer.commit_transaction(60)
    read(consumer, 1)
    close(consumer)
    for future in admin.delete_topics([TOPIC]).values():
        future.result(30)


if __name__ == "__main__":
    main(sys.argv[1])

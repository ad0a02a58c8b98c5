"""offsets_for_times of real clients on random logs: what a linear scan over the log gives (KIP-79, LO-11)."""

import random

import pytest

from tests.clients.brokers import Broker
from tests.clients.every_library import every_library
from tests.clients.group_of_topic import broker, library
from tests.clients.story import WALL_START_MS, Adapter, Sent
from tests.support.real_kafka import start_kafka

__all__ = ["broker", "library", "start_kafka"]

PARTITIONS = 3
SPAN_MS = 2_000
DELETED = 60  # records of partition 1
pytestmark = [pytest.mark.clients, pytest.mark.timeout(300), pytest.mark.filterwarnings("ignore")]


def random_records(chance: random.Random, count: int) -> list[Sent]:
    """Records whose times go up and down, some far off, many equal."""
    times = [n + chance.choice([0, 0, 0, -300, 300, -1500]) for n in range(0, SPAN_MS, SPAN_MS // count)]
    return [
        Sent(chance.randrange(PARTITIONS), b"k", b"%d" % n, (), WALL_START_MS + time - time % 5)
        for n, time in enumerate(times)
    ]


@pytest.mark.rules("LO-11", "LO-13", "LO-15")
@pytest.mark.behaviour("Offsets by time")
@every_library
def test_the_answer_is_that_of_a_linear_scan(broker: Broker, library: Adapter) -> None:
    """Several batches, codecs and segments, times out of order, the start of the log moved into a batch."""
    chance = random.Random(79)
    topic = broker.new_topic(PARTITIONS, segment_ms=700)
    logs: dict[int, list[Sent]] = {partition: [] for partition in range(PARTITIONS)}
    for codec in library.codecs:
        records = random_records(chance, 200)
        library.produce(broker.bootstrap, topic, records, codec)
        for record in records:
            logs[record.partition].append(record)
    broker.delete_records(topic, {1: DELETED})

    for target_ms in range(WALL_START_MS - 200, WALL_START_MS + SPAN_MS + 1_000, 377):
        expected = {
            partition: next(
                (
                    offset
                    for offset, record in enumerate(log)
                    if record.timestamp_ms >= target_ms and (partition != 1 or offset >= DELETED)
                ),
                None,
            )
            for partition, log in logs.items()
        }
        found = library.offsets_for_time(broker.bootstrap, topic, PARTITIONS, target_ms)
        ends = {partition: len(log) for partition, log in logs.items()}  # librdkafka says "not found" with the end
        assert {p: None if offset == ends[p] else offset for p, offset in found.items()} == expected

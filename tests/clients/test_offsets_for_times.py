"""offsets_for_times of real clients on random logs: what a linear scan over the log gives (KIP-79, LO-11)."""

import random

import pytest

from fakebroker import FakeBroker
from tests.clients.libraries import LIBRARIES
from tests.clients.story import KEEPS_OLD_RECORDS, WALL_START_MS, Adapter, Sent

PARTITIONS = 3
SPAN_MS = 2_000
pytestmark = [KEEPS_OLD_RECORDS, pytest.mark.clients, pytest.mark.filterwarnings("ignore")]


def random_records(chance: random.Random, count: int) -> list[Sent]:
    """Records whose times go up and down, some far off, many equal."""
    times = [n + chance.choice([0, 0, 0, -300, 300, -1500]) for n in range(0, SPAN_MS, SPAN_MS // count)]
    return [
        Sent(chance.randrange(PARTITIONS), b"k", b"%d" % n, (), WALL_START_MS + time - time % 5)
        for n, time in enumerate(times)
    ]


@pytest.mark.rules("LO-11", "LO-13", "LO-15")
@pytest.mark.parametrize("library", LIBRARIES.values(), ids=LIBRARIES)
def test_the_answer_is_that_of_a_linear_scan(fakebroker: FakeBroker, library: Adapter) -> None:
    """Several batches, codecs and segments, times out of order, the start of the log moved into a batch."""
    chance = random.Random(79)
    fakebroker.create_topic("orders", partitions=PARTITIONS, config={"segment.ms": "700"})
    for codec in library.codecs:
        library.produce(fakebroker.bootstrap, "orders", random_records(chance, 200), codec)
    topic = fakebroker.topic("orders")
    topic.advance_log_start(60, partition=1)

    records = topic.records()
    for target_ms in range(WALL_START_MS - 200, WALL_START_MS + SPAN_MS + 1_000, 377):
        expected = {
            partition: next(
                (r.offset for r in records if r.partition == partition and r.timestamp_ms >= target_ms), None
            )
            for partition in range(PARTITIONS)
        }
        found = library.offsets_for_time(fakebroker.bootstrap, "orders", PARTITIONS, target_ms)
        ends = topic.end_offsets  # librdkafka says "not found" with the end
        assert {p: None if o == ends[p] else o for p, o in found.items()} == expected

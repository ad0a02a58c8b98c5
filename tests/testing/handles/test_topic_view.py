"""Topics and records as a page shows them: what became of transactions, markers, what is corrupt, search by time."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from fakebroker.protocol.errors import InvalidArgument, KafkaError
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.compression import LZ4
from fakebroker.protocol.records.record_codec import Record
from fakebroker.testing.handles.topic_view import MAX_BYTES, BrowsedRecord
from fakebroker.testing.virtual_broker import VirtualBroker


@pytest.fixture
def broker() -> Iterator[VirtualBroker]:
    """A broker with a topic of two partitions."""
    with VirtualBroker() as broker:
        broker.create_topic("orders", partitions=2)
        yield broker


def browse(broker: VirtualBroker, *args: Any, **options: Any) -> list[BrowsedRecord]:
    """Records of the first partition."""
    return broker.topic("orders").browse(*args, **options).records


def in_transaction(broker: VirtualBroker, transactional_id: str, how: str | None) -> None:
    """A record of a transaction that is committed, aborted or left open."""
    client = broker.client(transactional_id)
    client.init_producer_id(transactional_id)
    client.add_partitions_to_txn([("orders", 0)])
    client.produce("orders", 0, [b"v"], transactional=True)
    if how == "committed":
        client.commit_transaction()
    elif how == "aborted":
        client.abort_transaction()


def test_a_record_with_all_it_has(broker: VirtualBroker) -> None:
    """Key, value, headers, time and codec, and where its batch begins."""
    records = [Record(n, 1000 + n, b"k", b"v%d" % n, ((b"trace", b"\xff"),)) for n in range(2)]
    log = broker._engine.cluster.topics.partition("orders", 0)
    assert log is not None
    broker.topic("orders").produce("first")
    log.log.append(build_batch(records, codec=LZ4), broker._engine.now)

    first, second, third = browse(broker)

    assert (first.offset, first.codec, first.key, first.key_bytes, first.value_bytes) == (0, "none", None, -1, 5)
    assert (third.offset, third.batch_offset, third.codec) == (2, 1, "lz4")
    assert (third.timestamp_ms, third.timestamp_type) == (1001, "CreateTime")
    assert (second.key, second.value, second.headers) == (b"k", b"v0", (("trace", b"\xff"),))
    assert (second.transaction, second.marker, second.producer_id) == (None, None, -1)


def test_what_became_of_transactions(broker: VirtualBroker) -> None:
    """Records say how their transaction ended, and markers are among them."""
    for name, how in (("a", "committed"), ("b", "aborted"), ("c", None)):
        in_transaction(broker, name, how)

    found = [each.transaction or each.marker for each in browse(broker)]

    assert found == ["committed", "COMMIT", "aborted", "ABORT", "open"]
    assert [each.sequence for each in browse(broker)] == [0, -1, 0, -1, 0]
    assert broker.topic("orders").view().partitions[0].open_transactions == 1
    assert broker.topic("orders").view().partitions[0].last_stable_offset == 4


def test_a_page_goes_on_where_the_one_before_ended(broker: VirtualBroker) -> None:
    """Also within a batch; a negative offset counts from the end, one before the log start begins there."""
    broker.topic("orders").produce(*"abcdef")
    first = broker.topic("orders").browse(limit=4)
    assert ([each.value for each in first.records], first.next_offset) == ([b"a", b"b", b"c", b"d"], 4)
    rest = broker.topic("orders").browse(offset=4)
    assert ([each.value for each in rest.records], rest.next_offset) == ([b"e", b"f"], None)
    assert [each.value for each in browse(broker, 0, -1)] == [b"f"]

    broker.topic("orders").advance_log_start(5)
    assert [each.offset for each in browse(broker)] == [5]
    assert [each.offset for each in browse(broker, 0, -100)] == [5]
    assert browse(broker, 0, 100) == []


def test_what_is_long_is_cut(broker: VirtualBroker) -> None:
    """A value keeps its first bytes and its size; text is not cut within a character."""
    broker.topic("orders").produce("x" + "ä" * MAX_BYTES, b"\xff" * (MAX_BYTES + 1))
    text, data = browse(broker)

    assert (text.value, text.value_bytes) == (("x" + "ä" * (MAX_BYTES // 2 - 1)).encode(), 1 + 2 * MAX_BYTES)
    assert (data.value, data.value_bytes) == (b"\xff" * MAX_BYTES, MAX_BYTES + 1)


def test_a_corrupt_batch_hides_nothing_else(broker: VirtualBroker) -> None:
    """Its place is shown, and what comes after it."""
    for value in "abc":
        broker.topic("orders").produce(value)
    broker.topic("orders").corrupt(1)

    assert [(each.offset, each.is_corrupt, each.value) for each in browse(broker)] == [
        (0, False, b"a"), (1, True, None), (2, False, b"c")
    ]  # fmt: skip


@pytest.mark.rules("LO-11", "LO-16")
def test_search_by_time(broker: VirtualBroker) -> None:
    """The first record at or after a time in each partition, as ListOffsets answers it; -1 where there is none."""
    for at_ms, value in ((1000, "a"), (3000, "b"), (2000, "c")):
        broker.topic("orders").produce(value, timestamp_ms=at_ms)
    topic = broker.topic("orders")

    first, second = topic.find_time(1500)
    assert (first.offset, first.timestamp_ms) == (1, 3000)
    assert first.record is not None
    assert first.record.value == b"b"
    assert (second.partition, second.offset, second.record) == (1, -1, None)
    assert [topic.find_time(when, 0)[0].offset for when in (5000, "max", "earliest", "latest")] == [-1, 1, 0, 3]
    for when in (1001, "1001", datetime.fromtimestamp(1.001, UTC), "1970-01-01T00:00:01.001+00:00"):
        assert topic.find_time(when, 0)[0].offset == 1, when


def test_what_is_no_time(broker: VirtualBroker) -> None:
    """It is named, with what would be one."""
    for when in ("yesterday", "2036-03-01", -1, True, datetime(2036, 3, 1)):
        with pytest.raises(InvalidArgument) as error:
            broker.topic("orders").find_time(when)
        assert error.value.field == "when"


def test_topics_on_one_screen(broker: VirtualBroker) -> None:
    """By name, internal ones last; what has no records has no size, and the size of internal ones is not asked."""
    broker.create_topic("audit", config={"cleanup.policy": "compact"})
    broker.topic("orders").produce(*"abc")
    broker.group("billing").commit({("orders", 0): 1})
    rows = broker.topic_rows

    assert [(row.name, row.partitions, row.records) for row in rows[:2]] == [("audit", 1, 0), ("orders", 2, 3)]
    assert (rows[0].cleanup_policy, rows[0].size_bytes, rows[0].leaderless) == ("compact", 0, 0)
    assert [(row.name, row.is_internal, row.size_bytes) for row in rows[2:]] == [("__consumer_offsets", True, None)]


def test_a_topic_in_one_look(broker: VirtualBroker) -> None:
    """Each partition with its offsets, size and largest timestamp; a look makes no log."""
    broker.topic("orders").produce("a", timestamp_ms=5000)
    view = broker.topic("orders").view()

    first, second = view.partitions
    assert (first.log_end_offset, first.high_watermark, first.max_timestamp_ms) == (1, 1, 5000)
    assert (first.leader, first.replicas, first.in_sync) == (1, [1], [1])
    assert first.size_bytes == broker.topic_rows[0].size_bytes
    assert (second.log_end_offset, second.size_bytes, second.max_timestamp_ms) == (0, 0, None)
    broker.topic("orders").browse(1)
    broker.topic("orders").find_time("earliest")
    partition = broker._engine.cluster.topics.partition("orders", 1)
    assert partition is not None
    assert not partition.has_log


def test_wrong_questions(broker: VirtualBroker) -> None:
    """A topic or partition that does not exist, a limit that is none."""
    for limit in (0, 501):
        with pytest.raises(InvalidArgument, match="limit"):
            broker.topic("orders").browse(limit=limit)
    for ask in (lambda: broker.topic("none").view(), lambda: broker.topic("orders").browse(7)):
        with pytest.raises(KafkaError):
            ask()

"""Partitions in transactions: who may add them, and what a partition's leader gets."""

import pytest

from fakebroker.broker.core.transactions.producer import Producer
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.records.offsets_topic import TopicPartition
from tests.support.transactions import DELAY, EMPTY, ONGOING, PREPARE_COMMIT, T0, T1, Transactions

OK, FENCED, OTHER_ID = ErrorCode.NONE, ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_ID_MAPPING
CONCURRENT, NOT_THERE = ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.TRANSACTION_ABORTABLE


@pytest.mark.rules("TX-9")
def test_the_first_partition_begins_the_transaction() -> None:
    """Its start is the time of that request; partitions keep the order in which they came."""
    lab = Transactions()
    producer = lab.producer()
    lab.wait(500)
    began_ms = lab.now.wall_ms

    lab.add(producer, T1)
    lab.wait(500)
    lab.add(producer, T1, T0)

    transaction = lab.transaction()
    assert lab.state() == ONGOING
    assert list(transaction.partitions) == [T1, T0]
    assert (transaction.start_ms, transaction.last_update_ms) == (began_ms, began_ms + 500)


@pytest.mark.rules("TX-9")
def test_what_is_there_already_is_not_written_again() -> None:
    """A repeated request leaves the log as it is."""
    lab = Transactions()
    producer = lab.producer()
    lab.add(producer, T0, T1)
    end = lab.state_partition().log.log_end_offset

    assert lab.add(producer, T1) is OK
    assert lab.state_partition().log.log_end_offset == end


@pytest.mark.rules("TX-9")
def test_foreign_producers_are_refused() -> None:
    """An unknown transactional id and another producer id get the same error; lower and higher epochs, too."""
    lab = Transactions()
    lab.producer()
    producer = lab.producer()

    codes = [
        lab.add(producer, name="unknown"),
        lab.add(Producer(producer.id + 1, producer.epoch)),
        lab.add(Producer(producer.id, producer.epoch - 1)),
        lab.add(Producer(producer.id, producer.epoch + 1)),
    ]

    assert codes == [OTHER_ID, OTHER_ID, FENCED, FENCED]
    assert lab.state() == EMPTY


@pytest.mark.rules("TX-9")
def test_while_markers_are_on_their_way_nothing_else_is_looked_at() -> None:
    """A 4.3 tells everybody to come again; a 3.9 looks at producer id and epoch first."""
    codes = []
    for release in ("4.3", "3.9"):
        lab = Transactions(DELAY, release)
        producer = lab.bring_to(PREPARE_COMMIT, is_tv2=False)
        others = (Producer(producer.id, 7), Producer(producer.id + 1, 0))
        codes.append([lab.add(each, is_tv2=False) for each in (producer, *others)])

    assert codes == [[CONCURRENT, CONCURRENT, CONCURRENT], [CONCURRENT, FENCED, OTHER_ID]]


@pytest.mark.rules("TX-14")
def test_verification_looks_and_changes_nothing() -> None:
    """Each partition is reported by itself, other producers get one code for all."""
    lab = Transactions()
    producer = lab.bring_to(ONGOING)
    absent = TopicPartition("t", 9)

    assert lab.verify(producer, T0, absent, T1) == [OK, NOT_THERE, OK]
    assert lab.verify(Producer(producer.id, 3), T0, absent) == [FENCED, FENCED]
    assert lab.verify(Producer(producer.id + 1, 0), T0) == [OTHER_ID]
    assert lab.verify(producer, T0, name="unknown") == [OTHER_ID]
    assert list(lab.transaction().partitions) == [T0, T1]


@pytest.mark.rules("TX-14")
def test_verification_while_a_transaction_ends() -> None:
    """Producer id and epoch are looked at first, as by a Kafka 4.3.1; then one is told to come again."""
    lab = Transactions(DELAY)
    following = lab.bring_to(PREPARE_COMMIT)

    assert lab.verify(following, T0, T1) == [CONCURRENT, CONCURRENT]
    assert lab.verify(Producer(following.id, following.epoch - 1), T0) == [FENCED]

"""EndTxn: what is stored when, which epochs follow, and what a repeated request gets."""

import pytest

from fakebroker.broker.core.transactions.producer import NO_PRODUCER, Producer
from fakebroker.protocol.errors import ErrorCode
from tests.support.transactions import (
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    DEAD,
    DELAY,
    EMPTY,
    ONGOING,
    PREPARE_COMMIT,
    T0,
    T1,
    Marker,
    Transactions,
)

OTHER_ID = (ErrorCode.INVALID_PRODUCER_ID_MAPPING, NO_PRODUCER)
FENCED = (ErrorCode.PRODUCER_FENCED, NO_PRODUCER)


def last_epoch(lab: Transactions) -> Producer:
    """A producer with the last epoch that is handed out, in an open transaction."""
    lab.producer()
    transaction = lab.transaction()
    producer = transaction.producer = Producer(transaction.producer.id, 32766)
    assert lab.add(producer, T0) is ErrorCode.NONE
    return producer


@pytest.mark.rules("TX-2", "TX-3", "TX-12")
@pytest.mark.parametrize("commit", [True, False])
def test_with_protocol_2_the_markers_and_the_next_transaction_have_the_next_epoch(commit: bool) -> None:
    """It is in the answer, in the log and in the marker of every partition."""
    lab = Transactions()
    producer = lab.bring_to(ONGOING)
    following = Producer(producer.id, producer.epoch + 1)

    answer = lab.end(producer, commit=commit)
    lab.wait(0)

    assert answer == (ErrorCode.NONE, following)
    assert lab.markers(T0) == lab.markers(T1) == [Marker(commit, following, 0)]
    assert lab.state() == (COMPLETE_COMMIT if commit else COMPLETE_ABORT)
    assert lab.transaction().producer == following


@pytest.mark.rules("TX-1", "TX-3")
def test_with_protocol_1_the_epoch_stays() -> None:
    """The next transaction has the same."""
    lab = Transactions()
    producer = lab.bring_to(ONGOING, is_tv2=False)

    answer = lab.end(producer, is_tv2=False)
    lab.wait(0)

    assert answer == (ErrorCode.NONE, producer)
    assert lab.markers() == [Marker(True, producer, 0)]
    assert lab.add(producer, T0, is_tv2=False) is ErrorCode.NONE


@pytest.mark.rules("TX-22")
@pytest.mark.parametrize("is_tv2", [True, False])
def test_foreign_producers_cannot_end(is_tv2: bool) -> None:
    """Unknown transactional ids and other producer ids, epochs that are not in force."""
    lab = Transactions()
    producer = lab.bring_to(ONGOING)

    assert lab.end(producer, is_tv2=is_tv2, name="unknown") == OTHER_ID
    assert lab.end(Producer(producer.id + 1, 0), is_tv2=is_tv2) == OTHER_ID
    assert lab.end(Producer(producer.id, 1), is_tv2=is_tv2) == FENCED
    assert lab.end(Producer(producer.id, 7), is_tv2=is_tv2) == FENCED
    assert lab.state() == ONGOING


@pytest.mark.rules("TX-22")
def test_while_markers_are_on_their_way_protocol_2_looks_at_nothing_protocol_1_at_the_producer() -> None:
    """As a Kafka 4.3.1 answered, whose other partition had lost its leader."""
    lab = Transactions(DELAY)
    following = lab.bring_to(PREPARE_COMMIT)
    others = (Producer(following.id, 9), Producer(following.id + 1, 0))

    assert [lab.end(each).code for each in others] == [ErrorCode.CONCURRENT_TRANSACTIONS] * 2
    assert [lab.end(each, is_tv2=False) for each in others] == [FENCED, OTHER_ID]


@pytest.mark.rules("TX-21")
def test_an_abort_of_nothing_begins_now() -> None:
    """Its record needs a start, and no partition gets a marker."""
    lab = Transactions()
    producer = lab.producer()
    lab.wait(700)

    lab.end(producer, commit=False)
    lab.wait(0)

    assert lab.state() == COMPLETE_ABORT
    assert lab.transaction().start_ms == lab.now.wall_ms
    assert lab.markers() == []


@pytest.mark.rules("TX-15")
@pytest.mark.parametrize("commit", [True, False])
def test_the_end_at_the_last_epoch_gives_a_new_producer_id(commit: bool) -> None:
    """Only the markers carry epoch 32767; the request may be repeated before and after they are written."""
    lab = Transactions(DELAY)
    producer = last_epoch(lab)
    following = Producer(producer.id + 1, 0)

    answer = lab.end(producer, commit=commit)
    before = lab.end(producer, commit=commit).code, lab.add(following, T1)
    lab.wait(1000)
    repeated = lab.end(producer, commit=commit)

    assert answer == repeated == (ErrorCode.NONE, following)
    assert before == (ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.CONCURRENT_TRANSACTIONS)
    assert lab.markers() == [Marker(commit, Producer(producer.id, 32767), 0)]
    assert lab.transaction().producer == following
    assert lab.add(following, T1) is ErrorCode.NONE


@pytest.mark.rules("TX-15", "PI-11")
def test_fencing_at_the_last_epoch_leaves_none_to_hand_out() -> None:
    """The next InitProducerId gives a new producer id."""
    lab = Transactions()
    producer = last_epoch(lab)

    lab.init()
    lab.wait(0)

    assert lab.transaction().producer == Producer(producer.id, 32767)
    assert lab.producer() == Producer(producer.id + 1, 0)


@pytest.mark.rules("TS-3")
def test_what_is_written_on_the_way() -> None:
    """One record for each step: the raised epoch stands in that of the Prepare state already."""
    lab = Transactions()
    producer = lab.bring_to(ONGOING)
    lab.end(producer)
    lab.wait(0)

    values = [entry.value for entry in lab.entries()]

    assert [value and (value.status, value.producer_epoch, len(value.partitions)) for value in values] == [
        (0, 0, 0),
        (1, 0, 2),
        (2, 1, 2),
        (4, 1, 0),
    ]
    assert [value and value.client_transaction_version for value in values] == [0, 2, 2, 2]
    assert [value and value.previous_producer_id for value in values] == [0, 0, 0, 0]


def test_the_journal_tells_each_change_with_its_cause() -> None:
    """States before and after, the producer, and how many partitions there are."""
    lab = Transactions()
    producer = lab.bring_to(ONGOING)
    lab.end(producer, commit=False)
    lab.wait(0)

    changes = [(each.before, each.after, each.producer_epoch, each.partitions) for each in lab.transitions()]

    assert changes == [
        (EMPTY, EMPTY, 0, 0),
        (EMPTY, ONGOING, 0, 2),
        (ONGOING, "PrepareAbort", 1, 2),
        ("PrepareAbort", COMPLETE_ABORT, 1, 0),
    ]
    assert lab.state("never seen") == DEAD

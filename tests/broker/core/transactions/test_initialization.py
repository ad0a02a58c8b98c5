"""InitProducerId with a transactional id: who gets which epoch, and who is fenced."""

import pytest

from fakebroker.broker.core.transactions.producer import NO_PRODUCER, Producer
from fakebroker.protocol.errors import ErrorCode
from tests.support.transactions import COMPLETE_ABORT, EMPTY, ONGOING, PREPARE_ABORT, T0, Marker, Transactions

FENCED = (ErrorCode.PRODUCER_FENCED, NO_PRODUCER)
CONCURRENT = (ErrorCode.CONCURRENT_TRANSACTIONS, NO_PRODUCER)


def exhausted(lab: Transactions) -> Producer:
    """A producer with the last epoch that is handed out."""
    lab.producer()
    transaction = lab.transaction()
    transaction.producer = Producer(transaction.producer.id, 32766)
    return transaction.producer


@pytest.mark.rules("PI-7")
def test_each_call_gives_the_next_epoch_and_replaces_the_timeout() -> None:
    """A new id begins with epoch 0; ids of different transactional ids differ."""
    lab = Transactions()

    first = lab.init(timeout_ms=1000)
    second = lab.init(timeout_ms=2000)

    assert first == (ErrorCode.NONE, Producer(0, 0))
    assert second == (ErrorCode.NONE, Producer(0, 1))
    assert lab.transaction().timeout_ms == 2000
    assert lab.producer("y") == Producer(1, 0)


@pytest.mark.rules("PI-8")
def test_the_present_epoch_is_raised_the_one_before_is_a_repetition_all_others_are_fenced() -> None:
    """KIP-360: a producer says who it is."""
    lab = Transactions()
    first = lab.producer()

    raised = lab.init(first)
    repeated = lab.init(first)
    other_epoch = lab.init(Producer(first.id, 5))
    other_id = lab.init(Producer(first.id + 1, 1))

    assert raised == repeated == (ErrorCode.NONE, Producer(first.id, 1))
    assert other_epoch == other_id == FENCED


@pytest.mark.rules("PI-7", "PI-8")
def test_without_ids_the_epoch_before_is_forgotten() -> None:
    """Whoever had it is fenced by the new producer."""
    lab = Transactions()
    first = lab.producer()
    lab.init(first)
    lab.producer()

    assert lab.init(first) == FENCED


@pytest.mark.rules("PI-8")
def test_a_new_transactional_id_takes_any_ids() -> None:
    """The producer recovers from an id that was forgotten: it gets a new id."""
    lab = Transactions()

    assert lab.init(Producer(77, 5)) == (ErrorCode.NONE, Producer(0, 0))


@pytest.mark.rules("PI-10")
def test_an_open_transaction_is_aborted_first() -> None:
    """The producer before is fenced with the next epoch, the new one comes again and gets the one after."""
    lab = Transactions()
    producer = lab.bring_to(ONGOING, is_tv2=False)

    asked = lab.init()
    state = lab.state()
    asked_again = lab.init()
    lab.wait(0)

    assert asked == asked_again == CONCURRENT
    assert state == PREPARE_ABORT
    assert lab.state() == COMPLETE_ABORT
    assert lab.markers() == [Marker(False, Producer(producer.id, 1), 0)]
    assert lab.end(producer, is_tv2=False).code is ErrorCode.PRODUCER_FENCED
    assert lab.producer() == Producer(producer.id, 2)


@pytest.mark.rules("PI-8", "PI-10")
def test_a_producer_that_has_to_come_again_gets_the_raised_epoch() -> None:
    """With its ids it is recognised by the epoch before, as a Kafka 4.3.1 does it for both protocols; not by 3.9."""
    now, then = Transactions(), Transactions(as_release="3.9")
    answers = []
    for lab in (now, then):
        producer = lab.bring_to(ONGOING, is_tv2=False)
        lab.init(producer)
        lab.wait(0)
        answers.append(lab.init(producer))

    assert answers == [(ErrorCode.NONE, Producer(0, 1)), FENCED]


@pytest.mark.rules("PI-11")
def test_the_last_epoch_is_followed_by_a_new_producer_id() -> None:
    """Epoch 32767 is never handed out."""
    lab = Transactions()
    last = exhausted(lab)

    assert lab.init() == (ErrorCode.NONE, Producer(last.id + 1, 0))
    assert lab.state() == EMPTY


@pytest.mark.rules("PI-8", "PI-11")
def test_a_producer_whose_epochs_ended_may_ask_again() -> None:
    """It did not receive the answer with its new id: the same answer comes again."""
    lab = Transactions()
    last = exhausted(lab)

    first = lab.init(last)
    again = lab.init(last)

    assert first == again == (ErrorCode.NONE, Producer(last.id + 1, 0))
    assert lab.init(Producer(last.id, 3)) == FENCED


@pytest.mark.rules("PI-11")
def test_another_epoch_at_the_last_one_is_an_error_of_the_broker() -> None:
    """Kafka finds no epoch to hand out, and says that it does not know what to say."""
    lab = Transactions()
    last = exhausted(lab)

    assert lab.init(Producer(last.id, 3)) == (ErrorCode.UNKNOWN_SERVER_ERROR, NO_PRODUCER)


@pytest.mark.rules("TS-3")
def test_the_record_of_an_initialized_id_has_no_partitions_and_no_start() -> None:
    """The last record counts, and it says Empty."""
    lab = Transactions()
    lab.add(lab.producer(), T0)
    lab.init()
    lab.wait(0)
    lab.producer()

    value = lab.entries()[-1].value

    assert value is not None
    assert (value.status, value.partitions, value.start_ms, value.producer_epoch) == (0, (), -1, 2)

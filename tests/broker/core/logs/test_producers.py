"""Tests of idempotent producers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.core.logs.appends import AppendError
from fakebroker.broker.core.logs.log import Appended, PartitionLog
from fakebroker.protocol.errors import ErrorCode
from tests.support.logs import DAY_MS, NOW, LogsCluster, batch
from tests.support.time import T0

DUE, FENCED, TRANSACTION = (
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.INVALID_TXN_STATE,
)
LAST = 2**31 - 1


def send(
    log: PartitionLog, sequence: int, count: int = 1, *, epoch: int = 0, time_ms: int = T0, transactional: bool = False
) -> Appended:
    """Producer 7 writes."""
    return log.append(
        batch(
            *[time_ms] * count,
            producer_id=7,
            producer_epoch=epoch,
            base_sequence=sequence,
            transactional=transactional,
        ),
        NOW,
    )


def refused(log: PartitionLog, sequence: int, count: int = 1, **fields: int) -> ErrorCode:
    end_offset = log.log_end_offset
    with pytest.raises(AppendError) as refusal:
        send(log, sequence, count, **fields)  # type: ignore[arg-type]
    assert log.log_end_offset == end_offset
    return refusal.value.code


@pytest.mark.rules("ID-1", "ID-3", "ID-5")
def test_the_last_five_batches_are_remembered() -> None:
    """A batch with exactly the sequences of one of them gets its old answer; anything else but the next is 45."""
    log = LogsCluster().log()
    for sequence in range(6):
        send(log, sequence * 2, 2, time_ms=T0 + sequence)

    assert send(log, 4, 2) == Appended(4, T0 + 2, 0)
    assert send(log, 10, 2, time_ms=5) == Appended(10, T0 + 5, 0)
    assert log.log_end_offset == 12
    for sequence, count in ((0, 2), (4, 1), (4, 3), (11, 1), (13, 1), (14, 2)):
        assert refused(log, sequence, count) == DUE
    assert send(log, 12).base_offset == 12


@pytest.mark.rules("ID-4", "ID-6")
def test_epochs() -> None:
    """A lower one is 47; a higher one starts at 0, may jump, and forgets what the old one wrote."""
    log = LogsCluster().log()
    send(log, 0, epoch=2)
    assert refused(log, 1, epoch=1) == FENCED
    assert refused(log, 0, epoch=1) == FENCED
    assert refused(log, 1, epoch=5) == DUE
    assert send(log, 0, epoch=5).base_offset == 1
    assert refused(log, 0, epoch=2) == FENCED
    assert send(log, 1, epoch=5).base_offset == 2


@pytest.mark.rules("ID-7")
@given(st.integers(0, LAST), st.integers(0, 32767))
def test_an_unknown_producer_may_begin_anywhere(sequence: int, epoch: int) -> None:
    """Without state any epoch and sequence is right, also of an id that was never handed out."""
    log = LogsCluster().log()

    assert send(log, sequence, epoch=epoch).base_offset == 0
    assert send(log, (sequence + 1) & LAST, epoch=epoch).base_offset == 1


@pytest.mark.rules("ID-7")
@pytest.mark.parametrize("epoch", [-1, 0, 3])
def test_any_sequence_follows_epoch_minus_one(epoch: int) -> None:
    """A producer whose batches have epoch -1 has no epoch: the next batch may begin anywhere, in any epoch."""
    log = LogsCluster().log()
    send(log, 0, epoch=-1)

    assert send(log, 7, epoch=epoch).base_offset == 1


@pytest.mark.rules("ID-8", "RB-7")
def test_sequences_wrap() -> None:
    """0 follows 2147483647, also inside a batch, which is recognised when it comes again."""
    log = LogsCluster().log()
    send(log, LAST - 1, 2)
    assert send(log, 0).base_offset == 2
    wrapping = LogsCluster().log()
    send(wrapping, LAST, 3)
    assert send(wrapping, LAST, 3) == Appended(0, T0, 0)
    assert send(wrapping, 2).base_offset == 3


@pytest.mark.rules("ID-2")
def test_order_of_checks() -> None:
    """Faults of the batch come before all; then a repetition, epoch, sequence, and the open transaction last."""
    log = LogsCluster().log(max_message_bytes=200)
    send(log, 0, transactional=True, epoch=3)

    assert refused(log, 5, 30, epoch=1) == ErrorCode.MESSAGE_TOO_LARGE
    assert send(log, 0, epoch=3).base_offset == 0
    assert refused(log, 1, epoch=1) == FENCED
    assert refused(log, 9, epoch=3) == DUE
    assert refused(log, 1, epoch=3) == TRANSACTION
    assert refused(log, 9, epoch=1, transactional=True) == FENCED
    assert refused(log, 9, epoch=3, transactional=True) == DUE


@pytest.mark.rules("ID-10")
def test_plain_batches_wait_for_the_end_of_the_transaction() -> None:
    """48 while the producer has an open transaction on the partition; others write on, the stable offset stands."""
    workshop = LogsCluster()
    log = workshop.log()
    workshop.append(log, T0)
    send(log, 0, transactional=True)
    workshop.append(log, T0)
    assert refused(log, 1) == TRANSACTION
    assert (log.last_stable_offset, log.high_watermark) == (1, 3)

    assert log.producers.ended(7, 0, coordinator_epoch=1, timestamp_ms=T0) == 1
    assert send(log, 1).base_offset == 3
    assert log.last_stable_offset == 4


@pytest.mark.rules("ID-12")
def test_a_marker_keeps_the_sequence_of_its_epoch() -> None:
    """The next transaction of the same epoch goes on; of a new epoch it starts at 0."""
    log = LogsCluster().log()
    send(log, 0, 3, transactional=True)
    log.producers.ended(7, 0, 1, T0)
    assert send(log, 3, transactional=True).base_offset == 3
    log.producers.ended(7, 1, 1, T0)
    assert refused(log, 4, epoch=1) == DUE
    assert send(log, 0, epoch=1).base_offset == 4
    assert log.producers.ended(8, 0, 1, T0) is None


@pytest.mark.rules("ID-9", "DL-3")
def test_deleting_records_keeps_the_producer() -> None:
    """A repetition is answered with its old offset, even below the log start."""
    log = LogsCluster().log()
    send(log, 0)
    send(log, 1)
    log.advance_log_start(2, NOW)

    assert send(log, 0) == Appended(0, T0, 2)
    assert refused(log, 5) == DUE


@pytest.mark.rules("ID-11")
def test_producers_are_forgotten_by_the_time_of_their_last_batch() -> None:
    """At a check, every ten minutes, when the last batch's own timestamp is producer.id.expiration.ms ago."""
    workshop = LogsCluster()
    log = workshop.log(retention_ms=-1)
    send(log, 0, time_ms=NOW.wall_ms)
    workshop.wait(DAY_MS - 1)
    assert refused(log, 5) == DUE
    workshop.wait(600_000)
    assert send(log, 5, time_ms=T0 - 5 * DAY_MS).base_offset == 1

    workshop.wait(600_000)
    assert len(log.producers) == 0
    send(log, 0, time_ms=T0 - 5 * DAY_MS, transactional=True)
    workshop.wait(1_200_000)
    assert len(log.producers) == 1, "an open transaction keeps it"


@pytest.mark.rules("ID-11", "WM-4")
@pytest.mark.parametrize("wrote_before", [False, True])
def test_a_producer_that_only_a_marker_named_is_forgotten(wrote_before: bool) -> None:
    """Its time is that of the marker; of one that wrote, too."""
    lab = LogsCluster({"producer.id.expiration.ms": 1000})
    log = lab.log(retention_ms=-1)
    if wrote_before:
        send(log, 0, time_ms=lab.now.wall_ms)
    log.append_marker(7, 1, lab.now, commit=False, coordinator_epoch=0)
    known = len(log.producers)

    lab.wait(20 * 60_000)

    assert (known, len(log.producers)) == (1, 0)


def test_a_rebuilt_memory_is_the_same() -> None:
    """After a truncation what is known of producers is what the remaining batches tell."""
    log = LogsCluster().log()
    for sequence in range(4):
        send(log, sequence)
    log.truncate(2, NOW)

    assert send(log, 1) == Appended(1, T0, 0)
    assert send(log, 2).base_offset == 2


@pytest.mark.rules("ID-11", "TX-6")
@pytest.mark.parametrize("was_written", [False, True])
def test_a_verification_that_came_to_nothing_expires(was_written: bool) -> None:
    """As a producer does, also where no producer ever wrote: else each refused one would be remembered for ever."""
    lab = LogsCluster({"producer.id.expiration.ms": 1000})
    log = lab.log()
    if was_written:
        send(log, 0)
        log.producers.reload([])
    verification = log.begin_verification(7, 0, 0, lab.now, is_tv2=True)
    is_known = log.producers.is_verified(7, 0, verification)

    lab.wait(20 * 60_000)

    assert is_known
    assert not log.producers.is_verified(7, 0, verification)


@pytest.mark.rules("ID-7")
def test_where_producers_begin_in_2_1() -> None:
    """One of which no batch is known begins with 0, else 59: new, with epoch -1 before, or with only a marker."""
    log = LogsCluster(as_release="2.1").log()

    assert refused(log, 1) == ErrorCode.UNKNOWN_PRODUCER_ID
    send(log, 0, epoch=-1)
    assert refused(log, 3, epoch=-1) == DUE
    assert refused(log, 1, epoch=0) == ErrorCode.UNKNOWN_PRODUCER_ID
    send(log, 0, epoch=0)
    assert refused(log, 1, epoch=1) == DUE
    log.append_marker(7, 2, NOW, commit=True, coordinator_epoch=0)
    assert refused(log, 1, epoch=2) == ErrorCode.UNKNOWN_PRODUCER_ID
    send(log, 0, epoch=2)
    send(log, 1, epoch=2)


@pytest.mark.rules("ID-9", "ID-7")
def test_a_producer_ends_with_its_records_in_2_1() -> None:
    """2.1.1 forgets batches below the log start, then their producer and its transaction."""
    log = LogsCluster(as_release="2.1").log()
    send(log, 0, transactional=True)
    send(log, 1, transactional=True)
    log.advance_log_start(1, NOW)
    assert send(log, 1, transactional=True).base_offset == 1
    assert refused(log, 0) == DUE
    assert log.last_stable_offset == 0

    log.advance_log_start(2, NOW)
    assert log.last_stable_offset == 2
    assert refused(log, 2) == ErrorCode.UNKNOWN_PRODUCER_ID
    send(log, 0)

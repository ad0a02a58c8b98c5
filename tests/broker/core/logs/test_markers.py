"""Tests of transaction markers in a log."""

import pytest

from fakebroker.protocol.pace import finished
from fakebroker.protocol.records.batch import parse_header, read_records
from tests.support.logs import EVERYTHING, NOW, LogsCluster, batch
from tests.support.time import T0


@pytest.mark.rules("CM-1")
@pytest.mark.parametrize(("commit", "key"), [(False, b"\0\0\0\0"), (True, b"\0\0\0\1")])
def test_what_a_marker_says(commit: bool, key: bytes) -> None:
    """The key holds version 0 and the type, the value version 0 and the coordinator's epoch."""
    log = LogsCluster().log()
    log.append_marker(7, 1, NOW, commit=commit, coordinator_epoch=258)

    (stored,) = log.read(0, 0, EVERYTHING)
    ((_, _, *said, _),) = read_records(stored)
    assert said == [key, b"\0\0\0\0\1\2"]


@pytest.mark.rules("LO-24", "RC-3", "CM-1", "TX-3", "CR-18")
def test_a_marker_is_a_record_of_the_brokers_time() -> None:
    """It takes one offset, ends the transaction, and searches by time find it like any record."""
    workshop = LogsCluster()
    log = workshop.log(segment_ms=1 << 50)
    fields = {"producer_id": 7, "producer_epoch": 1, "base_sequence": 0, "transactional": True}
    workshop.append(log, T0, T0 + 5, **fields)
    assert log.last_stable_offset == 0
    assert log.append_marker(7, 1, NOW, commit=True, coordinator_epoch=3) == 2
    assert log.last_stable_offset == log.log_end_offset == 3

    (stored,) = log.read(2, 0, EVERYTHING)
    header = parse_header(stored)
    assert (header.attributes, header.producer_id, header.producer_epoch, header.base_sequence) == (48, 7, 1, -1)
    ((offset, time_ms, key, value, _),) = read_records(stored)
    assert (offset, time_ms, key, value) == (2, NOW.wall_ms, b"\0\0\0\1", b"\0\0\0\0\0\3")
    for found in (log.find_max_timestamp(EVERYTHING), log.find_by_timestamp(T0 + 6, EVERYTHING)):
        assert finished(found) == (NOW.wall_ms, 2, 0)
    assert [record.offset for record in log.records()] == [0, 1]


@pytest.mark.rules("LO-30", "SE-2")
def test_a_marker_behind_old_records_starts_a_segment() -> None:
    """Its time is more than segment.ms after that of the records."""
    workshop = LogsCluster()
    log = workshop.log(segment_ms=500_000)
    workshop.append(log, T0, producer_id=7, producer_epoch=1, base_sequence=0, transactional=True)
    log.append_marker(7, 1, NOW, commit=False, coordinator_epoch=0)

    assert list(log.segments) == [0, 1]


def test_truncation_opens_a_transaction_again() -> None:
    """Without its marker the transaction is open, with it it is not."""
    workshop = LogsCluster()
    log = workshop.log()
    log.append(batch(T0, producer_id=7, producer_epoch=1, base_sequence=0, transactional=True), NOW)
    log.append_marker(7, 1, NOW, commit=True, coordinator_epoch=3)
    workshop.append(log, T0)
    log.truncate(2, NOW)
    assert log.last_stable_offset == 2
    log.truncate(1, NOW)
    assert log.last_stable_offset == 0


@pytest.mark.rules("WM-4")
def test_a_marker_without_a_transaction() -> None:
    """It is appended, raises the producer's epoch, and leaves open transactions and the last stable offset alone."""
    workshop = LogsCluster()
    log = workshop.log()
    workshop.append(log, T0, producer_id=7, producer_epoch=1, base_sequence=0)
    workshop.append(log, T0, producer_id=8, producer_epoch=0, base_sequence=0, transactional=True)

    assert log.append_marker(7, 2, NOW, commit=False, coordinator_epoch=3) == 2
    assert [state.epoch for state in log.producers] == [2, 0]
    assert (log.log_end_offset, log.last_stable_offset) == (3, 1)

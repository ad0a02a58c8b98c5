"""Logs of topics whose message.format.version means an old format."""

from typing import Any

import pytest

from fakebroker.broker.core.logs.appends import AppendError
from fakebroker.broker.core.logs.log import PartitionLog
from fakebroker.broker.core.logs.old_formats_log import OldFormatsLog
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.pace import finished
from fakebroker.protocol.records.batch import build_batch, parse_header, split_batches, with_times
from fakebroker.protocol.records.batch_format import MAGIC_POSITION
from fakebroker.protocol.records.message_set import read_message_set
from fakebroker.protocol.records.record_codec import Record
from tests.support.logs import EVERYTHING, LogsCluster, batch
from tests.support.time import T0

FORMATS = {0: "0.9.0", 1: "0.10.2", 2: "2.1"}


def old_log(magic: int, **config: Any) -> tuple[LogsCluster, OldFormatsLog]:
    lab = LogsCluster(as_release="2.1")
    log = lab.log(message_format_version=FORMATS[magic], **config)
    assert isinstance(log, OldFormatsLog)
    return lab, log


def messages(log: PartitionLog, offset: int = 0, max_bytes: int = EVERYTHING) -> list[tuple[int, int, int]]:
    """(offset, magic, timestamp) of each message that a reader gets."""
    data = b"".join(log.read(offset, max_bytes, log.log_end_offset))
    return [(message.offset, message.magic, message.timestamp_ms) for message in read_message_set(data)]


def test_other_releases_have_none() -> None:
    """From 3.0 on, and for the coordinators' topics, a log has one format."""
    assert type(LogsCluster(as_release="3.3").log()) is PartitionLog
    internal = LogsCluster(as_release="2.1").cluster.topics.internal("__consumer_offsets")
    assert type(internal.partitions[0].log) is PartitionLog


@pytest.mark.rules("MS-9")
@pytest.mark.parametrize("magic", [0, 1])
def test_readers_get_messages(magic: int) -> None:
    """Each record is a message of its own, from the wanted offset on, as many as there is room for."""
    lab, log = old_log(magic)
    lab.append(log, T0, T0 + 1, T0 + 2)
    times = [T0, T0 + 1, T0 + 2] if magic else [-1, -1, -1]
    assert messages(log) == [(n, magic, times[n]) for n in range(3)]
    assert messages(log, 2) == [(2, magic, times[2])]
    size = len(log.read(2, EVERYTHING, 3)[0])
    assert [offset for offset, *_ in messages(log, 0, 2 * size)] == [0, 1]
    assert [offset for offset, *_ in messages(log, 0, 1)] == [0]
    assert log.read(0, size - 1, 3, at_least_one=False) == []
    assert len(log.read(0, size, 3, at_least_one=False)) == 1


@pytest.mark.rules("MS-9")
@pytest.mark.parametrize("magic", [0, 1])
def test_what_has_no_place(magic: int) -> None:
    """Headers and zstd fail with -1, producers with 43; nothing is stored."""
    lab, log = old_log(magic)
    refused = {
        ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT: batch(T0, producer_id=1, producer_epoch=0, base_sequence=0),
        ErrorCode.UNKNOWN_SERVER_ERROR: batch(T0, codec=4),
    }
    headers = build_batch([Record(0, T0, b"k", b"v", [(b"h", b"x")])])
    for code, data in [*refused.items(), (ErrorCode.UNKNOWN_SERVER_ERROR, headers)]:
        with pytest.raises(AppendError) as caught:
            log.append(data, lab.now)
        assert caught.value.code == code
    assert log.log_end_offset == 0


@pytest.mark.rules("LO-7", "MS-9")
def test_only_format_0_has_no_times() -> None:
    """A search by time is 43 as long as the topic says so, whatever was stored when."""
    lab, log = old_log(0)
    lab.append(log, T0)
    with pytest.raises(KafkaError) as caught:
        finished(log.find_by_timestamp(0, log.log_end_offset))
    assert caught.value.code == ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT
    log.partition.topic.config.replace({"message.format.version": "0.10.0"})
    lab.append(log, T0 + 5)
    found = finished(log.find_by_timestamp(T0, log.log_end_offset))
    assert found is not None
    assert found[:3] == (T0 + 5, 1, -1)


@pytest.mark.rules("MS-9")
def test_epochs_are_forgotten() -> None:
    """A log of an old format has no leader epochs; with format 2 they are there again."""
    lab, log = old_log(2)
    lab.append(log, T0)
    assert log.epochs.latest == 0
    log.partition.topic.config.replace({"message.format.version": "0.10.0"})
    assert log.epochs.entries() == []
    log.partition.topic.config.replace({})
    assert log.epochs.latest == 0


@pytest.mark.rules("MS-9")
def test_each_record_keeps_its_format() -> None:
    """After changes of the setting a reader gets each as it was stored."""
    lab, log = old_log(2)
    for version in ("2.1", "0.9.0", "0.10.0", "2.1"):
        log.partition.topic.config.replace({"message.format.version": version})
        lab.append(log, T0)
    assert [one[MAGIC_POSITION] for one in log.read(0, EVERYTHING, 4)] == [2, 0, 1, 2]


@pytest.mark.rules("MS-9")
def test_compaction_and_truncation_keep_the_format() -> None:
    """A batch that is written anew for a part of its records has the format that it had."""
    lab, log = old_log(1)
    lab.append(log, T0, T0 + 1)
    log.truncate(1, lab.now)
    assert messages(log) == [(0, 1, T0)]


@pytest.mark.rules("MS-9")
def test_a_client_cannot_set_the_mark() -> None:
    """Attributes that mean nothing in Kafka do not make a stored batch one of an old format."""
    lab, log = old_log(2)
    for bits in (0x100, 0x200, 0x300):
        header = parse_header(batch(T0))
        marked = with_attributes(batch(T0), header.attributes | bits)
        log.append(marked, lab.now)
    assert [one[MAGIC_POSITION] for one in log.read(0, EVERYTHING, 3)] == [2, 2, 2]
    assert all(len(list(split_batches(one))) == 1 for one in log.read(0, EVERYTHING, 3))


def with_attributes(data: bytes, attributes: int) -> bytes:
    return with_times(data, attributes=attributes, max_timestamp_ms=parse_header(data).max_timestamp_ms)


@pytest.mark.rules("PD-18")
def test_one_bound_for_both_sides() -> None:
    """Before 4.0 message.timestamp.difference.max.ms holds where no bound of the side is set."""
    lab = LogsCluster(as_release="3.9")
    now_ms = lab.now.wall_ms
    log = lab.log(message_timestamp_difference_max_ms=1000)
    for time_ms in (now_ms - 1001, now_ms + 1001):
        with pytest.raises(AppendError) as caught:
            lab.append(log, time_ms)
        assert caught.value.code == ErrorCode.INVALID_TIMESTAMP
    lab.append(log, now_ms - 1000, now_ms + 1000)
    log.partition.topic.config.replace(
        {"message.timestamp.difference.max.ms": "1000", "message.timestamp.before.max.ms": "5000"}
    )
    lab.append(log, now_ms - 5000)

"""Tests of the lists of aborted transactions: which go with which read, and when they are forgotten."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.core.logs.fetching import FetchParams, LogReadResult, PartitionFetch, read_partition
from fakebroker.broker.core.logs.log import PartitionLog
from fakebroker.broker.core.stale_view import StaleView
from fakebroker.protocol.records.batch import parse_header, peek, read_records
from fakebroker.protocol.records.markers import ControlRecordType, control_record_type
from tests.support.logs import NOW, LogsCluster, batch, partition_of
from tests.support.time import T0

_LARGE = b"v" * 3000  # more than one such batch lies between two entries of an index (4096 bytes)


def transaction(log: PartitionLog, producer_id: int, *, commit: bool, value: bytes = b"v") -> None:
    """A producer writes one batch, as far as it has no transaction open, and ends its transaction."""
    write(log, producer_id, value)
    log.append_marker(producer_id, 0, NOW, commit=commit, coordinator_epoch=0)


def write(log: PartitionLog, producer_id: int, value: bytes = b"v") -> int:
    state = log.producers.get(producer_id)
    sequence = 0 if state is None else state.last_sequence + 1
    fields: dict[str, Any] = {
        "producer_id": producer_id,
        "producer_epoch": 0,
        "base_sequence": sequence,
        "transactional": True,
    }
    return log.append(batch(T0, value=value, **fields), NOW).base_offset


def read(log: PartitionLog, offset: int, max_bytes: int = 1 << 30, *, at_least_one: bool = True) -> LogReadResult:
    """What a read_committed consumer gets."""
    partition = partition_of(log)
    params = FetchParams(partition.leader, 0, 0, max_bytes, read_committed=True)
    fetch = PartitionFetch(partition.topic.name, bytes(16), 0, offset, max_bytes)
    return read_partition(partition.topic.cluster, fetch, partition, params, max_bytes, at_least_one)


@pytest.mark.rules("FT-15")
def test_what_is_listed() -> None:
    """Aborted transactions whose marker is at or behind the fetch offset, in the order of their markers."""
    log = LogsCluster().log()
    write(log, 1)
    transaction(log, 2, commit=False)
    transaction(log, 3, commit=True)
    log.append_marker(1, 0, NOW, commit=False, coordinator_epoch=0)
    log.append_marker(9, 0, NOW, commit=False, coordinator_epoch=0)  # there was nothing to abort

    assert read(log, 0).aborted == [(2, 1), (1, 0)]
    assert read(log, 2).aborted == [(2, 1), (1, 0)]
    assert read(log, 3).aborted == [(1, 0)]
    assert read(log, 6).aborted == []
    assert read(log, 7).aborted == []


@pytest.mark.rules("FT-15", "FT-14")
def test_only_what_is_stable_is_listed() -> None:
    """Where readers have to stop there are no records, and no list."""
    log = LogsCluster().log()
    transaction(log, 1, commit=False)
    write(log, 2)
    assert read(log, 2).aborted == []
    assert read(log, 0).aborted == [(1, 0)]


# As 4.3.1 answered; some of it is in recordings/fakebroker_recordings/transactions-more/aborted_list_by_index.jsonl.
_BY_INDEX = {
    (0, 1): [0, 2],
    (0, 6300): [0, 2, 4, 6],
    (1, 3100): [0, 2],
    (1, 10000): [0, 2, 4, 6, 8, 10],
    (3, 1): [2, 4, 6],
    (3, 6300): [2, 4, 6, 8, 10],
    (6, 1): [6],
    (6, 3100): [6, 8, 10],
    (6, 10000): [6, 8, 10, 12],
}


@pytest.mark.rules("FT-15")
@pytest.mark.parametrize(("offset", "max_bytes"), _BY_INDEX)
def test_the_range_ends_at_an_entry_of_the_index(offset: int, max_bytes: int) -> None:
    """More are listed than the records need, as far as to the next batch that has an entry in Kafka's index."""
    log = LogsCluster().log()
    for _ in range(7):
        transaction(log, 7, commit=False, value=_LARGE)

    assert [first for _, first in read(log, offset, max_bytes).aborted or ()] == _BY_INDEX[offset, max_bytes]


@pytest.mark.rules("FT-15", "FT-7")
def test_without_room() -> None:
    """A batch that does not fit leaves the list out (null); with no room at all it is there, beside no records."""
    log = LogsCluster().log()
    transaction(log, 7, commit=False)

    assert read(log, 0, 10, at_least_one=False).aborted is None
    assert read(log, 0, 0, at_least_one=False).aborted == [(7, 0)]


@pytest.mark.rules("FT-15", "FT-16")
def test_segments() -> None:
    """The range of a read ends with its segment; entries go with the segment of their marker."""
    workshop = LogsCluster()
    log = workshop.log(segment_bytes=100)
    write(log, 1)
    for _ in range(2):
        transaction(log, 2, commit=False)
    log.append_marker(1, 0, NOW, commit=False, coordinator_epoch=0)
    assert list(log.segments) == [0, 1, 2, 3, 4, 5]
    assert read(log, 0).aborted == [(1, 0)]
    assert read(log, 1).aborted == [(2, 1), (1, 0)]
    log.delete_segments(3, NOW)

    assert [tuple(each) for each in log.aborted.entries] == [(2, 3, 4, 0), (1, 0, 5, 6)]
    log.truncate(5, NOW)
    assert [tuple(each) for each in log.aborted.entries] == [(2, 3, 4, 0)]
    assert log.last_stable_offset == 5, "the data of the first producer went with its segment"


@pytest.mark.rules("FT-14")
def test_a_marker_that_replicas_do_not_have() -> None:
    """Its transaction counts as open until the high watermark has passed the marker."""
    log = LogsCluster().log()
    transaction(log, 1, commit=True)
    log.limit_high_watermark(2, NOW)
    transaction(log, 2, commit=False)
    write(log, 3)
    log.limit_high_watermark(3, NOW)
    assert log.last_stable_offset == 2
    log.limit_high_watermark(4, NOW)
    assert log.last_stable_offset == 4
    log.append_marker(3, 0, NOW, commit=True, coordinator_epoch=0)
    assert log.last_stable_offset == 4
    log.limit_high_watermark(None, NOW)

    assert log.last_stable_offset == log.log_end_offset == 6


@pytest.mark.rules("FT-15")
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["write", "commit", "abort"])), max_size=30), st.data())
def test_readers_never_see_aborted_records(steps: list[tuple[int, str]], data: st.DataObject) -> None:
    """Whatever is read from wherever: with the list a client leaves out exactly what was aborted."""
    log = LogsCluster().log(index_interval_bytes=0, segment_bytes=data.draw(st.sampled_from([100, 400, 1 << 20])))
    fates: dict[int, str] = {}  # offset of data -> what became of it
    mine: dict[int, list[int]] = {}
    for producer_id, step in steps:
        if step == "write":
            mine.setdefault(producer_id, []).append(write(log, producer_id))
        else:
            log.append_marker(producer_id, 0, NOW, commit=step == "commit", coordinator_epoch=0)
            fates.update(dict.fromkeys(mine.pop(producer_id, ()), step))

    offset, seen = data.draw(st.integers(0, log.last_stable_offset)), []
    start = offset
    while offset < log.last_stable_offset:
        result = read(log, offset, data.draw(st.sampled_from([1, 150, 1 << 20])))
        result.batches = [batch for batch in result.batches if peek(batch)]  # the last may be cut at the limit
        seen += committed(result)
        offset = parse_header(result.batches[-1]).last_offset + 1
    assert seen == [at for at in sorted(fates) if start <= at < offset and fates[at] == "commit"]


def committed(result: LogReadResult) -> list[int]:
    """The offsets that a consumer hands out, by Kafka's rule for clients."""
    ahead = sorted(result.aborted or (), key=lambda each: each[1])
    aborting, found = set(), []
    for stored in result.batches:
        header = parse_header(stored)
        while ahead and ahead[0][1] <= header.last_offset:
            aborting.add(ahead.pop(0)[0])
        if header.is_control:
            (record,) = read_records(stored)
            if control_record_type(record.key) == ControlRecordType.ABORT:
                aborting.discard(header.producer_id)
        elif header.producer_id not in aborting:
            found += [record.offset for record in read_records(stored)]
    return found


@pytest.mark.rules("FT-14", "FT-15")
def test_a_broker_that_was_replaced() -> None:
    """A zombie goes by the last stable offset that it knows; others by the present one."""
    lab = LogsCluster()
    log = lab.log()
    transaction(log, 1, commit=False)
    write(log, 2)
    partition = partition_of(log)
    partition.stale_views[partition.leader] = StaleView(partition.leader, partition.leader_epoch, partition.isr, log)
    log.append_marker(2, 0, NOW, commit=True, coordinator_epoch=0)

    result = read(log, 0)
    assert (result.high_watermark, result.last_stable_offset, len(result.batches)) == (3, 2, 2)
    assert result.aborted == [(1, 0)]
    partition.stale_views.clear()
    assert read(log, 0).last_stable_offset == 4

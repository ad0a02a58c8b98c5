"""States of logs that are made of stored batches."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker import FakeBroker, Snapshot
from fakebroker.broker.core.cluster_state import LogState
from fakebroker.protocol.records.batch import build_batch, split_batches
from fakebroker.protocol.records.message_set import build_message_set
from fakebroker.protocol.records.record_codec import Record
from fakebroker.testing.imported import log_builder
from fakebroker.testing.imported.log_builder import LogBuilder
from tests.support.chance import examples
from tests.testing.snapshot.histories import STEPS, new_broker, play

steps = st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 40)), max_size=25)


def built(log: LogState) -> LogState:
    """The state of a log, made again of its batches."""
    builder = LogBuilder()
    for segment in log.segments:
        builder.begin_segment(segment.base_offset)
        for batch in segment.batches:
            builder.add(batch)
    return builder.finish(log.log_start_offset, log.log_end_offset, modified_ms=0)


@given(before=steps)
@examples(60)
def test_a_log_is_made_of_its_batches(before: list[Any]) -> None:
    """From the batches of any log come the same offsets, producers, open and aborted transactions."""
    broker = new_broker()
    play(broker, before)
    state = broker.snapshot().state
    logs = [each.log for topic in state.cluster.topics for each in topic.partitions if each.log is not None]

    for log in logs:
        found = built(log)
        for name in ("log_start_offset", "log_end_offset", "aborted"):
            assert getattr(found, name) == getattr(log, name), name
        # Other than these: replicas lag, or the records of an open transaction were deleted.
        if log.high_watermark_limit is None and log.last_stable_offset >= log.log_start_offset:
            assert found.last_stable_offset == log.last_stable_offset
        for mine, segment in zip(found.segments, log.segments, strict=True):
            assert (mine.batches, mine.offsets, mine.ends) == (segment.batches, segment.offsets, segment.ends)
            assert mine.times == segment.times


def served(state: LogState) -> FakeBroker:
    """A broker whose topic has the log."""
    broker = FakeBroker()
    broker.create_topic("orders")
    snapshot = broker.snapshot().state
    topic = snapshot.cluster.topics[0]
    topic = topic._replace(partitions=(topic.partitions[0]._replace(log=state),))
    return Snapshot(snapshot._replace(cluster=snapshot.cluster._replace(topics=(topic,)))).fork()


RECORDS = [Record(7, 1_000, b"k", b"v"), Record(9, 2_000, None, b"w")]


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [0, 1, 2, 3])
def test_old_formats(magic: int, codec: int) -> None:
    """Messages of old formats are there with their offsets, in every compression; format 0 has no times."""
    builder = LogBuilder()
    data = build_message_set(RECORDS, magic, codec=codec)
    for message in split_batches(data):
        builder.add(message)

    found = served(builder.finish(7, 10, modified_ms=0)).topic("orders").records()
    times = [1_000, 2_000] if magic else [-1, -1]
    assert [(each.offset, each.value) for each in found] == [(7, b"v"), (9, b"w")]
    assert [each.timestamp_ms for each in found] == times


def test_gaps_stay() -> None:
    """A log whose first batches are missing begins where it did, and its end is where it was."""
    builder = LogBuilder()
    builder.add(build_batch(RECORDS))
    log = builder.finish(3, 40, modified_ms=0)

    assert (log.log_start_offset, log.log_end_offset, log.high_watermark) == (3, 40, 40)
    broker = served(log)
    assert [each.offset for each in broker.topic("orders").records()] == [7, 9]
    broker.topic("orders").produce("next")
    assert broker.topic("orders").records()[-1].offset == 40


def test_transactions_that_nobody_ends_count_as_aborted() -> None:
    """The last stable offset is the end, and read_committed consumers do not see the records."""
    builder = LogBuilder()
    builder.add(build_batch(RECORDS, transactional=True, producer_id=5, producer_epoch=0, base_sequence=0))
    log = builder.finish(7, 10, modified_ms=0, ends_transactions=True)

    assert log.last_stable_offset == 10
    assert builder.highest_producer_id == 5
    assert [tuple(each) for each in log.aborted] == [(5, 7, 9, 10)]


def test_long_logs_are_handed_out_by_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """A full segment can be taken at once, and the rest comes with the end."""
    monkeypatch.setattr(log_builder, "SEGMENT_BYTES", 100)
    builder = LogBuilder()
    taken = []
    for offset in range(0, 100, 10):
        builder.add(build_batch([Record(offset, 1_000, None, b"x" * 50)]))
        taken += builder.full_segments()

    rest = builder.finish(0, 100, modified_ms=0).segments
    assert len(taken) >= 4
    assert [len(each.batches) for each in (*taken, *rest)] == [1] * 10

"""Tests of the search by time against a plain list and a linear scan (LO-11)."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.core.logs.log import PartitionLog
from fakebroker.broker.core.logs.log_time_search import FoundOffset
from fakebroker.protocol.pace import finished
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from tests.support.chance import examples
from tests.support.logs import EVERYTHING, NOW, LogsCluster, batch
from tests.support.time import T0

SPAN_MS = 60


class Written(NamedTuple):
    """One batch of the model: record times (ms after T0, None: no timestamp), codec, and what to do before it."""

    times: list[int | None]
    codec: int
    before: str


batches = st.builds(
    Written,
    st.lists(st.one_of(st.none(), st.integers(-SPAN_MS, SPAN_MS)), min_size=1, max_size=6),
    st.sampled_from([0, 0, 1, 2, 3, 4]),
    st.sampled_from(["", "", "", "roll", "start", "epoch", "truncate", "look"]),
)


def at(time: int | None) -> int:
    return -1 if time is None else T0 + time


class Pair:
    """A log and the list it should be like: (offset, timestamp, leader epoch)."""

    def __init__(self, **config: str) -> None:
        self.workshop = LogsCluster()
        self.log: PartitionLog = self.workshop.log(**config)
        self.model: list[FoundOffset] = []

    def write(self, written: Written, cut: float) -> None:
        log = self.log
        span = log.log_end_offset - log.log_start_offset
        if written.before == "start":
            log.advance_log_start(log.log_start_offset + int(span * cut), NOW)
        elif written.before == "truncate":
            log.truncate(log.log_end_offset - int(span * cut / 3), NOW)
            self.model = [found for found in self.model if found.offset < log.log_end_offset]
        elif written.before == "epoch":
            log.partition.leader_epoch += 1
        elif written.before == "roll":
            log._roll(log.log_end_offset, NOW.wall_ms) if log.active_segment.batches else None
        elif written.before == "look":
            self.check(0)
        times_ms = [at(time) for time in written.times]
        base = log.append(batch(*times_ms, codec=written.codec), NOW).base_offset
        epoch = log.partition.leader_epoch
        self.model += [FoundOffset(time_ms, base + n, epoch) for n, time_ms in enumerate(times_ms)]

    def check(self, target: int, end: int = EVERYTHING) -> None:
        live = [f for f in self.model if f.offset >= self.log.log_start_offset]
        first = next((f for f in live if f.timestamp_ms >= T0 + target), None)
        expected = first if first is not None and first.offset < end else None
        assert finished(self.log.find_by_timestamp(T0 + target, end)) == expected


@pytest.mark.rules("LO-11", "LO-13", "LO-17", "LO-25")
@given(st.lists(st.tuples(batches, st.floats(0, 1)), max_size=14), st.integers(0, 60))
def test_finds_what_a_linear_scan_finds(writes: list[tuple[Written, float]], end: int) -> None:
    """For every target: the first record at or after the log start whose time reaches it, below the end."""
    pair = Pair()
    for written, cut in writes:
        pair.write(written, cut)
    for target in range(-SPAN_MS - 1, SPAN_MS + 2):
        pair.check(target)
        pair.check(target, end)


@pytest.mark.rules("LO-16")
@given(st.lists(batches.filter(lambda w: w.before not in ("truncate", "start")), min_size=1, max_size=10))
def test_the_largest_timestamp(writes: list[Written]) -> None:
    """The first record with the largest timestamp; only records without time: the first record."""
    pair = Pair()
    for written in writes:
        pair.write(written, 0)

    largest = max(found.timestamp_ms for found in pair.model)
    expected = next(found for found in pair.model if found.timestamp_ms == largest)
    assert finished(pair.log.find_max_timestamp(EVERYTHING)) == expected
    pair.log.advance_log_start(pair.log.log_end_offset, NOW)
    assert finished(pair.log.find_max_timestamp(EVERYTHING)) == expected, (
        "deleted records count as long as their segment is there"
    )


@pytest.mark.rules("LO-15", "LO-26")
@examples(30)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=6), st.integers(0, 10), st.sampled_from([0, 2]))
def test_log_append_time(counts: list[int], start: int, codec: int) -> None:
    """Every record has its batch's time: the hit is the batch's first record at or after the log start."""
    workshop = LogsCluster()
    log = workshop.log(message_timestamp_type="LogAppendTime")
    model: list[tuple[int, int]] = []
    for count in counts:
        workshop.wait(10)
        base = workshop.append(log, *range(count), codec=codec).base_offset
        model += [(base + n, workshop.now.wall_ms) for n in range(count)]
    start = min(start, log.log_end_offset)
    log.advance_log_start(start, NOW)

    for target in range(NOW.wall_ms, workshop.now.wall_ms + 6, 5):
        found = finished(log.find_by_timestamp(target, EVERYTHING))
        expected = next(((o, t) for o, t in model if o >= start and t >= target), None)
        assert (found and (found.offset, found.timestamp_ms)) == expected
    largest = finished(log.find_max_timestamp(EVERYTHING))
    assert largest is not None
    assert largest.offset == model[-1][0] - counts[-1] + 1


@pytest.mark.rules("LO-12")
def test_right_where_kafkas_segment_search_errs() -> None:
    """A segment that matches only below the log start, or has no timestamps, does not hide the ones behind it."""
    workshop = LogsCluster()
    log = workshop.log(segment_ms=10)
    for time_ms in (T0 + 100, T0 + 50):
        workshop.append(log, time_ms)
    workshop.append(log, T0 + 200)
    assert len(log.segments) == 2
    log.advance_log_start(1, NOW)

    found = finished(log.find_by_timestamp(T0 + 80, EVERYTHING))
    assert found is not None
    assert found.offset == 2
    timeless = workshop.topic("u", segment_ms=10).partitions[0].log
    for time_ms in (-1, T0):
        workshop.append(timeless, time_ms)
        workshop.wait(100)
    found = finished(timeless.find_by_timestamp(T0, EVERYTHING))
    assert found is not None
    assert found.offset == 1


@pytest.mark.rules("LO-11", "PD-21")
def test_a_time_that_only_the_header_had_hides_nothing() -> None:
    """A client's bit 3 leaves its maximum timestamp in the header, which no record has: later batches are searched."""
    workshop = LogsCluster()
    log = workshop.log()
    log.append(build_batch([Record(0, T0, b"k", b"v")], log_append_time_ms=T0 + 500), NOW)
    workshop.append(log, T0 + 100)
    workshop.append(log, T0 + 300)

    found = finished(log.find_by_timestamp(T0 + 200, EVERYTHING))
    assert found is not None
    assert found.offset == 2
    assert finished(log.find_by_timestamp(T0 + 301, EVERYTHING)) is None


@pytest.mark.rules("LO-17", "LO-16")
def test_timestamps_below_minus_one_are_never_found() -> None:
    """They are stored, and neither a target nor -3 finds them (seen on 4.3.1)."""
    workshop = LogsCluster()
    log = workshop.log()
    workshop.append(log, -5, -7)

    assert finished(log.find_by_timestamp(0, EVERYTHING)) is None
    assert finished(log.find_max_timestamp(EVERYTHING)) is None

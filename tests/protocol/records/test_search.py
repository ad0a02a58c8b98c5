"""Tests of the search by time inside one batch."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.protocol.pace import finished
from fakebroker.protocol.records import search
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.faults import InvalidRecord
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.records.search import BEFORE_EVERY_TIMESTAMP, find_record, max_timestamp_of

sizes = st.sampled_from([0, 1, 50, 56, 57, 60, 8000, 8180, 9000])
times = st.one_of(st.integers(-130, 130), st.integers(-(2**40), 2**40))


@pytest.mark.rules("LO-11")
@given(st.lists(st.tuples(times, sizes), min_size=1, max_size=20), st.integers(0, 25), st.sampled_from([0, 0, 1, 4]))
def test_first_record_that_reaches(content: list[tuple[int, int]], start: int, codec: int) -> None:
    """Whatever sizes and deltas the records have: the first by offset at or after the start with a time >= target."""
    records = [Record(100 + n, time_ms, b"k", b"v" * size) for n, (time_ms, size) in enumerate(content)]
    batch = build_batch(records, codec=codec)
    for target in {time_ms + more for time_ms, _ in content for more in (0, 1)}:
        hits = [(r.offset, r.timestamp_ms) for r in records if r.offset >= 100 + start and r.timestamp_ms >= target]
        expected = hits[0] if hits else None
        assert finished(find_record(batch, target, 100 + start)) == expected
    assert max_timestamp_of(batch) == max(record.timestamp_ms for record in records)


@pytest.mark.rules("LO-15", "LO-26")
def test_log_append_time() -> None:
    """Every record has the batch's time, whatever the deltas say; gaps of compaction are skipped."""
    records = [Record(n, 5 * n, b"k", b"v") for n in (3, 7, 9)]
    batch = build_batch(records, base_offset=0, log_append_time_ms=1000)

    assert finished(find_record(batch, 1000, 0)) == (3, 1000)
    assert finished(find_record(batch, 11, 4)) == (7, 1000)
    assert finished(find_record(batch, 1001, 0)) is None
    assert finished(find_record(batch, 0, 10)) is None


def test_an_emptied_batch_has_no_time() -> None:
    """A batch without records is found by nothing."""
    batch = build_batch([], base_offset=5, last_offset_delta=2)

    assert finished(find_record(batch, -5, 0)) is None
    assert max_timestamp_of(batch) == BEFORE_EVERY_TIMESTAMP


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_a_batch_that_unpacks_to_much_is_searched_in_steps(codec: int) -> None:
    """It is unpacked in steps, as when it was produced."""
    batch = build_batch([Record(0, 0, b"k", bytes(24 << 20)), Record(1, 1, b"k", b"")], codec=codec)

    assert sum(1 for _ in find_record(batch, 1, 0)) >= 1
    assert finished(find_record(batch, 1, 0)) == (1, 1)


def test_many_records_are_searched_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search goes on where the step before ended."""
    monkeypatch.setattr(search, "RECORDS_PER_STEP", 10)
    batch = build_batch([Record(n, n, b"k", b"v" * (n % 70)) for n in range(30)])

    assert [sum(1 for _ in find_record(batch, target, 0)) for target in (0, 9, 10, 25, 30)] == [0, 0, 1, 2, 2]
    assert [finished(find_record(batch, target, 0)) for target in (0, 9, 10, 25)] == [(n, n) for n in (0, 9, 10, 25)]
    assert finished(find_record(batch, 30, 0)) is None


@given(st.data())
def test_broken_bytes_never_crash(data: st.DataObject) -> None:
    """Whatever a test did to stored bytes, a search finds something, nothing, or says InvalidRecord."""
    batch = bytearray(build_batch([Record(n, 300 * n, b"k", b"v" * 90) for n in range(4)]))
    for _ in range(data.draw(st.integers(1, 4))):
        batch[data.draw(st.integers(61, len(batch) - 1))] = data.draw(st.integers(0, 255))
    try:
        find_record(bytes(batch), data.draw(st.integers(-10, 2000)), 0)
        max_timestamp_of(bytes(batch))
    except InvalidRecord:
        pass

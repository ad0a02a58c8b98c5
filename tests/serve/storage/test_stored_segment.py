"""A segment on disk, loaded in parts: it is what it would be if its batches had been appended one by one."""

from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fakebroker.broker.core.logs.segment import Segment
from fakebroker.protocol.pace import Pace
from fakebroker.protocol.records.batch import build_batch, parse_header, with_base_offset
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.records.rewrite import empty_batch
from fakebroker.protocol.records.search import BEFORE_EVERY_TIMESTAMP
from fakebroker.serve.storage import segment_content
from fakebroker.serve.storage.segment_content import read_content
from fakebroker.serve.storage.stored_segment import StoredSegment
from tests.support.time import T0

BASE_OFFSET = 5
BATCHES = st.lists(st.tuples(st.integers(1, 3), st.integers(-9, 9), st.integers(0, 300), st.booleans()), max_size=30)
SLOTS = [name for name in Segment.__slots__ if name not in ("created_ms", "modified_ms", "times")]


def appended(sizes: list[tuple[int, int, int, bool]], interval_bytes: int) -> Segment:
    """A segment with batches of so many records, at times around T0, with values so long; some were emptied."""
    segment, offset = Segment(BASE_OFFSET, T0), BASE_OFFSET
    for records, time, value_bytes, is_empty in sizes:
        batch = build_batch([Record(n, T0 + time, b"k", b"v" * value_bytes) for n in range(records)])
        batch = empty_batch(parse_header(batch)) if is_empty else batch
        time_ms = BEFORE_EVERY_TIMESTAMP if is_empty else T0 + time
        segment.add(with_base_offset(batch, offset, 0), offset, time_ms, T0, interval_bytes)
        offset += records
    return segment


def state(segment: Segment) -> dict[str, object]:
    return {name: getattr(segment, name) for name in SLOTS} | {"times": segment.times.maxima}


@given(BATCHES, st.sampled_from([0, 1, 100, 150, 4096]), st.integers(1, 7), st.integers(1, 500), st.integers(1, 9))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_it_is_as_if_it_had_been_appended(
    tmp_path: Path,
    sizes: list[tuple[int, int, int, bool]],
    interval_bytes: int,
    batches_of_part: int,
    bytes_of_part: int,
    batches_per_step: int,
) -> None:
    """Wherever the reading pauses; nothing is there before all is."""
    segment, path = appended(sizes, interval_bytes), tmp_path / "00000000000000000005.log"
    path.write_bytes(b"".join(segment.batches))
    with (
        patch.object(segment_content, "BATCHES_OF_PART", batches_of_part),
        patch.object(segment_content, "BYTES_OF_PART", bytes_of_part),
    ):
        stored = StoredSegment(path, BASE_OFFSET, path.stat().st_size, T0, interval_bytes)
        for _ in stored.load_in_steps(Pace(batches_per_step)):
            assert not stored.is_loaded
        assert stored.is_loaded
        assert state(stored) == state(segment)
        at_once = StoredSegment(path, BASE_OFFSET, path.stat().st_size, T0, interval_bytes)
        assert state(at_once) == state(segment)
        content = read_content(path.read_bytes(), BASE_OFFSET, check_crc=True)
    assert (content.batches, content.problem) == (segment.batches, None)
    assert content.end_offset == segment.last_offset + 1


def test_it_ends_before_what_is_no_batch(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """However the reading came to it; the log says so once."""
    segment, path = appended([(1, 0, 10, False)] * 5, 100), tmp_path / "00000000000000000005.log"
    path.write_bytes(b"".join(segment.batches) + b"torn")
    stored = StoredSegment(path, BASE_OFFSET, path.stat().st_size, T0, 100)
    for _ in stored.load_in_steps(Pace(1)):
        pass
    assert stored.batches == segment.batches
    (line,) = caplog.messages
    assert (
        line == f"{path}: 4 bytes at position {segment.size_bytes} are too few for a batch; what follows is not served"
    )


def test_before_it_is_loaded_reads_are_measured_by_the_file(tmp_path: Path) -> None:
    """A waiting fetch has at most so much to read."""
    segment, path = appended([(1, 0, 10, False)] * 5, 100), tmp_path / "00000000000000000005.log"
    path.write_bytes(b"".join(segment.batches))
    stored = StoredSegment(path, BASE_OFFSET, path.stat().st_size, T0, 100)
    assert stored.bytes_between(BASE_OFFSET + 1, BASE_OFFSET + 2) == segment.size_bytes
    assert not stored.is_loaded
    assert len(stored.batches) == 5
    assert stored.bytes_between(BASE_OFFSET + 1, BASE_OFFSET + 2) == segment.size_bytes // 5

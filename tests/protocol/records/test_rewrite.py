"""Tests of batches that lose records."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.protocol.pace import AT_ONCE, Pace, finished
from fakebroker.protocol.records.batch import build_batch, parse_header, read_records
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.records.rewrite import cut_batch, empty_batch, rebuild_in_steps

PRODUCER: dict[str, Any] = {"producer_id": 3, "producer_epoch": 1, "base_sequence": 8, "transactional": True}
RECORDS = [Record(10 + n, 1000 + n, b"k%d" % n, b"v", ((b"h", None),)) for n in range(4)]


@pytest.mark.rules("CO-3", "CO-5", "RC-1")
@given(st.sets(st.integers(0, 3), min_size=1), st.sampled_from([0, 1, 2, 3, 4]), st.sampled_from([None, 5000]))
def test_rebuild_keeps_all_but_the_records(kept: set[int], codec: int, horizon_ms: int | None) -> None:
    """Offsets, producer, codec and leader epoch stay; a delete horizon becomes the base of unchanged times."""
    header = parse_header(build_batch(RECORDS, codec=codec, leader_epoch=6, **PRODUCER))
    records = [RECORDS[n] for n in sorted(kept)]
    rebuilt = finished(rebuild_in_steps(header, records, AT_ONCE, delete_horizon_ms=horizon_ms))
    after = parse_header(rebuilt)

    assert [r._replace(headers=tuple(r.headers)) for r in read_records(rebuilt)] == records
    assert (after.base_offset, after.last_offset_delta, after.records_count) == (10, 3, len(kept))
    assert (after.leader_epoch, after.codec, after.is_transactional) == (6, codec, True)
    assert after[9:12] == header[9:12]
    assert after.has_delete_horizon == (horizon_ms is not None)
    assert after.base_timestamp_ms == (records[0].timestamp_ms if horizon_ms is None else horizon_ms)
    assert after.max_timestamp_ms == records[-1].timestamp_ms


@pytest.mark.rules("CO-6", "RC-2")
def test_empty_batch() -> None:
    """No records, no base timestamp, no codec; offsets, producer and maximum timestamp stay."""
    header = parse_header(build_batch(RECORDS, codec=1, **PRODUCER))
    after = parse_header(empty_batch(header))

    assert (after.records_count, after.base_timestamp_ms, after.max_timestamp_ms) == (0, -1, 1003)
    assert (after.attributes, after.size_bytes) == (16, 61)
    assert after[9:12] == header[9:12]
    assert (after.base_offset, after.last_offset_delta) == (10, 3)
    assert list(read_records(empty_batch(header))) == []


@pytest.mark.parametrize(("offset", "left"), [(9, None), (10, None), (11, 1), (13, 3), (14, 4), (99, 4)])
def test_cut_batch(offset: int, left: int | None) -> None:
    """What is left in front of an offset, None when that is nothing."""
    cut = cut_batch(build_batch(RECORDS, **PRODUCER), offset)

    assert (cut and len(list(read_records(cut)))) == left
    if cut is not None and left is not None:
        assert parse_header(cut).last_offset_delta == left - 1


def test_a_batch_of_many_records_is_rebuilt_in_steps() -> None:
    """Others have their turns: a batch of 1 MB may have a million records."""
    records = [Record(n, 1000, b"", None) for n in range(1000)]
    work = rebuild_in_steps(parse_header(build_batch(records)), records, Pace(100))
    assert sum(1 for _ in work) >= 9

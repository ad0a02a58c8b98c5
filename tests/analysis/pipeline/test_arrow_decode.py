"""The decoder by columns gives what the decoder of single records gives."""

import random
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.analysis.history.decode import decode_all
from fakebroker.analysis.history.log_record import LogRecord
from fakebroker.analysis.pipeline.arrow_decode import RAW_SCHEMA, decode_batch
from fakebroker.analysis.pipeline.rows import from_arrow
from fakebroker.protocol.records.offsets_codec import Format, group_key, group_value, offset_key, offset_value
from fakebroker.protocol.records.offsets_topic import GroupValue, stored_offset

TEXTS = st.text(max_size=8) | st.sampled_from(["", "grüße", "m" * 127, "m" * 300, "é" * 64])
TIMES = st.integers(0, 2**42) | st.sampled_from([-1, -(2**63), 2**63 - 1, 253_402_300_799_999, 253_402_300_800_000])
IDS = st.sampled_from([bytes(16), bytes(range(16)), b"\xff" * 16])
KEYS = st.one_of(
    st.builds(offset_key, TEXTS, TEXTS, st.integers(-1, 2**31 - 1)),
    st.builds(group_key, TEXTS),
    st.sampled_from([None, b"", b"\0", b"\0\0\0\0", b"\0\0\0\1", b"\0\x10", b"\x7f\xff\1\2"]),
)


@st.composite
def offset_values(draw: st.DrawFn) -> bytes:
    """A committed offset in any version."""
    expire_ms = draw(st.sampled_from([-1]) | TIMES)
    stored = stored_offset(
        "",
        0,
        draw(st.integers(-(2**63), 2**63 - 1)),
        leader_epoch=draw(st.integers(-1, 9)),
        metadata=draw(TEXTS),
        commit_ms=draw(TIMES),
        expire_ms=expire_ms,
        topic_id=draw(IDS),
    )
    return offset_value(stored, Format(draw(st.sampled_from([0, 2, 3, 4]))))


GROUP = group_value(GroupValue("consumer", 3, "range", "a", 5, ()), Format())
VALUES = offset_values() | st.sampled_from([None, b"", b"\0", GROUP])


@st.composite
def mutated(draw: st.DrawFn, blobs: st.SearchStrategy[bytes | None]) -> bytes | None:
    """Bytes as they should be, or with a byte changed, cut off, or put behind them."""
    data = draw(blobs)
    if not data:
        return data
    at = draw(st.integers(0, len(data) - 1))
    byte = bytes([draw(st.integers(0, 255))])
    return draw(st.sampled_from([data, data, data, data[:at] + byte + data[at + 1 :], data[:at], data + byte]))


RECORDS = st.builds(
    LogRecord,
    source=st.just("prod"),
    file=st.just("a.log"),
    position=st.integers(0, 2**40),
    log_partition=st.integers(0, 49),
    log_offset=st.integers(0, 2**40),
    at_ms=st.none() | TIMES,
    key=mutated(KEYS),
    value=mutated(VALUES),
    producer_id=st.none() | st.integers(0, 9),
    producer_epoch=st.none() | st.integers(0, 9),
    is_transactional=st.booleans(),
    control=st.sampled_from([None, None, None, "commit", "abort", "unknown"]),
)


def raw_batch(records: list[LogRecord]) -> Any:
    return pa.RecordBatch.from_pylist([record._asdict() for record in records], RAW_SCHEMA)


def rows_of(batches: Any) -> list[dict[str, Any]]:
    return [row for batch in batches for row in from_arrow(pa.Table.from_batches([batch]))]


def counted(rows: Any) -> Counter[str]:
    return Counter(repr(sorted(row.items())) for row in rows)


@given(st.lists(RECORDS, max_size=12))
def test_columns_give_what_single_records_give(records: list[LogRecord]) -> None:
    """Valid, changed and cut records are the same rows, by columns and one by one."""
    assert counted(rows_of(decode_batch(raw_batch(records)))) == counted(decode_all(records))


@pytest.mark.random
def test_a_slice_of_a_batch_is_decoded_as_the_slice() -> None:
    """Where a batch begins in its buffers makes no difference."""
    chance = random.Random(4)
    records = [
        LogRecord("prod", "a.log", n, 1, n, n, offset_key("g" * chance.randrange(9), "t", n), value)
        for n in range(50)
        for value in [None if n % 7 == 0 else offset_value(stored_offset("", 0, n, commit_ms=n), Format(n % 2 + 3))]
    ]

    assert counted(rows_of(decode_batch(raw_batch(records).slice(13, 20)))) == counted(decode_all(records[13:33]))


def test_an_empty_batch_gives_nothing() -> None:
    """Without records there are no batches."""
    assert list(decode_batch(raw_batch([]))) == []


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4])
def test_every_version_is_decoded_by_columns(version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """No plain committed offset is left to the decoder of single records."""
    monkeypatch.setattr(
        "fakebroker.analysis.pipeline.arrow_decode.decode_all", lambda records: pytest.fail(str(list(records)))
    )
    expire_ms = 9 if version == 1 else -1
    stored = stored_offset("", 0, 7, metadata="grüße" * 40, commit_ms=5, expire_ms=expire_ms, topic_id=bytes(range(16)))
    value = offset_value(stored, Format(version))
    record = LogRecord("prod", "a.log", 0, 1, 2, 3, offset_key("gr\u00fc\u00dfe", "orders", 4), value)

    (row,) = rows_of(decode_batch(raw_batch([record])))

    assert (row["group_id"], row["topic"], row["partition"], row["committed_offset"]) == (
        "gr\u00fc\u00dfe",
        "orders",
        4,
        7,
    )
    assert row["expires_at"] == (9 if version == 1 else None)
    assert row["topic_id"] == ("AAECAwQFBgcICQoLDA0ODw" if version == 4 else None)

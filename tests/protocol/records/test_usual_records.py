"""The flat loop over usual records."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.batch_format import HEADER_BYTES
from fakebroker.protocol.records.record_codec import Record, decode_record, encode_record
from fakebroker.protocol.records.usual_records import NO_DELTAS, scan_usual

# Around the sizes from which on a length has another width.
SIZES = st.sampled_from([0, 1, 55, 56, 57, 58, 62, 63, 64, 65, 127, 128, 300, 8100])
BLOBS = st.none() | SIZES.map(bytes)
DELTAS = st.sampled_from([0, 1, 63, 64, 65, 8191])

# A length of two bytes counts up to 8191, nine of them at most for what is neither key nor value.
MAX_OF_BOTH = 8191 - 9
Row = tuple[bytes | None, bytes | None, int]


def is_of_usual_length(row: Row) -> bool:
    """Whether the length of the whole record, too, takes two bytes."""
    key, value, _ = row
    return len(key or b"") + len(value or b"") <= MAX_OF_BOTH


ROWS = st.tuples(BLOBS, BLOBS, DELTAS).filter(is_of_usual_length)


def payload(records: list[Record]) -> bytes:
    return build_batch(records, base_offset=0)[HEADER_BYTES:]


def scan_all(data: bytes, count: int) -> tuple[int, int, int, bool]:
    """Position after the last of `count` records, lowest and highest delta, whether there is a null key."""
    at = index = 0
    lows, highs, null_keys = [], [], []
    while index < count:
        begin = index
        at, index, low, high, has_null_key = scan_usual(data, at, index, count)
        assert index > begin, f"record {index} does not count as usual"
        lows.append(low)
        highs.append(high)
        null_keys.append(has_null_key)
    return at, min(lows), max(highs), any(null_keys)


@given(st.lists(ROWS, min_size=1, max_size=12))
@example([(None, None, 0)])
@example([(b"", b"", 0), (bytes(8100), bytes(MAX_OF_BOTH - 8100), 8191)])
@example([(b"k", bytes(n), n) for n in range(140)])
@example([(bytes(n), None, 3) for n in range(140)])
def test_right_records_are_usual(rows: list[Row]) -> None:
    """Whatever widths their fields have, up to two bytes each; the last may be as short as a record can be."""
    rows = [(None, None, 0), *rows] if rows[0][2] else rows  # times count from the first record's
    records = [Record(n, 1000 + delta, key, value) for n, (key, value, delta) in enumerate(rows)]
    records[0] = records[0]._replace(timestamp_ms=1000)
    data = payload(records)
    deltas = [record.timestamp_ms - 1000 for record in records]
    has_null_key = any(record.key is None for record in records)
    assert scan_all(data, len(records)) == (len(data), min(deltas), max(deltas), has_null_key)


@pytest.mark.parametrize(
    "record",
    [
        Record(1, 0, b"k", b"v", [(b"h", b"1")]),
        Record(2, 0, b"k", b"v"),
        Record(0, 0, b"k", b"v"),
        Record(1, -1, b"k", b"v"),
        Record(1, 8192, b"k", b"v"),
        Record(1, 0, bytes(8192), b"v"),
        Record(1, 0, b"k", bytes(8192)),
        Record(1, 0, bytes(8100), bytes(127)),
        Record(1, 8191, bytes(8100), bytes(MAX_OF_BOTH - 8100 + 1)),
    ],
)
def test_unusual_records_end_the_scan(record: Record) -> None:
    """Headers, an offset out of place, negative times and whatever takes three bytes are for others."""
    usual = payload([Record(0, 0, b"k", b"v")])
    data = usual + encode_record(record, 0, 0)
    assert scan_usual(data, 0, 0, 2) == (len(usual), 1, 0, 0, False)
    assert scan_usual(data, len(usual), 1, 2) == (len(usual), 1, *NO_DELTAS, False)


@given(st.lists(st.sampled_from([0, 63, 64, 8191]), min_size=2, max_size=70))
@example([0, 64, 63, 64])
def test_the_width_of_deltas_may_change(deltas: list[int]) -> None:
    """From record to record: up to the next page all are scanned in one go."""
    records = [Record(0, 0, b"k", b"v"), *(Record(n, delta, b"k", b"v") for n, delta in enumerate(deltas, 1))]
    after = min(len(records), 64)
    end = len(payload(records[:after]))
    seen = [record.timestamp_ms for record in records[:after]]
    assert scan_usual(payload(records), 0, 0, len(records)) == (end, after, min(seen), max(seen), False)


def test_a_delta_of_more_bytes_than_it_needs_ends_the_scan() -> None:
    """Its raw form tells nothing of its size."""
    usual = payload([Record(0, 63, b"k", b"v")])
    longer = b"\x12\0\x80\0\x02\x02k\x02v\0"
    assert decode_record(longer, 0, 1)[1:3] == (0, 1)
    assert scan_usual(usual + longer, 0, 0, 2) == (len(usual), 1, 0, 0, False)


def test_fields_behind_a_length_of_three_bytes_are_not_counted() -> None:
    """Where that of two bytes would end, attributes stand in the place of the timestamp delta."""
    usual = payload([Record(0, 0, b"k", b"v")])
    large = bytearray(encode_record(Record(1, 1, b"k", bytes(9000)), 0, 0))
    large[3] = 126
    assert decode_record(bytes(large), 0, 1)[1:3] == (1, 1)
    assert scan_usual(usual + bytes(large), 0, 0, 2) == (len(usual), 1, 0, 0, False)


@given(st.data(), st.sampled_from([None, b"", b"key", bytes(64), bytes(70)]), SIZES, st.integers(0, 8191), DELTAS)
def test_what_is_usual_is_right(
    data: st.DataObject, key: bytes | None, value_bytes: int, index: int, delta_ms: int
) -> None:
    """One byte before the value changed: what still counts as usual, the exact decoder reads alike."""
    record = bytearray(encode_record(Record(index, delta_ms, key, bytes(value_bytes)), 0, 0))
    record[data.draw(st.integers(0, min(len(record), 90) - 1))] = data.draw(st.integers(0, 255))
    changed = bytes(record)
    at, after, low, high, has_null_key = scan_usual(changed, 0, index, index + 1)
    if after > index:
        end, timestamp_delta, offset_delta, key, _, headers = decode_record(changed, 0, index)
        assert (at, low, high, offset_delta, has_null_key, headers) == (
            end,
            timestamp_delta,
            timestamp_delta,
            index,
            key is None,
            [],
        )

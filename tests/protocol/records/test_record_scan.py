"""The loop that looks at every record of a produced batch."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.records import record_scan
from fakebroker.protocol.records.batch import (
    BatchHeader,
    assemble,
    build_batch,
    parse_header,
    payload_of,
    plain_records,
    read_records,
)
from fakebroker.protocol.records.batch_format import HEADER_BYTES
from fakebroker.protocol.records.compression import compress
from fakebroker.protocol.records.faults import BadCompression, InvalidRecord
from fakebroker.protocol.records.record_codec import Record, encode_record
from fakebroker.protocol.records.record_scan import LATER, LongScan, Scan, scan, scan_in_steps, short_scan
from tests.protocol.records.strategies import as_records, contents


@pytest.mark.rules("PD-14", "PD-16", "PD-21", "RB-5")
@given(contents, st.sampled_from([0, 1, 2, 3, 4]))
def test_sees_what_reading_sees(content: list[tuple[Any, ...]], codec: int) -> None:
    """Times and missing keys are those of the records, headers and large values or not."""
    records = as_records(content)
    seen = scan(build_batch(records, codec=codec))
    times_ms = [record.timestamp_ms for record in records]
    assert (seen.min_timestamp_ms, seen.max_timestamp_ms) == (min(times_ms), max(times_ms))
    assert seen.has_null_key == any(record.key is None for record in records)
    assert seen.misplaced is None


@pytest.mark.rules("PD-21", "LO-25")
def test_the_true_maximum_wins_over_the_header() -> None:
    """A wrong max_timestamp in the header does not hide the records' own."""
    batch = build_batch([Record(0, 10, b"a", b""), Record(1, 30, b"b", b""), Record(2, 20, b"c", b"")])
    wrong = assemble(parse_header(batch)._replace(max_timestamp_ms=999), batch[61:])
    assert scan(wrong).max_timestamp_ms == 30


@pytest.mark.parametrize("count", [200, 20000])
def test_offset_deltas_of_two_and_three_bytes(count: int) -> None:
    """Deltas beyond 63 and beyond 8191 are read as well."""
    batch = build_batch(plain_records([(None, b"v")] * count, 5))
    assert scan(batch) == Scan(5, 5, True, None, len(batch) - HEADER_BYTES)


@pytest.mark.parametrize("deltas", [[1, 0], [0, 5], [0, 0], [0, 1, 3]])
def test_misplaced_offsets_are_reported(deltas: list[int]) -> None:
    """Kafka stores uncompressed batches with such offsets, so it is the caller who decides."""
    payload = b"".join(encode_record(Record(delta, 0, b"k", b"v"), 0, 0) for delta in deltas)
    header = parse_header(build_batch(plain_records([(b"k", b"v")] * len(deltas), 0)))
    assert scan(assemble(header, payload)).misplaced == next(n for n, delta in enumerate(deltas) if n != delta)


@pytest.mark.rules("PD-14", "RC-2")
def test_counts_must_fit() -> None:
    """More or fewer records than the header says, or a number that cannot be, are refused; none at all is empty."""
    batch = build_batch(plain_records([(b"k", b"v")] * 3, 5))
    for count, what in (
        (2, "follow the last of 2"),
        (4, "record 3|4 records do not fit into"),
        (-1, "-1 records"),
        (2**31 - 1, "fit into 27 bytes"),
    ):
        with pytest.raises(InvalidRecord, match=what):
            scan(assemble(parse_header(batch)._replace(records_count=count), batch[61:]))
    assert scan(build_batch([], base_offset=3, last_offset_delta=0)) == Scan(-1, -1, False, None, 0)


@pytest.mark.rules("PD-14")
def test_every_cut_and_every_longer_payload_is_refused() -> None:
    """With a right checksum around it, a payload one byte off never passes."""
    batch = build_batch([Record(0, 5, b"key", b"value" * 20), Record(1, 6, None, None, [(b"h", b"1")])])
    header, payload = parse_header(batch), batch[61:]
    for wrong in [payload[:size] for size in range(len(payload))] + [payload + b"\0"]:
        with pytest.raises(InvalidRecord):
            scan(assemble(header, wrong))


@given(st.binary(max_size=60), st.integers(-2, 9), st.sampled_from([0, 1, 2, 3, 4]), st.booleans())
def test_any_payload_passes_or_raises_our_error(payload: bytes, count: int, codec: int, packed: bool) -> None:
    """Garbage is refused by name; what the loop accepts, the exact decoder accepts too."""
    header = BatchHeader(0, 0, 0, 2, 0, codec, 0, 0, 0, -1, -1, -1, count)
    batch = assemble(header, compress(codec, payload) if packed else payload)
    if looked_at(batch) is not None:
        assert looked_at(batch) == read(batch)


def looked_at(batch: bytes) -> Scan | None:
    """What the loop sees, None for a refusal."""
    try:
        return scan(batch, limit_bytes=1 << 20)
    except InvalidRecord:
        return None


def read(batch: bytes) -> Scan | None:
    """The same by the exact decoder."""
    try:
        records = list(read_records(batch))
    except InvalidRecord:
        return None
    size_bytes = len(payload_of(batch, parse_header(batch)))
    times_ms = [record.timestamp_ms for record in records] or [-1]
    misplaced = next((n for n, record in enumerate(records) if record.offset != n), None)
    return Scan(min(times_ms), max(times_ms), any(record.key is None for record in records), misplaced, size_bytes)


@given(st.data())
def test_loop_and_decoder_agree_on_damaged_records(data: st.DataObject) -> None:
    """A byte changed anywhere: both refuse, or both see the same."""
    batch = build_batch([Record(n, n * 100, b"k" * n, b"v" * (n * 50)) for n in range(6)])
    assert_agreement_when_damaged(batch, data)


def assert_agreement_when_damaged(batch: bytes, data: st.DataObject) -> None:
    payload = bytearray(batch[61:])
    payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
    damaged = assemble(parse_header(batch), bytes(payload))
    assert looked_at(damaged) == read(damaged)


RECORDS_PER_STEP = 200  # of these tests: a hundredth
KEYS = st.sampled_from([None, b"", b"key", b"k" * 70])
VALUES = st.sampled_from([None, b"", b"value", b"v" * 70])


@given(st.lists(st.tuples(st.integers(1, 90), KEYS, VALUES, st.integers(-3, 20)), min_size=1, max_size=4), st.data())
def test_runs_of_records_alike_are_seen_as_one_by_one(runs: list[tuple[Any, ...]], data: st.DataObject) -> None:
    """Records laid out alike are looked at all at once; whole or with any byte damaged nothing else comes of it."""
    records: list[Record] = []
    for count, key, value, step_ms in runs:
        start_ms = records[-1].timestamp_ms if records else 1000
        records += [Record(len(records) + n, start_ms + n * step_ms, key, value) for n in range(count)]
    batch = build_batch(records)
    assert looked_at(batch) is not None
    assert looked_at(batch) == read(batch)
    assert_agreement_when_damaged(batch, data)


def test_times_beyond_64_bits_are_refused() -> None:
    """A delta that leads out of the range of timestamps has no meaning."""
    batch = build_batch([Record(0, 0, b"k", b"v"), Record(1, 2**62, b"k", b"v")])
    far = assemble(parse_header(batch)._replace(base_timestamp_ms=2**62 * 3 // 2), batch[61:])
    with pytest.raises(InvalidRecord, match="64 bits"):
        scan(far)


def test_bad_compression_is_minus_one() -> None:
    """A payload that is not what the codec bits say has the code that Kafka answers."""
    batch = build_batch(plain_records([(b"k", b"v")], 5))
    for codec in range(1, 8):
        with pytest.raises(BadCompression) as caught:
            scan(assemble(parse_header(batch)._replace(attributes=codec), batch[61:]))
        assert caught.value.code == ErrorCode.UNKNOWN_SERVER_ERROR


def scanned_in_steps(batch: bytes) -> tuple[Scan, int]:
    """What the steps find, and how many there were."""
    steps, count = scan_in_steps(batch, parse_header(batch)), 1
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value, count
        count += 1


@pytest.mark.parametrize("codec", [0, 1, 2, 3, 4])
def test_many_records_are_scanned_in_steps(codec: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The steps find what a single one does, wherever a null key, a time or an offset out of place is."""
    monkeypatch.setattr(record_scan, "RECORDS_PER_STEP", RECORDS_PER_STEP)
    count = 2 * RECORDS_PER_STEP + 10
    records = [Record(n, 1000 + n % 300, b"k" * (n % 3), b"v") for n in range(count)]
    records[RECORDS_PER_STEP] = Record(RECORDS_PER_STEP, 1, None, b"v")
    records[-1] = Record(count, 9_999, b"k", b"v")
    batch = build_batch(records, codec=codec)
    seen, steps = scanned_in_steps(batch)
    assert seen == scan(batch)
    assert seen[:4] == (1, 9_999, True, count - 1)
    assert steps >= 3
    with pytest.raises(LongScan):
        short_scan(batch, parse_header(batch))


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_large_records_are_unpacked_in_steps(codec: int) -> None:
    """However little it takes to send them."""
    batch = build_batch([Record(0, 5, b"k", bytes(40 << 20))], codec=codec)
    seen, steps = scanned_in_steps(batch)
    assert (seen.min_timestamp_ms, seen.size_bytes > 40 << 20) == (5, True)
    assert steps >= 4
    with pytest.raises(LongScan):
        short_scan(batch, parse_header(batch))


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_a_short_scan_unpacks_little(codec: int) -> None:
    """A turn of a connection has up to 64 requests: what one unpacks at once is 1 MiB at most."""
    for size, is_short in ((1_000_000, True), (1_100_000, False)):
        batch = build_batch([Record(0, 5, b"k", bytes(size))], codec=codec)
        assert is_scanned_at_once(batch) == is_short


@pytest.mark.parametrize("codec", [0, 4])
def test_many_headers_are_scanned_in_steps(codec: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A header takes two bytes, and next to none if it is compressed."""
    monkeypatch.setattr(record_scan, "FIELDS_PER_STEP", record_scan.FIELDS_PER_STEP // 10)
    monkeypatch.setattr(record_scan, "_SHORT_FIELDS", record_scan._SHORT_FIELDS // 10)
    record = Record(0, 5, b"k", b"v", [(b"", b"")] * 4_000)
    batch = build_batch([record._replace(offset=n) for n in range(10)], codec=codec)
    seen, steps = scanned_in_steps(batch)
    assert seen == scan(batch)
    assert steps >= 5
    assert not is_scanned_at_once(batch)
    assert is_scanned_at_once(build_batch([record._replace(headers=record.headers[:100])], codec=codec))


def is_scanned_at_once(batch: bytes) -> bool:
    """Whether a scan is short."""
    try:
        return short_scan(batch, parse_header(batch)) == scan(batch)._replace(recompressed=LATER)
    except LongScan:
        return False

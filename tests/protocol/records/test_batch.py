"""Record batches: header, checksum, patching, building and reading; vectors come from aiokafka and kafka-python."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.protocol.records.batch import (
    build_batch,
    check_crc,
    parse_header,
    peek,
    plain_records,
    read_records,
    split_batches,
    with_base_offset,
    with_times,
)
from fakebroker.protocol.records.batch_format import HEADER_BYTES
from fakebroker.protocol.records.faults import CorruptBatch, InvalidRecord
from fakebroker.protocol.records.record_codec import Record
from tests.protocol.records.client_libraries import AioBatch, AioBatchBuilder, PythonBatch, PythonBatchBuilder
from tests.protocol.records.strategies import as_records, contents, tidy

CODECS = [0, 1, 2, 3, 4]
SOME = [
    Record(0, 1000, b"k0", b"v0" * 200),
    Record(1, 900, None, b"v1", ((b"trace", b"1"), (b"none", None))),
    Record(2, 5000, b"", None),
]


@pytest.mark.rules("RB-1", "RB-3", "RB-4", "RB-6", "RC-4")
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("builder_class", [AioBatchBuilder, PythonBatchBuilder])
def test_reads_what_others_write(builder_class: type, codec: int) -> None:
    """A batch built by a client library reads as the records it was given, checksum and header included."""
    builder = builder_class(
        magic=2,
        compression_type=codec,
        is_transactional=1,
        producer_id=9,
        producer_epoch=3,
        base_sequence=7,
        batch_size=1 << 20,
    )
    for record in SOME:
        headers = [(name.decode(), value) for name, value in record.headers]
        builder.append(
            record.offset, timestamp=record.timestamp_ms, key=record.key, value=record.value, headers=headers
        )
    batch = bytes(builder.build())
    header = parse_header(batch)
    check_crc(batch, header)
    assert tidy(read_records(batch)) == SOME
    assert (header.codec, header.is_transactional, header.is_control, header.is_log_append_time) == (
        codec,
        True,
        False,
        False,
    )
    assert (header.producer_id, header.producer_epoch, header.base_sequence, header.last_sequence) == (9, 3, 7, 9)
    assert (header.records_count, header.last_offset, header.size_bytes) == (3, 2, len(batch))
    assert (header.base_timestamp_ms, header.max_timestamp_ms) == (1000, 5000)


@pytest.mark.rules("RB-1", "RB-2", "RB-4", "RC-4")
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("reader_class", [AioBatch, PythonBatch])
def test_others_read_what_is_written(reader_class: type, codec: int) -> None:
    """Client libraries find the checksum right and read the same records."""
    records = [record._replace(offset=record.offset + 40) for record in SOME]
    batch = reader_class(build_batch(records, codec=codec))
    assert batch.validate_crc()
    read = [(r.offset, r.timestamp, r.key, r.value, [(n.encode(), v) for n, v in r.headers]) for r in batch]
    assert read == [(*record[:4], list(record.headers)) for record in records]


@pytest.mark.rules("RB-1", "RB-4")
@given(contents, st.integers(0, 2**40), st.sampled_from(CODECS))
def test_round_trip(content: list[tuple[Any, ...]], base_offset: int, codec: int) -> None:
    """What is built is read, whatever is in the records."""
    records = as_records(content, base_offset)
    assert tidy(read_records(build_batch(records, codec=codec))) == records


@pytest.mark.rules("RB-2", "RB-5")
def test_base_offset_and_epoch_are_outside_of_the_checksum() -> None:
    """Moving a batch changes the offsets of its records and nothing else."""
    batch = with_base_offset(build_batch(SOME, codec=1), 1 << 40, 17)
    header = parse_header(batch)
    check_crc(batch, header)
    assert (header.base_offset, header.leader_epoch) == (1 << 40, 17)
    assert [r.offset for r in read_records(batch)] == [(1 << 40) + n for n in range(3)]


@pytest.mark.rules("RB-5", "RB-6", "PD-20")
def test_log_append_time_rewrites_the_header_only() -> None:
    """Bit 3 and the maximum timestamp give every record the same time; deltas stay as they were sent."""
    sent = build_batch(SOME)
    stored = with_times(sent, attributes=8, max_timestamp_ms=77)
    check_crc(stored, parse_header(stored))
    assert {r.timestamp_ms for r in read_records(stored)} == {77}
    assert stored[HEADER_BYTES:] == sent[HEADER_BYTES:]
    assert parse_header(stored).base_timestamp_ms == 1000


@pytest.mark.rules("RB-6", "RC-3")
def test_defaults_and_flags() -> None:
    """Without a producer id, epoch and sequence are -1; flags stand in their bits."""
    plain = parse_header(build_batch(plain_records([(b"k", b"v")], 5)))
    assert (plain.producer_id, plain.producer_epoch, plain.base_sequence, plain.last_sequence) == (-1, -1, -1, -1)
    marker = build_batch(SOME[:1], control=True, transactional=True, producer_id=1, producer_epoch=2)
    assert parse_header(marker).attributes == 48
    assert parse_header(build_batch(SOME, log_append_time_ms=99)).max_timestamp_ms == 99


@pytest.mark.rules("RB-7")
def test_sequences_wrap() -> None:
    """After 2147483647 comes 0, also inside a batch."""
    assert parse_header(build_batch(SOME, producer_id=1, base_sequence=2**31 - 2)).last_sequence == 0


@pytest.mark.rules("RC-2")
def test_batches_with_gaps_and_without_records() -> None:
    """Compaction takes records away; base offset and last offset stay."""
    gap = build_batch([SOME[1]], base_offset=0, last_offset_delta=2)
    assert [r.offset for r in read_records(gap)] == [1]
    assert parse_header(gap).last_offset == 2
    empty = build_batch([], base_offset=10, last_offset_delta=2, producer_id=4, base_sequence=0)
    header = parse_header(empty)
    assert (header.records_count, header.base_timestamp_ms, header.max_timestamp_ms, header.last_offset) == (
        0,
        -1,
        -1,
        12,
    )
    assert list(read_records(empty)) == []


@pytest.mark.rules("RB-2")
def test_every_bit_counts_for_the_checksum() -> None:
    """One flipped bit behind byte 21 is found; before it nothing is covered."""
    batch = build_batch(SOME)
    for position in range(17, len(batch)):
        bad = bytearray(batch)
        bad[position] ^= 1
        with pytest.raises(CorruptBatch, match="checksum"):
            check_crc(bytes(bad), parse_header(batch) if position > 20 else parse_header(bytes(bad)))


def test_every_prefix_is_refused() -> None:
    """A batch that is not there as a whole does not parse, and says how much is missing."""
    batch = build_batch(SOME)
    for size in range(len(batch)):
        with pytest.raises(InvalidRecord, match="bytes"):
            parse_header(batch[:size])
        assert peek(batch[:size]) is None
        assert list(split_batches(batch + batch[:size])) == [batch]


@pytest.mark.parametrize("magic", [0, 1, 3, -1])
def test_other_magics_are_named(magic: int) -> None:
    """A header of another format is not taken for one of format 2."""
    batch = bytearray(build_batch(SOME))
    batch[16] = magic & 255
    with pytest.raises(InvalidRecord, match=f"magic {magic};"):
        parse_header(bytes(batch))
    assert peek(bytes(batch)) == (len(batch), magic)


@given(st.data(), st.sampled_from(CODECS))
def test_damaged_batches_read_or_raise_our_error(data: st.DataObject, codec: int) -> None:
    """Whatever bytes change, reading either gives records or raises InvalidRecord."""
    batch = bytearray(build_batch(SOME, codec=codec))
    for _ in range(data.draw(st.integers(1, 3))):
        batch[data.draw(st.integers(0, len(batch) - 1))] = data.draw(st.integers(0, 255))
    try:
        for record in read_records(bytes(batch), limit_bytes=1 << 20):
            assert isinstance(record, Record)
    except InvalidRecord:
        pass

"""Tests of what is checked before a batch is stored, and what is changed in it."""

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.core.logs.appends import AppendError, AppendErrorContent, check_batch, single_batch
from fakebroker.broker.core.logs.bad_records import BadRecordsOfRequest
from fakebroker.broker.core.logs.config import LogConfig
from fakebroker.broker.core.logs.recompression import CODECS
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.pace import AT_ONCE, finished
from fakebroker.protocol.records.batch import assemble, build_batch, crc32c, parse_header, payload_of, read_records
from fakebroker.protocol.records.record_codec import Record
from tests.support.logs import EVERYTHING, NOW, LogsCluster, batch
from tests.support.time import T0

NAME = "t-0"


def refusal_of(data: bytes, **config: Any) -> AppendErrorContent:
    """The error that the batch is refused with, with the records that are wrong."""
    with pytest.raises(AppendError) as refusal:
        check_batch(data, LogConfig(**config), NAME, NOW.wall_ms)
    error = refusal.value
    if error.bad_records is None:
        return error.append_content
    content = finished(BadRecordsOfRequest().content(error.append_content, error.bad_records, AT_ONCE))
    assert content is not None
    return content


def stored(data: bytes, **config: Any) -> bytes:
    return check_batch(data, LogConfig(**config), NAME, NOW.wall_ms).data


def with_header(data: bytes, **fields: Any) -> bytes:
    """The batch with other header fields and the checksum that goes with them."""
    return assemble(parse_header(data)._replace(**fields), data[61:])


def raw(length: int, magic: int = 2, body: bytes = b"") -> bytes:
    return struct.pack(">qiib", 0, length, -1, magic) + body


@pytest.mark.rules("PD-12", "PD-26")
@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", ErrorCode.INVALID_RECORD),
        (b"\0" * 11, ErrorCode.INVALID_RECORD),
        (batch(T0)[:-1], ErrorCode.INVALID_RECORD),
        (batch(T0) * 2, ErrorCode.INVALID_RECORD),
        (raw(56, 0, b"\0" * 51), ErrorCode.INVALID_RECORD),
        (raw(56, 3, b"\0" * 51), ErrorCode.CORRUPT_MESSAGE),
        (raw(56, -1, b"\0" * 51), ErrorCode.CORRUPT_MESSAGE),
        (raw(13, 2, b"\0" * 50), ErrorCode.CORRUPT_MESSAGE),
        (raw(-1, 2, b"\0" * 60), ErrorCode.CORRUPT_MESSAGE),
        (raw(20, 2, b"\0" * 45), ErrorCode.CORRUPT_MESSAGE),
        (raw(99, 3, b"\0" * 51), ErrorCode.CORRUPT_MESSAGE),
        (batch(T0) + b"\0" * 30, ErrorCode.CORRUPT_MESSAGE),
    ],
)
def test_exactly_one_batch(data: bytes, code: ErrorCode) -> None:
    """No batch, two, another format or a length that cannot be: the codes seen on 4.3.1."""
    with pytest.raises(AppendError) as refusal:
        single_batch(data)
    assert refusal.value.code == code


@pytest.mark.rules("PD-12")
def test_only_magic_and_size_faults_are_reported() -> None:
    """The text goes into the answer for a magic or a record size that cannot be."""
    one = batch(T0)
    for data, expected in (
        (raw(56, 3, b"\0" * 51), True),
        (raw(5), True),
        (b"", False),
        (one * 2, False),
        (one + raw(5), False),
    ):
        with pytest.raises(AppendError) as refusal:
            single_batch(data)
        assert refusal.value.show_message is expected


@pytest.mark.rules("PD-15")
def test_an_incomplete_rest_is_dropped() -> None:
    """What follows the batch and is not a whole one does not matter."""
    one = batch(T0)
    for rest in (b"", b"\0" * 11, one[:-1], raw(20, 2, b"\0" * 14)):
        assert single_batch(one + rest) == one


@pytest.mark.rules("PD-12", "PD-13")
def test_zstd_needs_a_newer_request() -> None:
    """Codec 4 is refused with 76 where the request version is too old, codecs that do not exist with -1."""
    for codec, code in ((4, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE), (5, ErrorCode.UNKNOWN_SERVER_ERROR)):
        with pytest.raises(AppendError) as refusal:
            single_batch(with_header(batch(T0), attributes=codec), zstd_allowed=False)
        assert refusal.value.code == code
    assert single_batch(batch(T0, codec=4))
    assert single_batch(batch(T0, codec=1), zstd_allowed=False)


@pytest.mark.rules("PD-10", "PD-14")
@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"base_offset": 1}, ErrorCode.INVALID_RECORD),
        ({"attributes": 5}, ErrorCode.UNKNOWN_SERVER_ERROR),
        ({"attributes": 7}, ErrorCode.UNKNOWN_SERVER_ERROR),
        ({"last_offset_delta": 2}, ErrorCode.INVALID_RECORD),
        ({"last_offset_delta": 0}, ErrorCode.INVALID_RECORD),
        ({"last_offset_delta": -1, "records_count": 0}, ErrorCode.INVALID_RECORD),
        ({"last_offset_delta": 2, "records_count": 3}, ErrorCode.INVALID_RECORD),
        ({"last_offset_delta": 0, "records_count": 1}, ErrorCode.INVALID_RECORD),
        ({"attributes": 32}, ErrorCode.INVALID_RECORD),
        ({"producer_id": 5, "base_sequence": -1}, ErrorCode.INVALID_RECORD),
    ],
)
def test_headers_that_do_not_add_up(fields: dict[str, Any], code: ErrorCode) -> None:
    """Base offset, codec, counts, control bit, producer without sequence."""
    refusal = refusal_of(with_header(batch(T0, T0), **fields))

    assert (refusal.code, refusal.record_errors, refusal.show_message) == (code, (), False)


@pytest.mark.rules("PD-10")
def test_the_order_of_checks() -> None:
    """With several faults at once the first of: base offset, size, checksum, codec, counts, records."""
    worst = bytearray(with_header(batch(T0, T0), base_offset=1, attributes=5 | 32, last_offset_delta=7))
    worst[-1] ^= 1
    size = len(worst)

    assert refusal_of(bytes(worst), max_message_bytes=size - 1).code == ErrorCode.INVALID_RECORD
    worst[7] = 0
    assert refusal_of(bytes(worst), max_message_bytes=size - 1).code == ErrorCode.MESSAGE_TOO_LARGE
    assert refusal_of(bytes(worst)).code == ErrorCode.CORRUPT_MESSAGE
    assert refusal_of(with_header(bytes(worst))).code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert refusal_of(with_header(bytes(worst), attributes=32)).code == ErrorCode.INVALID_RECORD


@pytest.mark.rules("PD-11")
def test_size_counts_the_whole_batch() -> None:
    """Equal to max.message.bytes is fine; after recompression the new size counts; a segment is a limit too."""
    one = batch(T0)
    assert stored(one, max_message_bytes=len(one)) == one
    assert refusal_of(one, max_message_bytes=len(one) - 1).code == ErrorCode.MESSAGE_TOO_LARGE
    packed = batch(T0, value=b"v" * 500, codec=1)
    assert (
        refusal_of(packed, max_message_bytes=300, compression_type="uncompressed").code == ErrorCode.MESSAGE_TOO_LARGE
    )
    assert refusal_of(one, segment_bytes=len(one) - 1).code == ErrorCode.RECORD_LIST_TOO_LARGE


def test_a_batch_shorter_than_its_header() -> None:
    """Code 2, as seen on 4.3.1."""
    assert refusal_of(raw(48, 2, b"\0" * 43)).code == ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_garbage_in_a_compressed_payload(codec: int) -> None:
    """What the codec cannot unpack is answered -1, as Kafka does; so are offsets out of place inside it."""
    garbage = assemble(parse_header(batch(T0, codec=codec)), b"\0\x11\x22\x33\x44")
    misplaced = build_batch(
        [Record(n, T0, b"k", b"v") for n in (0, 2, 2)], base_offset=0, last_offset_delta=2, codec=codec
    )

    assert refusal_of(garbage).code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert refusal_of(misplaced).code == ErrorCode.UNKNOWN_SERVER_ERROR
    result = stored(misplaced, compression_type="uncompressed")
    assert [r.offset for r in read_records(result)] == [0, 1, 2], "rewriting puts them right"


@pytest.mark.parametrize("time_ms", [-2, -5])
def test_timestamps_below_minus_one_cannot_be_rewritten(time_ms: int) -> None:
    """They are stored as they are, but a change of codec fails with -1 (seen on 4.3.1)."""
    assert stored(batch(time_ms, codec=1))
    assert refusal_of(batch(T0, time_ms), compression_type="gzip").code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert (
        refusal_of(batch(time_ms), compression_type="gzip", log_append_time=True).code == ErrorCode.UNKNOWN_SERVER_ERROR
    )


@pytest.mark.rules("PD-10", "PD-17")
def test_bad_records_come_before_offsets_out_of_place() -> None:
    """A compressed batch with both faults is answered 32 with its records (seen on 4.3.1)."""
    records = [Record(n, T0 + 9_000_000, b"k", b"v") for n in (0, 2, 2)]
    sent = build_batch(records, base_offset=0, last_offset_delta=2, codec=1)

    assert len(refusal_of(sent).record_errors) == 3


def test_offsets_out_of_place_are_stored_uncompressed() -> None:
    """Kafka does not look at the offset deltas of an uncompressed batch (seen on 4.3.1)."""
    misplaced = build_batch([Record(n, T0, b"k", b"v") for n in (0, 5, 2)], last_offset_delta=2)

    assert stored(misplaced) == misplaced


@pytest.mark.rules("PD-16", "PD-17")
def test_compacted_topics_need_keys() -> None:
    """Every record without key is named; an empty key is a key."""
    records = [Record(n, T0, key, b"v") for n, key in enumerate((b"a", None, b"", None))]
    refusal = refusal_of(build_batch(records), compact=True)

    assert refusal.code == ErrorCode.INVALID_RECORD
    assert [index for index, _ in refusal.record_errors] == [1, 3]
    assert refusal.show_message
    assert stored(build_batch(records))


@pytest.mark.rules("PD-17", "PD-18", "PD-19")
def test_timestamps_out_of_range() -> None:
    """Too early or too late by the topic's bounds is 32, and wins over missing keys; -1 is always allowed."""
    bounds = {"timestamp_before_max_ms": 100, "timestamp_after_max_ms": 50}
    now_ms = NOW.wall_ms
    for fine in (batch(now_ms - 100, now_ms + 50), batch(-1, -1)):
        assert stored(fine, **bounds) == fine
    times = (now_ms - 101, now_ms, now_ms + 51, -1, -2)
    refusal = refusal_of(batch(*times), **bounds)
    assert refusal.code == ErrorCode.INVALID_TIMESTAMP
    assert [index for index, _ in refusal.record_errors] == [0, 2, 4]
    for time_ms in (now_ms - 101, now_ms + 51):
        assert refusal_of(batch(time_ms), **bounds).code == ErrorCode.INVALID_TIMESTAMP
    keyless = [Record(0, now_ms, None, b"v"), Record(1, now_ms + 51, None, b"v"), Record(2, now_ms + 51, b"k", b"v")]
    refusal = refusal_of(build_batch(keyless), compact=True, **bounds)
    assert refusal.code == ErrorCode.INVALID_TIMESTAMP
    assert [index for index, _ in refusal.record_errors] == [0, 1, 2]
    for few in ((-1, now_ms - 101), (-1, now_ms + 51), (-2, -1), (-2,)):
        assert refusal_of(batch(*few), **bounds).code == ErrorCode.INVALID_TIMESTAMP
    assert stored(batch(*times), log_append_time=True, **bounds)


@pytest.mark.rules("PD-20", "RB-5", "RB-6")
def test_log_append_time() -> None:
    """Bit 3 and the maximum timestamp are set, checksum renewed; base timestamp and deltas stay."""
    sent = batch(T0, T0 + 9)
    result = stored(sent, log_append_time=True)
    header, before = parse_header(result), parse_header(sent)

    assert (header.attributes, header.max_timestamp_ms) == (8, NOW.wall_ms)
    assert header.base_timestamp_ms == before.base_timestamp_ms
    assert result[61:] == sent[61:]
    assert result == with_header(result)
    assert [r.timestamp_ms for r in read_records(result)] == [NOW.wall_ms] * 2
    assert check_batch(sent, LogConfig(log_append_time=True), NAME, NOW.wall_ms).max_timestamp_ms == NOW.wall_ms


@pytest.mark.rules("PD-20", "PD-21")
def test_bit_3_from_a_client() -> None:
    """LogAppendTime topics refuse it for every record; CreateTime topics clear it, but not without a timestamp."""
    sent = batch(T0, T0 + 9, log_append_time_ms=T0 + 500)
    refusal = refusal_of(sent, log_append_time=True)
    assert refusal.code == ErrorCode.INVALID_TIMESTAMP
    assert [index for index, _ in refusal.record_errors] == [0, 1]
    header = parse_header(stored(sent))
    assert (header.attributes, header.max_timestamp_ms) == (0, T0 + 500)
    assert refusal_of(batch(-1, log_append_time_ms=-1)).code == ErrorCode.INVALID_TIMESTAMP


@pytest.mark.rules("PD-21", "RB-5", "LO-25")
@pytest.mark.parametrize("codec", range(5))
def test_the_true_maximum_timestamp(codec: int) -> None:
    """A wrong maximum in the header is put right, with the checksum; a right one leaves every byte alone."""
    sent = batch(T0, T0 + 9, T0 + 3, codec=codec)
    wrong = with_header(sent, max_timestamp_ms=5)

    assert stored(wrong) == sent
    assert stored(sent) == sent
    assert parse_header(stored(batch(-5, -7))).max_timestamp_ms == -1


@pytest.mark.rules("PD-15", "RC-1")
def test_high_attribute_bits_are_kept_unless_rewritten() -> None:
    """Bits 6 and 7 are stored as sent; when the header has to be rewritten bit 7 is lost (seen on 4.3.1)."""
    sent = with_header(batch(T0), attributes=0xC0)

    assert parse_header(stored(sent)).attributes == 0xC0
    assert parse_header(stored(with_header(sent, max_timestamp_ms=5))).attributes == 0x40


@pytest.mark.rules("PD-22")
@pytest.mark.parametrize(("target", "codec"), CODECS.items())
@pytest.mark.parametrize("sent_codec", range(5))
def test_compression_type(target: str, codec: int, sent_codec: int) -> None:
    """Another codec than the topic's is rewritten, all else kept; the same one, or "producer", stays byte for byte."""
    records = [Record(n, T0 + n * 3, b"key" * n, b"v" * 100, ((b"h", None), (b"i", b"1"))) for n in range(3)]
    fields: dict[str, Any] = {"producer_id": 7, "producer_epoch": 2, "base_sequence": 5, "transactional": True}
    sent = build_batch(records, codec=sent_codec, **fields)
    result = stored(sent, compression_type=target)
    header = parse_header(result)

    assert header.codec == codec
    assert [(*r[:4], tuple(r.headers)) for r in read_records(result)] == [tuple(r) for r in records]
    assert (header.producer_id, header.producer_epoch, header.base_sequence, header.is_transactional) == (7, 2, 5, True)
    assert payload_of(result, header) == payload_of(sent, parse_header(sent))
    if codec == sent_codec:
        assert result == sent
    assert stored(sent) == sent


@pytest.mark.rules("PD-22")
@pytest.mark.parametrize(("target", "low", "high"), [("gzip", 1, 9), ("zstd", 1, 19)])
def test_compression_level(target: str, low: int, high: int) -> None:
    """Records are written anew at the topic's level: a higher one packs tighter."""
    text = b"".join(b"user-%d visited page-%d; " % (n * n % 97, n * n % 1009) for n in range(3000))
    sent = build_batch([Record(0, T0, b"k", text)])
    loose, tight = (stored(sent, compression_type=target, compression_level=level) for level in (low, high))

    assert len(tight) < len(loose) < len(sent)


@pytest.mark.rules("PD-14")
@given(st.data(), st.sampled_from([0, 0, 0, 1, 2, 3, 4]), st.booleans())
def test_any_bytes_are_stored_whole_or_refused(data: st.DataObject, codec: int, fits: bool) -> None:
    """Whatever a client sends: it is appended and can be read, or refused with a code and without a trace."""
    sent = bytearray(batch(T0, T0 + 9, value=b"v" * data.draw(st.sampled_from([1, 200])), codec=codec))
    for _ in range(data.draw(st.integers(1, 4))):
        sent[data.draw(st.integers(12, len(sent) - 1))] = data.draw(st.integers(0, 255))
    sent = sent[: data.draw(st.sampled_from([len(sent), len(sent) - 1, 61, 40]))]
    if fits:  # as a client with a bug would send it, checksum and length being right
        struct.pack_into(">i", sent, 8, len(sent) - 12)
        struct.pack_into(">I", sent, 17, crc32c(bytes(sent[21:])))
    log, code = LogsCluster().log(), 0
    try:
        log.append(single_batch(bytes(sent)), NOW)
    except AppendError as refusal:
        code = refusal.code
    if code:
        assert code in {
            ErrorCode.UNKNOWN_SERVER_ERROR,
            ErrorCode.CORRUPT_MESSAGE,
            ErrorCode.INVALID_TIMESTAMP,
            ErrorCode.INVALID_RECORD,
        }
        assert (log.log_end_offset, log.size_bytes, len(log.producers)) == (0, 0, 0)
    else:
        (stored_batch,) = log.read(0, EVERYTHING, EVERYTHING)
        assert len(list(read_records(stored_batch))) == parse_header(stored_batch).records_count
        for target in (0, T0, T0 + 5):
            finished(log.find_by_timestamp(target, EVERYTHING))

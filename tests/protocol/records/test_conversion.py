"""Old message sets into batches, and batches into old message sets."""

import pytest

from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.records import conversion, message_set
from fakebroker.protocol.records.batch import build_batch, check_crc, parse_header, read_records, with_base_offset
from fakebroker.protocol.records.conversion import (
    UNPACKED_SET_BYTES,
    batch_from_message_set,
    mark_old_format,
    message_set_from_batch,
    message_set_parts,
)
from fakebroker.protocol.records.faults import CorruptBatch, InvalidRecord, TooLarge
from fakebroker.protocol.records.message_set import build_message_set, read_message_set, unwrap
from fakebroker.protocol.records.record_codec import Record
from tests.protocol.records.test_message_set import FORMATS, RECORDED, RECORDS, plain


@pytest.mark.rules("PD-30", "PD-31", "LO-29", "MS-7")
@pytest.mark.parametrize(("magic", "codec"), FORMATS)
def test_a_set_becomes_one_batch(magic: int, codec: int) -> None:
    """Offsets count from 0, times stay (format 0 has none: -1), compression stays, no producer appears."""
    shifted = [record._replace(offset=record.offset * 7 + 50) for record in RECORDS]
    batch = batch_from_message_set(build_message_set(shifted, magic, codec=codec))
    assert batch is not None
    header = parse_header(batch)
    check_crc(batch, header)
    assert (header.codec, header.producer_id, header.base_sequence) == (codec, -1, -1)
    expected = [(n, r.timestamp_ms if magic else -1, r.key, r.value) for n, r in enumerate(RECORDS)]
    assert [record[:4] for record in read_records(batch)] == expected


MAX_MESSAGES, RECORDS_PER_PART = 400, 100  # of these tests: a hundredth


@pytest.fixture(autouse=True)
def _lower_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many records as it takes to reach the limits would take seconds to make."""
    monkeypatch.setattr(message_set, "MAX_MESSAGES", MAX_MESSAGES)
    monkeypatch.setattr(conversion, "MAX_MESSAGES", MAX_MESSAGES)
    monkeypatch.setattr(conversion, "RECORDS_PER_PART", RECORDS_PER_PART)


@pytest.mark.parametrize("codec", [0, 1])
def test_very_many_messages_are_refused(codec: int) -> None:
    """A set is converted in one step: 400 KB may unpack to millions of messages."""
    many = [Record(n, 1, None, b"") for n in range(MAX_MESSAGES + 1)]
    with pytest.raises(TooLarge, match="more than 400 messages"):
        batch_from_message_set(build_message_set(many, 1, codec=codec))
    assert batch_from_message_set(build_message_set(many[1:], 1, codec=codec)) is not None


def test_a_set_unpacks_to_little() -> None:
    """The same for the bytes of messages."""
    for size, is_accepted in ((UNPACKED_SET_BYTES - 100, True), (UNPACKED_SET_BYTES, False)):
        data = build_message_set([Record(0, 1, None, bytes(size))], 1, codec=1)
        if is_accepted:
            assert batch_from_message_set(data) is not None
        else:
            with pytest.raises(TooLarge):
                batch_from_message_set(data)


@pytest.mark.rules("PD-31", "MS-2")
def test_no_complete_message_is_nothing() -> None:
    """An empty set and one that ends inside its first message hold nothing to append."""
    assert batch_from_message_set(b"") is None
    assert batch_from_message_set(RECORDED[:34]) is None


@pytest.mark.rules("PD-31")
def test_sets_that_are_refused() -> None:
    """A wrong checksum is 2; two formats in one set, or a compressed message that is not alone, is 87."""
    with pytest.raises(CorruptBatch) as caught:
        batch_from_message_set(RECORDED[:34] + b"z")
    assert caught.value.code == ErrorCode.CORRUPT_MESSAGE
    with pytest.raises(InvalidRecord, match="formats 0 and 1") as refused:
        batch_from_message_set(RECORDED + build_message_set(RECORDS, 0))
    assert refused.value.code == ErrorCode.INVALID_RECORD
    with pytest.raises(InvalidRecord, match="must be the only one"):
        batch_from_message_set(RECORDED + build_message_set(RECORDS, 1, codec=1))


@pytest.mark.rules("MS-3", "MS-4", "MS-6")
@pytest.mark.parametrize(("magic", "codec"), FORMATS)
def test_a_batch_becomes_a_set(magic: int, codec: int) -> None:
    """Each record is one message with its own offset; a compressed batch is one wrapper; headers are dropped."""
    records = [record._replace(headers=[(b"h", b"1")]) for record in RECORDS]
    batch = with_base_offset(build_batch(records, codec=codec), 40, 3)
    data = message_set_from_batch(batch, magic)
    assert plain(data) == [(r.offset + 40, r.timestamp_ms if magic else -1, r.key, r.value) for r in RECORDS]
    assert len(list(read_message_set(data))) == (1 if codec else len(RECORDS))


@pytest.mark.rules("MS-3")
def test_what_old_fetches_do_not_see() -> None:
    """Control batches vanish; so do uncompressed records below the fetch offset, while a wrapper stays whole."""
    assert message_set_from_batch(build_batch(RECORDS[:1], control=True), 1) == b""
    assert [m[0] for m in plain(message_set_from_batch(build_batch(RECORDS), 1, first_offset=2))] == [2, 3]
    wrapper = message_set_from_batch(build_batch(RECORDS, codec=1), 1, first_offset=2)
    assert [m[0] for m in plain(wrapper)] == [0, 1, 2, 3]


@pytest.mark.rules("FT-17")
def test_zstd_cannot_be_converted() -> None:
    """Old formats do not know zstd: code 76."""
    with pytest.raises(InvalidRecord) as caught:
        message_set_from_batch(build_batch(RECORDS, codec=4), 1)
    assert caught.value.code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


@pytest.mark.rules("MS-8")
def test_append_time_survives() -> None:
    """A batch with the broker's time becomes messages with it."""
    for codec in (0, 2):
        data = message_set_from_batch(build_batch(RECORDS, codec=codec, log_append_time_ms=88), 1)
        opened = [m for message in read_message_set(data) for m in unwrap(message)]
        assert {m.timestamp_ms for m in opened} == {88}


def test_times_too_far_apart() -> None:
    """Two times whose difference has no 64 bits are refused rather than stored unreadable."""
    far = [Record(0, -(2**63), b"k", b"v"), Record(1, 2**63 - 1, b"k", b"v")]
    with pytest.raises(InvalidRecord, match="64 bits"):
        batch_from_message_set(build_message_set(far, 1))


def together(parts: list[tuple[list[int], int]]) -> list[int]:
    return [offset for offsets, _ in parts for offset in offsets]


def parts_of(batch: bytes, first_offset: int = 0) -> list[tuple[list[int], int]]:
    """Of each part of the set the offsets, and how many records it took."""
    return [
        ([one.offset for message in read_message_set(part) for one in unwrap(message)], records)
        for part, records in message_set_parts(batch, 1, first_offset)
    ]


@pytest.mark.rules("MS-3", "MS-6")
@pytest.mark.parametrize("codec", [0, 1, 2, 3])
def test_a_large_batch_is_converted_in_parts(codec: int) -> None:
    """No part takes more than so many records, and together they are the batch; what was fetched is left out."""
    count = 2 * RECORDS_PER_PART + 5
    batch = build_batch([Record(n, 1, None, None) for n in range(count)], codec=codec)
    parts = [part for part in parts_of(batch) if part[0]]
    assert [len(offsets) for offsets, _ in parts] == [RECORDS_PER_PART, RECORDS_PER_PART, 5]
    assert together(parts) == list(range(count))
    assert max(records for _, records in parts_of(batch)) == RECORDS_PER_PART
    rest = together(parts_of(batch, count - 10))
    assert rest == list(range(count - 10 if not codec else RECORDS_PER_PART, count))


@pytest.mark.parametrize("codec", [1, 3])
def test_large_records_are_converted_in_parts(codec: int) -> None:
    """So are few records that unpack to very much: others are served while that is unpacked and packed."""
    batch = build_batch([Record(n, 1, None, bytes(1 << 20)) for n in range(20)], codec=codec)
    parts = parts_of(batch)
    assert together(parts) == list(range(20))
    assert max(len(offsets) for offsets, _ in parts) <= 3


def test_a_batch_for_an_old_format_has_few_records() -> None:
    """It is rewritten in one step, as are the sets that are converted on the way in."""
    many = [Record(n, 1, None, b"") for n in range(MAX_MESSAGES + 1)]
    with pytest.raises(TooLarge, match="more than 400 records"):
        mark_old_format(build_batch(many, codec=1), 1)
    with pytest.raises(TooLarge):
        mark_old_format(build_batch([Record(0, 1, None, bytes(UNPACKED_SET_BYTES))], codec=1), 1)
    assert mark_old_format(build_batch(many[1:], codec=1), 1)

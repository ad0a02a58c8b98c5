"""Message sets, formats 0 and 1; vectors come from aiokafka, kafka-python and recorded dialogues."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.protocol.records.batch import split_batches
from fakebroker.protocol.records.compression import compress, decompress
from fakebroker.protocol.records.faults import CorruptBatch, InvalidRecord
from fakebroker.protocol.records.message_set import Message, build_message_set, read_message_set, unwrap
from fakebroker.protocol.records.record_codec import Record
from tests.protocol.records.client_libraries import (
    AioMessages,
    AioMessagesBuilder,
    PythonMessages,
    PythonMessagesBuilder,
)

FORMATS = [(magic, codec) for magic in (0, 1) for codec in (0, 1, 2, 3)]
OTHERS = [each for each in FORMATS if each != (0, 3)]  # the libraries leave out lz4 in format 0
RECORDS = [Record(n, 1000 - n, b"k%d" % n if n else None, b"v%d" % n * 50) for n in range(4)]
RECORDED = bytes.fromhex(  # produced by tests of Kafka 3.9.1 (reference dialogue old_message_format_1)
    "000000000000000000000017f57429d601000000000000001388ffffffff0000000161000000000000000100000017136cb8d701"
    "0000000000000003e8ffffffff0000000162000000000000000200000017fea826f601000000000000001b58ffffffff0000000163"
)


def plain(data: bytes) -> list[tuple[int, int, bytes | None, bytes | None]]:
    """(offset, timestamp, key, value) of every message, wrappers opened."""
    opened = [inner for message in read_message_set(data) for inner in unwrap(message)]
    return [(m.offset, m.timestamp_ms, m.key, m.value) for m in opened]


def expected(magic: int, shift: int = 0) -> list[tuple[int, int, bytes | None, bytes | None]]:
    """What `plain` must say of RECORDS in a format."""
    return [(r.offset + shift, r.timestamp_ms if magic else -1, r.key, r.value) for r in RECORDS]


@pytest.mark.rules("MS-1", "MS-2", "LO-29")
def test_a_recorded_set() -> None:
    """Messages that Kafka 3.9.1 took from a client read as what was recorded, and are written the same way."""
    messages = list(read_message_set(RECORDED))
    assert messages == [
        Message(0, 1, 0, 5000, None, b"a"),
        Message(1, 1, 0, 1000, None, b"b"),
        Message(2, 1, 0, 7000, None, b"c"),
    ]
    assert build_message_set([Record(m.offset, *m[3:]) for m in messages], 1) == RECORDED


@pytest.mark.rules("MS-1", "MS-2", "MS-6")
@pytest.mark.parametrize(("magic", "codec"), OTHERS)
@pytest.mark.parametrize("builder_class", [AioMessagesBuilder, PythonMessagesBuilder])
def test_reads_what_others_write(builder_class: type, magic: int, codec: int) -> None:
    """Sets of client libraries read as the messages they were given, also with a producer's wrapper offset of 0."""
    builder = builder_class(magic=magic, compression_type=codec, batch_size=1 << 20)
    for record in RECORDS:
        builder.append(
            record.offset, timestamp=record.timestamp_ms if magic else None, key=record.key, value=record.value
        )
    assert plain(bytes(builder.build())) == expected(magic, 0)


@pytest.mark.rules("MS-1", "MS-2", "MS-6", "MS-8", "RC-4")
@pytest.mark.parametrize(("magic", "codec"), OTHERS)
@pytest.mark.parametrize("reader_class", [AioMessages, PythonMessages])
def test_others_read_what_is_written(reader_class: type, magic: int, codec: int) -> None:
    """Client libraries find the checksum right and the same offsets, times, keys and values."""
    records = [record._replace(offset=record.offset + 90) for record in RECORDS]
    data = build_message_set(records, magic, codec=codec)
    messages = [reader_class(bytearray(one), magic) for one in split_batches(data)]
    assert all(message.validate_crc() for message in messages)
    read = [(r.offset, r.timestamp if magic else -1, r.key, r.value) for message in messages for r in message]
    assert read == expected(magic, 90)


@pytest.mark.rules("MS-6", "MS-8")
@pytest.mark.parametrize(("magic", "codec"), FORMATS)
def test_round_trip(magic: int, codec: int) -> None:
    """Offsets come back absolute although those inside a wrapper of format 1 are relative."""
    records = [record._replace(offset=record.offset + 90) for record in RECORDS]
    data = build_message_set(records, magic, codec=codec)
    assert plain(data) == expected(magic, 90)
    if codec:
        (wrapper,) = read_message_set(data)
        assert (wrapper.offset, wrapper.key, wrapper.timestamp_ms) == (93, None, 1000 if magic else -1)


@pytest.mark.rules("MS-6")
def test_gaps_inside_a_wrapper() -> None:
    """Relative offsets keep the gaps that compaction left."""
    records = [RECORDS[0]._replace(offset=10), RECORDS[1]._replace(offset=15)]
    for magic in (0, 1):
        assert [m[0] for m in plain(build_message_set(records, magic, codec=1))] == [10, 15]


@pytest.mark.rules("MS-6")
@pytest.mark.parametrize(("magic", "inner"), [(0, [10, 15]), (1, [0, 5])])
def test_offsets_inside_a_wrapper(magic: int, inner: list[int]) -> None:
    """They begin at 0 in format 1 and are absolute in format 0."""
    records = [RECORDS[0]._replace(offset=10), RECORDS[1]._replace(offset=15)]
    (wrapper,) = read_message_set(build_message_set(records, magic, codec=1))
    assert wrapper.value is not None

    assert [message.offset for message in read_message_set(decompress(1, wrapper.value))] == inner


@pytest.mark.rules("MS-8")
def test_log_append_time_overrides() -> None:
    """With bit 3 the wrapper's time is the time of every message inside."""
    for codec in (0, 1):
        assert {m[1] for m in plain(build_message_set(RECORDS, 1, codec=codec, log_append_time_ms=77))} == {77}
    assert {m[1] for m in plain(build_message_set(RECORDS, 0, log_append_time_ms=77))} == {-1}
    (wrapper,) = read_message_set(build_message_set(RECORDS, 1, codec=1))
    broker_time = wrapper._replace(attributes=wrapper.attributes | 8, timestamp_ms=77)
    assert {message.timestamp_ms for message in unwrap(broker_time)} == {77}


@pytest.mark.rules("MS-3")
def test_headers_have_no_place() -> None:
    """Headers are left out."""
    with_headers = [record._replace(headers=[(b"h", b"1")]) for record in RECORDS]
    assert build_message_set(with_headers, 1) == build_message_set(RECORDS, 1)


@pytest.mark.rules("MS-2")
def test_an_incomplete_last_message_is_skipped() -> None:
    """Every prefix reads as the messages that are complete in it."""
    ends = [35, 70, 105]
    for size in range(len(RECORDED)):
        assert len(list(read_message_set(RECORDED[:size]))) == sum(end <= size for end in ends)


@pytest.mark.rules("PD-31", "MS-1")
def test_every_byte_behind_the_checksum_counts() -> None:
    """A changed byte is found, whichever it is."""
    for position in range(12, 35):
        bad = bytearray(RECORDED[:35])
        bad[position] ^= 0x10
        with pytest.raises(CorruptBatch, match="offset 0"):
            list(read_message_set(bytes(bad)))


@pytest.mark.rules("MS-6", "MS-7")
def test_wrappers_that_do_not_add_up() -> None:
    """A wrapper in a wrapper, one of another format, an empty one and one without value are refused by name."""
    inner = build_message_set(RECORDS, 1, codec=1)
    cases = {
        "contains another compressed message": Message(3, 1, 1, 5, None, compress(1, inner)),
        "format 0 is inside a message of format 1": Message(
            3, 1, 1, 5, None, compress(1, build_message_set(RECORDS, 0))
        ),
        "is empty": Message(3, 1, 1, 5, None, compress(1, b"")),
        "has no value": Message(3, 1, 1, 5, None, None),
    }
    for what, message in cases.items():
        with pytest.raises(InvalidRecord, match=what):
            unwrap(message)


@given(st.data())
def test_damaged_sets_read_or_raise_our_error(data: st.DataObject) -> None:
    """Whatever bytes change, and with any bytes behind, reading gives messages or raises our error."""
    magic, codec = data.draw(st.sampled_from(FORMATS))
    damaged = bytearray(build_message_set(RECORDS, magic, codec=codec) + data.draw(st.binary(max_size=40)))
    for _ in range(data.draw(st.integers(0, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    try:
        for message in read_message_set(bytes(damaged)):
            unwrap(message, 1 << 16)
    except InvalidRecord:
        pass

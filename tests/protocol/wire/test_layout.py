"""Layouts know requests like the one that they were made of, templates make answers like theirs."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.protocol.errors import WireError
from fakebroker.protocol.schema import Message
from fakebroker.protocol.schema.runtime import encode_unsigned_varint
from fakebroker.protocol.wire.frame import decode_request_header, encode_request
from fakebroker.protocol.wire.layout import AnswerTemplate, Layout, layout_of
from fakebroker.protocol.wire.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from fakebroker.protocol.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from fakebroker.protocol.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestTopic
from fakebroker.protocol.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from tests.support.frames import OffsetRow

OFFSETS = st.integers(-(2**63), 2**63 - 1)
EPOCHS = st.integers(-(2**31), 2**31 - 1)
# The sizes at which the varint of a compact length grows.
RECORDS = st.integers(0, 300).map(lambda size: b"r" * size) | st.sampled_from(
    [b"x" * size for size in (126, 127, 128, 16382, 16383, 16384, 40_000)]
)


def frame(request: Message, version: int, correlation_id: int = 1, client_id: str | None = "c") -> bytes:
    return encode_request(request, version, correlation_id, client_id)


def layout(frame: bytes, message: type[Message], version: int) -> Layout:
    """The layout of a frame, as a lane makes it."""
    return layout_of(frame, message.locator(version)(frame, decode_request_header(frame)[1]))


def commit(offsets: list[tuple[int, int]], metadata: str = "m") -> OffsetCommitRequest:
    rows: list[OffsetRow] = [(index, offset, epoch, -1, metadata) for index, (offset, epoch) in enumerate(offsets)]
    return OffsetCommitRequest(group_id="g", topics=[OffsetCommitRequestTopic(name="t", partitions=rows)])


def produce(*records: bytes, topic: str = "t") -> ProduceRequest:
    data = [PartitionProduceData(index=index, records=each) for index, each in enumerate(records)]
    return ProduceRequest(acks=1, topic_data=[TopicProduceData(name=topic, partition_data=data)])


@given(
    version=st.integers(6, 9),
    rows=st.lists(st.tuples(EPOCHS, OFFSETS, OFFSETS), min_size=1, max_size=5),
    correlation_id=EPOCHS,
)
def test_numbers(version: int, rows: list[tuple[int, int, int]], correlation_id: int) -> None:
    """A commit of the same partitions is known whatever its offsets and correlation id are, and gives the offsets."""
    first, second = (commit([(offsets[n], epoch) for epoch, *offsets in rows]) for n in range(2))

    found = layout(frame(first, version), OffsetCommitRequest, version).values(frame(second, version, correlation_id))

    assert found == tuple(row[2] for row in rows)


@given(version=st.integers(0, 13), first=RECORDS, second=RECORDS)
def test_bytes_of_any_length(version: int, first: bytes, second: bytes) -> None:
    """A batch of another size for the same partition is known, in compact lengths as well."""
    version = max(version, 3)
    known = layout(frame(produce(first), version), ProduceRequest, version)

    assert known.values(frame(produce(second), version, 5)) == (second,)


@given(version=st.integers(3, 12), records=st.tuples(RECORDS, RECORDS, RECORDS))
def test_only_the_last_bytes_change_their_length(version: int, records: tuple[bytes, bytes, bytes]) -> None:
    """Of two batches the second may be of any length, the first is of the same."""
    known = layout(frame(produce(records[0], records[1]), version), ProduceRequest, version)
    same_size, other = b"s" * len(records[0]), records[0] + b"!"

    assert known.values(frame(produce(same_size, records[2]), version)) == (same_size, records[2])
    assert known.values(frame(produce(other, records[2]), version)) is None


@pytest.mark.parametrize("version", [3, 7, 9, 12])
def test_each_byte_counts(version: int) -> None:
    """A frame of which one byte is another is another request, unless the byte is in the correlation id or in the
    records.
    """
    original = frame(produce(b"first", b"second"), version)
    known = layout(original, ProduceRequest, version)
    varying = {*range(4, 8)}
    for records in (b"first", b"second"):
        at = original.index(records)
        varying |= {*range(at, at + len(records))}

    for at in range(len(original)):
        other = original[:at] + bytes([original[at] ^ 1]) + original[at + 1 :]
        assert (known.values(other) is not None) == (at in varying), at


@given(data=st.data(), version=st.integers(3, 12))
def test_any_other_byte_makes_another_request(data: st.DataObject, version: int) -> None:
    """What a layout gives of a frame with other bytes in it is what decoding the frame gives; if all else that the
    decoder finds is not the same, it gives nothing.
    """
    request = produce(b"r" * data.draw(st.integers(0, 200)))
    original = frame(request, version)
    other = bytearray(original)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(other)))
        other[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=3))

    found = layout(original, ProduceRequest, version).values(bytes(other))

    if found is not None:
        header, start = decode_request_header(bytes(other))
        decoded, end = ProduceRequest.decode(bytes(other), version, start)
        assert (header._replace(correlation_id=1), end) == (decode_request_header(original)[0], len(other))
        assert frame(produce(*found), version) == frame(decoded, version)


@pytest.mark.parametrize("version", [3, 9])
def test_null_is_not_bytes(version: int) -> None:
    """A Produce without records is not like one with them, nor the other way round."""
    without = ProduceRequest(
        acks=1, topic_data=[TopicProduceData(name="t", partition_data=[PartitionProduceData(index=0, records=None)])]
    )

    assert layout(frame(produce(b""), version), ProduceRequest, version).values(frame(without, version)) is None
    assert layout(frame(without, version), ProduceRequest, version).values(frame(produce(b""), version)) is None


@pytest.mark.parametrize("version", [0, 3, 4])
def test_other_requests(version: int) -> None:
    """Another client id, member or length is another request."""
    beat = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    known = layout(frame(beat, version), HeartbeatRequest, version)

    assert known.values(frame(beat, version, 77)) == ()
    assert known.values(frame(beat, version, client_id="d")) is None
    assert known.values(frame(beat, version, client_id=None)) is None
    assert known.values(frame(beat, version) + b"\0") is None
    assert known.values(frame(beat, version)[:-1]) is None
    assert known.values(b"") is None
    other = HeartbeatRequest(group_id="g", generation_id=2, member_id="m")
    assert known.values(frame(other, version)) is None


def test_fields_in_the_order_of_the_wire() -> None:
    """The session's epoch comes before the offsets of its partitions."""

    def fetch(epoch: int, *offsets: int) -> FetchRequest:
        rows = [(index, -1, offset, -1, -1, 100, bytes(16), 2**63 - 1) for index, offset in enumerate(offsets)]
        return FetchRequest(session_id=4, session_epoch=epoch, topics=[FetchTopic(topic="t", partitions=rows)])

    known = layout(frame(fetch(1, 2, 3), 12), FetchRequest, 12)

    assert known.values(frame(fetch(7, 8, 9), 12)) == (7, 8, 9)


def test_a_length_with_more_bytes_than_it_needs() -> None:
    """Such a varint is good to read, but a request with it is not what layouts are made of; later ones are known."""
    usual = frame(produce(b"rec"), 9)
    assert usual.count(b"\x04rec") == 1
    longer = usual.replace(b"\x04rec", b"\x84\x80\x00rec")

    with pytest.raises(WireError, match="more bytes"):
        layout(longer, ProduceRequest, 9)
    assert layout(usual, ProduceRequest, 9).values(longer) == (b"rec",)
    for broken in (b"\xff\xff\xff\xff\xff", b"\x84\x80", encode_unsigned_varint(2**31 + 5), b"\xfe\xff\xff\xff\x07"):
        assert layout(usual, ProduceRequest, 9).values(usual.replace(b"\x04rec", broken)) is None


def test_memory_is_reported() -> None:
    """A layout knows about how much memory it takes: more for more places and longer frames, not for longer records."""
    one, many = (layout(frame(commit([(1, 1)] * count), 8), OffsetCommitRequest, 8) for count in (1, 100))
    short, long = (layout(frame(produce(bytes(size)), 8), ProduceRequest, 8) for size in (10, 100_000))

    assert one.memory_bytes * 10 < many.memory_bytes < 60_000
    assert short.memory_bytes == long.memory_bytes < 1000


# -- answers ---------------------------------------------------------------------------------------------------------


def template(response: Message, version: int) -> AnswerTemplate:
    body = response.encode(version)
    return AnswerTemplate(body, type(response).locator(version)(body, 0))


def joined(answer: bytes | list[bytes]) -> bytes:
    return answer if isinstance(answer, bytes) else b"".join(answer)


def produced(*values: int) -> ProduceResponse:
    base, time, start = values
    entry = PartitionProduceResponse(index=3, base_offset=base, log_append_time_ms=time, log_start_offset=start)
    return ProduceResponse(responses=[TopicProduceResponse(name="t", partition_responses=[entry])])


@given(version=st.integers(5, 12), values=st.tuples(OFFSETS, OFFSETS, OFFSETS))
def test_answers_with_numbers(version: int, values: tuple[int, int, int]) -> None:
    """The template of one answer gives, in one piece, what the encoder gives for another with these values."""
    made = template(produced(1, 2, 3), version)

    assert made.fill(*values) == produced(*values).encode(version)
    assert made.fill(4, 5, 6) == produced(4, 5, 6).encode(version)


def fetched(*entries: tuple[int, int, int, bytes]) -> FetchResponse:
    data = [
        PartitionData(
            partition_index=index, high_watermark=high, last_stable_offset=stable, log_start_offset=start, records=each
        )
        for index, (high, stable, start, each) in enumerate(entries)
    ]
    return FetchResponse(session_id=9, responses=[FetchableTopicResponse(topic="t", partitions=data)])


@given(
    version=st.integers(7, 12),
    entries=st.lists(st.tuples(OFFSETS, OFFSETS, OFFSETS, RECORDS), min_size=1, max_size=3),
)
def test_answers_with_records(version: int, entries: list[Any]) -> None:
    """Records are a piece of their own, which nobody copies, with whatever else of the answer around them."""
    made = template(fetched(*[(0, 0, 0, b"")] * len(entries)), version)

    answer = made.fill(*[value for entry in entries for value in entry])

    assert joined(answer) == fetched(*entries).encode(version)
    assert isinstance(answer, list)
    assert all(any(piece is entry[3] for piece in answer) for entry in entries)


@pytest.mark.parametrize("version", [0, 4])
def test_answers_that_never_vary(version: int) -> None:
    """Without varying fields an answer is the same each time."""
    assert template(HeartbeatResponse(), version).fill() == HeartbeatResponse().encode(version)

"""Frames are cut right wherever the stream is cut, and a bad length says what it looks like."""

import tracemalloc
from itertools import accumulate
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.engine.blocked_link import BlockedBytes
from fakebroker.protocol.errors import WireError
from fakebroker.protocol.wire.framing import FrameReader, guess_protocol, with_length

TLS_HELLO = bytes.fromhex("16030100f8010000f40303")


def read(pieces: list[bytes], limit_bytes: int = 1000) -> list[bytes]:
    reader = FrameReader(limit_bytes)
    frames: list[bytes] = []
    for piece in pieces:
        reader.receive(piece)
        frames += reader.frames()
    return frames


@pytest.mark.rules("AV-1", "AV-11")
@given(frames=st.lists(st.binary(max_size=12), max_size=6), data=st.data())
def test_pieces_do_not_matter(frames: list[bytes], data: st.DataObject) -> None:
    """However the stream is cut into pieces, the same frames come out, in order."""
    stream = b"".join(with_length(frame) for frame in frames)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    pieces = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]

    assert read(pieces) == frames


@pytest.mark.rules("AV-11")
def test_byte_by_byte() -> None:
    """A frame comes out with its last byte, not before."""
    reader = FrameReader(100)
    for byte in with_length(b"abc")[:-1]:
        reader.receive(bytes([byte]))
        assert list(reader.frames()) == []

    reader.receive(b"c")
    assert list(reader.frames()) == [b"abc"]


@pytest.mark.parametrize("size", [1, 2, 100, 1000])
def test_what_waits_in_short_pieces_takes_little_more_than_its_bytes(size: int) -> None:
    """Also in front of a broker that is frozen; it comes out in its order."""
    kept, data = BlockedBytes(), Random(size).randbytes(200_000)
    tracemalloc.start()
    for start in range(0, len(data), size):
        kept.receive(bytes(bytearray(data[start : start + size])))
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert taken < 1.3 * len(data)
    assert b"".join(kept.take()) == data


@pytest.mark.parametrize("size", [1, 2, 100, 1000])
def test_a_frame_in_short_pieces_takes_little_more_than_its_bytes(size: int) -> None:
    """Whoever sends two bytes at a time has the broker keep 41 more for each, unless they are joined."""
    reader, frame = FrameReader(1 << 20), with_length(bytes(200_000))
    tracemalloc.start()
    for start in range(0, len(frame) - 1, size):
        reader.receive(bytes(bytearray(frame[start : start + size])))
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert taken < 1.3 * len(frame)
    reader.receive(frame[reader.buffered_bytes :])
    assert list(reader.frames()) == [frame[4:]]


@pytest.mark.rules("AV-11")
@given(sizes=st.lists(st.integers(1, 700), min_size=300, max_size=1500), first=st.integers(0, 20))
def test_short_pieces_are_joined_in_their_order(sizes: list[int], first: int) -> None:
    """Also behind a frame that was cut out of the first piece already."""
    frame = with_length(Random(len(sizes)).randbytes(sum(sizes)))
    reader = FrameReader(1 << 20)
    reader.put_back(with_length(bytes(first)) + frame[:2], 4 + first)
    for end, size in zip(accumulate(sizes, initial=2), sizes, strict=False):
        reader.receive(frame[end : end + size])
    reader.receive(frame[sum(sizes) + 2 :])

    assert list(reader.frames()) == [frame[4:]]


@pytest.mark.rules("AV-3")
def test_the_limit_itself_is_fine() -> None:
    """A frame of exactly the limit passes, one byte more does not."""
    assert read([with_length(bytes(10))], limit_bytes=10) == [bytes(10)]
    with pytest.raises(WireError, match="a frame of 11 bytes"):
        read([with_length(bytes(11))], limit_bytes=10)


@pytest.mark.rules("AV-3")
def test_a_negative_length_is_refused_after_the_frames_before_it() -> None:
    """What came before a bad length is still read; the bad length then raises, every time."""
    reader = FrameReader(100)
    reader.receive(with_length(b"good") + b"\xff\xff\xff\xff")
    frames = reader.frames()

    assert next(frames) == b"good"
    with pytest.raises(WireError, match="a frame of -1 bytes"):
        next(frames)
    with pytest.raises(WireError, match="a frame of -1 bytes"):
        list(reader.frames())


def test_a_reader_left_in_the_middle_goes_on_there() -> None:
    """Whoever stops after one frame gets the next one later."""
    reader = FrameReader(100)
    reader.receive(with_length(b"one") + with_length(b"two"))
    for frame in reader.frames():
        assert frame == b"one"
        break

    assert list(reader.frames()) == [b"two"]


@pytest.mark.parametrize(
    ("start", "words"),
    [
        (TLS_HELLO, "TLS handshake"),
        (b"GET / HTTP/1.1\r\n", "HTTP"),
        (b"hello broker\r\n", "text: 'hello broker"),
        (b"\x00\x00\x00\x10\x00\x12\x00\x03", ""),
        (b"", ""),
    ],
)
def test_strangers_are_recognised(start: bytes, words: str) -> None:
    """TLS, HTTP and other text are named; bytes that look like nothing known are not commented."""
    assert words in guess_protocol(start)
    assert bool(words) == bool(guess_protocol(start))


def test_little_of_a_text_is_shown() -> None:
    """As kafka-python writes a login by PLAIN; the password comes behind the name, twice."""
    assert guess_protocol(b"jonathan\0jonathan\0hunter22") == r"; this looks like text: 'jonathan\x00jonatha'"


def test_the_error_carries_the_hint() -> None:
    """A TLS client that connects to a plain port gets an error."""
    with pytest.raises(WireError, match="TLS"):
        read([TLS_HELLO])


def test_what_is_missing_is_known_with_the_length() -> None:
    """Nothing while the length is incomplete; then what makes the frame whole; nothing when it is whole."""
    reader = FrameReader(1000)
    stream = with_length(b"x" * 10)
    missing = []
    for end in (3, 4, 13, 14):
        reader.put_back(stream[:end], 0)
        reader.measure()
        missing.append(reader.missing_bytes)
    assert missing == [0, 10, 1, 0]

"""Frames are cut right wherever the stream is cut, and a bad length says what it looks like."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

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

"""Varints, and the helpers of generated code that no message reaches easily."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.protocol.errors import WireError
from fakebroker.protocol.schema.runtime import (
    LENGTHS,
    MAX_STRING_BYTES,
    MAX_TAGS,
    REPLACED,
    encode_unsigned_varint,
    long_length,
    read_tags,
    read_unsigned_varint,
)


@pytest.mark.rules("GEN-4")
@given(value=st.integers(0, 2**32 - 1))
def test_varints_there_and_back(value: int) -> None:
    """A varint is read as it was written, and ends where it says."""
    encoded = encode_unsigned_varint(value)

    assert read_unsigned_varint(b"x" + encoded + b"\x80", 1) == (value, 1 + len(encoded))


@pytest.mark.parametrize(
    ("value", "encoded"), [(0, "00"), (1, "01"), (127, "7f"), (128, "8001"), (300, "ac02"), (2**32 - 1, "ffffffff0f")]
)
def test_varint_vectors(value: int, encoded: str) -> None:
    """Seven bits a byte, lowest first."""
    assert encode_unsigned_varint(value).hex() == encoded


@pytest.mark.parametrize("value", [-1, 2**32])
def test_varints_have_32_bits(value: int) -> None:
    """Other numbers are refused."""
    with pytest.raises(WireError, match=f"{value} does not fit"):
        encode_unsigned_varint(value)


@pytest.mark.parametrize("encoded", ["8080808010", "ffffffff7f", "808080808000", "ffffffffffffffffff01"])
def test_longer_varints_are_refused(encoded: str) -> None:
    """More than 32 bits, or more than five bytes, raise WireError."""
    with pytest.raises(WireError, match="does not fit into 32 bits"):
        read_unsigned_varint(bytes.fromhex(encoded), 0)


def test_the_table_of_lengths() -> None:
    """It encodes length plus one; its last entry, at -1, is null."""
    assert [LENGTHS[n] for n in (-1, 0, 1, 126)] == [b"\x00", b"\x01", b"\x02", b"\x7f"]
    assert len(LENGTHS) == 128


def test_an_impossible_length() -> None:
    """Nothing longer than an int32 is written."""
    with pytest.raises(WireError, match="too large"):
        long_length(2**31 - 1)


def test_too_many_tags() -> None:
    """A tagged section is read in one turn, so it may not be any length."""
    section = b"".join(encode_unsigned_varint(tag) + b"\0" for tag in range(MAX_TAGS + 1))
    count = encode_unsigned_varint(MAX_TAGS)
    assert len(read_tags(count[0], count + section, 1)[0]) == MAX_TAGS
    count = encode_unsigned_varint(MAX_TAGS + 1)
    with pytest.raises(WireError, match=f"{MAX_TAGS + 1} fields; at most {MAX_TAGS} are read"):
        read_tags(count[0], count + section, 1)


def test_more_than_127_tags() -> None:
    """The count of tags is a varint too."""
    section = b"".join(encode_unsigned_varint(tag) + b"\x01z" for tag in range(200))

    tags, end = read_tags(encode_unsigned_varint(200)[0], encode_unsigned_varint(200) + section, 1)

    assert tags == dict.fromkeys(range(200), b"z")
    assert end == 2 + len(section)


@given(
    parts=st.lists(st.tuples(st.sampled_from([b"a", b"\xff", b"\xe2\x82", "\u20ac".encode()]), st.integers(0, 12_000)))
)
def test_what_is_not_utf_8_is_replaced_if_a_string_can_hold_that(parts: list[tuple[bytes, int]]) -> None:
    """Each U+FFFD takes three bytes: a name of 20 KB may become one that neither a record nor an answer can have."""
    data = b"".join(part * times for part, times in parts)[:MAX_STRING_BYTES]
    replaced = data.decode("utf-8", "replace")
    if len(replaced.encode()) <= MAX_STRING_BYTES:
        assert data.decode("utf-8", REPLACED) == replaced
    else:
        with pytest.raises(WireError, match=r"a string that is not UTF-8 has \d+ bytes with U\+FFFD"):
            data.decode("utf-8", REPLACED)

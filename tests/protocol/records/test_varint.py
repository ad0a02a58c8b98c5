"""Zigzag varints."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.protocol.records.faults import InvalidRecord
from fakebroker.protocol.records.varint import decode_zigzag_varint, encode_zigzag_varint


@pytest.mark.rules("RB-4")
@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (0, "00"),
        (-1, "01"),
        (1, "02"),
        (63, "7e"),
        (64, "8001"),
        (-65, "8101"),
        (300, "d804"),
        (2**31 - 1, "feffffff0f"),
    ],
)
def test_known_values(value: int, encoded: str) -> None:
    """Small magnitudes of either sign take few bytes."""
    assert encode_zigzag_varint(value).hex() == encoded
    assert decode_zigzag_varint(bytes.fromhex(encoded), 0) == (value, len(encoded) // 2)


@given(st.integers(-(2**63), 2**63 - 1), st.binary(max_size=3))
def test_round_trip(value: int, before: bytes) -> None:
    """Every 64-bit value comes back, wherever it stands."""
    data = before + encode_zigzag_varint(value) + b"\x80"
    assert decode_zigzag_varint(data, len(before), 10) == (value, len(data) - 1)


@pytest.mark.parametrize("data", ["", "80", "ffffff", "8080808080", "808080808001", "ffffffffff7f"])
def test_bad_32_bit_varints(data: str) -> None:
    """One that ends too early or goes on for too long is a fault."""
    with pytest.raises(InvalidRecord, match=r"varint at byte 0|inside the varint"):
        decode_zigzag_varint(bytes.fromhex(data), 0)


def test_more_bits_than_there_are() -> None:
    """Ten bytes can hold 70 bits; only 64 are taken, in both directions."""
    with pytest.raises(InvalidRecord, match="too long for 64 bits"):
        decode_zigzag_varint(b"\xff" * 9 + b"\x7f", 0, 10)
    with pytest.raises(InvalidRecord, match="too long for 32 bits"):
        decode_zigzag_varint(b"\xff" * 4 + b"\x7f", 0)
    with pytest.raises(InvalidRecord, match="does not fit into 64 bits"):
        encode_zigzag_varint(2**63)

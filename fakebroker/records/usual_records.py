"""Usual records, one by one: the hottest loop of Produce, through which goes every record that is in no run.

A record is usual if it has no headers, its length, its deltas and the lengths of key and value are varints of at most
two bytes, its offset delta is its index in the batch, and everything in it is right. batch_format.py draws a record.

The deltas of neighbours nearly always agree in width. So there is a `Struct` for each of the four cases, which reads
all fields up to the length of the value at once. Lengths are looked up in tables by their bytes, since arithmetic with
bits costs CPython more: the sum for both bytes is how many bytes the varint takes together with what it counts. For
bytes that are not right that is more than any batch has, so that one comparison finds them. Deltas of two bytes are
read as one little-endian number, first + 256 * second, here called raw: it is right if bit 7 of its first byte is set
and that of the second is not. Deltas stay in zigzag, where n >= 0 is 2n.
"""

from collections.abc import Callable
from struct import Struct
from struct import error as TooShort  # noqa: N812
from typing import NamedTuple

NO_DELTAS = 1 << 65, -1 << 65
"""Lowest and highest timestamp delta of no records: neither is the lowest or highest of anything."""

_PAGE = 64  # records whose offset deltas differ in one byte only
_MOST_RECORDS = 8192  # whose offset deltas have two bytes at most
_WRONG = 1 << 40  # bytes

# By the value of a byte: of a length of one byte (-1, which is 1 in zigzag, is null and counts nothing), then the first
# and the second of two.
_SINGLE = tuple(1 + (b >> 1) if b < 128 and (b & 1 == 0 or b == 1) else _WRONG for b in range(256))
_FIRST = tuple(2 + (b - 128 >> 1) if b > 127 and b & 1 == 0 else _WRONG for b in range(256))
_SECOND = tuple(b << 6 if b < 128 else _WRONG for b in range(256))
_FIRST_OF_LENGTH = tuple(bytes_counted - 1 for bytes_counted in _FIRST)  # the record is counted from the second on


def bytes_counted(data: bytes, at: int) -> int:
    """How many bytes the length at position `at` takes together with what it counts.

    Of a length that is not usual (three bytes or more, below -1), more than there can be.
    """
    length = data[at]
    return _SINGLE[length] if length < 128 else _FIRST[length] + _SECOND[data[at + 1]]


class _Widths(NamedTuple):
    """How to read records whose timestamp delta and offset delta have certain widths."""

    unpack: Callable[[bytes, int], tuple[int, ...]]  # from the length's last byte on: it, deltas, key length, two bytes
    delta_mask: int
    delta_bits: int  # what the mask leaves of a raw delta that is right and not negative
    fixed: int  # bytes of all but the lengths of key and value and what they count; of the record's length the last


def _widths(long_delta: int, long_offset: int) -> _Widths:
    return _Widths(
        Struct(f"<Bx{'BH'[long_delta]}{'BH'[long_offset]}BBB").unpack_from,
        *((0x8081, 0x80) if long_delta else (0x81, 0)),
        5 + long_delta + long_offset,
    )


_WIDTHS = [[_widths(delta, offset) for offset in (0, 1)] for delta in (0, 1)]


def scan_usual(data: bytes, at: int, index: int, count: int) -> tuple[int, int, int, int, bool]:
    """Scan usual records from the `index`-th on, which is at position `at`, up to but without the `count`-th.

    Ends earlier at a record that is not usual or has deltas of another width than the first one, and before every
    record whose index is a multiple of 64. Returns the position after the last record, the index of the record there,
    the lowest and highest timestamp delta (ms; NO_DELTAS if there was no record), and whether a key was null.

    Long because it is flat: calls would double the cost of Produce.
    """
    if index >= _MOST_RECORDS:
        return at, index, *NO_DELTAS, False
    begin, last_delta, delta_bits, low, high, has_null_key = index, -1, 0, 1 << 16, -1, False
    page = index & -_PAGE
    raw = 2 * (index - page) + (4 * page + 128 if page else 0)  # the offset delta of the first record
    single, first, first_of_length, second = _SINGLE, _FIRST, _FIRST_OF_LENGTH, _SECOND
    try:
        long_delta = data[at + 2 + (data[at] > 127)] > 127
        unpack, delta_mask, delta_bits, fixed = _WIDTHS[long_delta][page > 0]
        for raw_offset in range(raw, raw + 2 * (min(count, page + _PAGE) - index), 2):
            here, length = at, data[at]
            if length < 128:
                _, delta, offset, key, value_0, value_1 = unpack(data, here)
                step = single[length]
            else:
                here += 1
                second_byte, delta, offset, key, value_0, value_1 = unpack(data, here)
                step = first_of_length[length] + second[second_byte]
            if offset != raw_offset:
                break
            if delta != last_delta:
                if delta & delta_mask != delta_bits:
                    break
                last_delta = delta
                # Also if something else of this record is not usual: its delta is what it is.
                if delta > high:
                    high = delta
                if delta < low:
                    low = delta
            if key == 1:
                has_null_key = True
                rest = step - fixed - 1
            else:
                # For a key length of two bytes, the second is where that of the value would begin.
                with_key = fixed + (single[key] if key < 128 else first[key] + second[value_0])
                rest = step - with_key
                value_at = here + with_key - 1
                value_0, value_1 = data[value_at], data[value_at + 1]
            # What is left for the value must be what its length says, and there must be no headers.
            end = here + step
            if rest != (single[value_0] if value_0 < 128 else first[value_0] + second[value_1]) or data[end - 1]:
                break
            at = end
            index += 1
    except (IndexError, TooShort):
        pass  # a record that is cut off, or is the last and as short as can be
    if index == begin:
        return at, index, *NO_DELTAS, False
    if delta_bits:
        low, high = low - 128 - (low >> 8 << 7), high - 128 - (high >> 8 << 7)
    return at, index, low >> 1, high >> 1, has_null_key

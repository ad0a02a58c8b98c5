"""Usual records, one by one: the hottest loop of Produce, through which goes every record that is in no run.

A record is usual if it has no headers, its length, its deltas and the lengths of key and value are varints of at most
two bytes, its offset delta is its index in the batch, and everything in it is right. batch_format.py draws a record.

A `Struct` reads all fields up to the length of the value at once, by the widths of the record's length, which its first
byte tells, and of the deltas: the timestamp delta is taken to be as wide as the last one, and read again if it is not.
Lengths are looked up in tables by their bytes, since arithmetic with bits costs CPython more: the sum for both bytes is
how many bytes the varint takes together with what it counts. For bytes that are not right that is more than any batch
has, so that one comparison finds them. Deltas of two bytes are read as one little-endian number, first + 256 * second,
here called raw: it is right if bit 7 of its first byte is set and that of the second is not. Deltas stay in zigzag,
where n >= 0 is 2n; of those that are right, of one byte or of two that are needed, the larger has the larger raw.
"""

from collections.abc import Callable
from struct import Struct
from struct import error as TooShort  # noqa: N812

NO_DELTAS = 1 << 65, -1 << 65
"""Lowest and highest timestamp delta of no records: neither is the lowest or highest of anything."""

_PAGE = 64  # records whose offset deltas differ in one byte only
_MAX_RECORDS = 8192  # whose offset deltas have two bytes at most
_WRONG = 1 << 40  # bytes

# By the value of a byte: of a length of one byte (-1, which is 1 in zigzag, is null and counts nothing), then the first
# and the second of two.
_SINGLE = tuple(1 + (b >> 1) if b < 128 and (b & 1 == 0 or b == 1) else _WRONG for b in range(256))
_FIRST = tuple(2 + (b - 128 >> 1) if b > 127 and b & 1 == 0 else _WRONG for b in range(256))
_SECOND = tuple(b << 6 if b < 128 else _WRONG for b in range(256))

# How far the last byte of a record is from its first, by the bytes of its length; _SECOND is added to the latter.
_TO_LAST = tuple(bytes_counted - 1 for bytes_counted in _SINGLE)
_TO_LAST_FIRST = tuple(bytes_counted - 1 for bytes_counted in _FIRST)


def bytes_counted(data: bytes, at: int) -> int:
    """How many bytes the length at position `at` takes together with what it counts.

    Of a length that is not usual (three bytes or more, below -1), more than there can be.
    """
    length = data[at]
    return _SINGLE[length] if length < 128 else _FIRST[length] + _SECOND[data[at + 1]]


_Unpack = Callable[[bytes, int], tuple[int, ...]]


def _widths(long_delta: int, long_offset: int) -> tuple[_Unpack, _Unpack, int, int, int, int]:
    """How to read records whose timestamp delta and offset delta have certain widths.

    Two functions, for records whose length has one byte and two: they read the last byte of the length, the deltas, the
    length of the key and the two bytes after it. A mask, and what it leaves of a raw delta that is right and not
    negative; the least raw delta that needs so many bytes. How far the key's length is from the first byte of a record
    whose length has one byte.
    """
    fields = f"x{'BH'[long_delta]}{'BH'[long_offset]}BBB"
    mask, bits, least = (0x8081, 0x80, 0x100) if long_delta else (0x81, 0, 0)
    to_key = 4 + long_delta + long_offset
    return Struct(f"<B{fields}").unpack_from, Struct(f"<xB{fields}").unpack_from, mask, bits, least, to_key


_WIDTHS = [[_widths(delta, offset) for delta in (0, 1)] for offset in (0, 1)]  # by widths of offset and timestamp delta


def scan_usual(data: bytes, at: int, index: int, count: int) -> tuple[int, int, int, int, bool]:
    """Scan usual records from the `index`-th on, which is at position `at`, up to but without the `count`-th.

    Ends earlier at a record that is not usual, and before every record whose index is a multiple of 64. Returns the
    position after the last record, the index of the record there, the lowest and highest timestamp delta (ms; NO_DELTAS
    if there was no record), and whether a key was null.

    Long because it is flat: calls would double the cost of Produce.
    """
    if index >= _MAX_RECORDS:
        return at, index, *NO_DELTAS, False
    begin, last_delta, low, high, has_null_key = index, -1, 1 << 16, -1, False
    page = index & -_PAGE
    end = page + _PAGE if count > page + _PAGE else count
    raw = 2 * (index - page) + (4 * page + 128 if page else 0)  # the offset delta of the first record
    single, first, second, to_last_short, to_last_long = _SINGLE, _FIRST, _SECOND, _TO_LAST, _TO_LAST_FIRST
    widths, long_delta = _WIDTHS[1 if page else 0], 0
    unpack_short, unpack_long, delta_mask, delta_bits, least_delta, to_key = widths[long_delta]
    try:
        for raw_offset in range(raw, raw + 2 * (end - index), 2):
            length = data[at]
            if length < 128:
                _, delta, offset, key, value_0, value_1 = unpack_short(data, at)
                to_last, to_value = to_last_short[length], to_key
            else:
                length_1, delta, offset, key, value_0, value_1 = unpack_long(data, at)
                if length_1 > 127:
                    break  # what was read are other fields
                to_last, to_value = to_last_long[length] + second[length_1], to_key + 1
            if delta != last_delta:
                if delta & delta_mask != delta_bits:
                    # Not as wide as the one before, if it is right at all.
                    to_value -= to_key
                    long_delta = 1 - long_delta
                    unpack_short, unpack_long, delta_mask, delta_bits, least_delta, to_key = widths[long_delta]
                    to_value += to_key
                    _, delta, offset, key, value_0, value_1 = (unpack_short if length < 128 else unpack_long)(data, at)
                    if delta & delta_mask != delta_bits:
                        break
                if delta < least_delta:
                    break
                last_delta = delta
                # Also if something else of this record is not usual: its delta is what it is.
                if delta > high:
                    high = delta
                if delta < low:
                    low = delta
            if offset != raw_offset:
                break
            # What is left for the value must be what its length says, and there must be no headers.
            if key == 1:
                has_null_key = True
                to_value += 1
                value_bytes = single[value_0] if value_0 < 128 else first[value_0] + second[value_1]
            else:
                # For a key length of two bytes, the second is where that of the value would begin.
                to_value += single[key] if key < 128 else first[key] + second[value_0]
                value_at = at + to_value
                value_0 = data[value_at]
                value_bytes = single[value_0] if value_0 < 128 else first[value_0] + second[data[value_at + 1]]
            last = at + to_last
            if value_bytes != to_last - to_value or data[last]:
                break
            at = last + 1
            index += 1
    except (IndexError, TooShort):
        pass  # a record that is cut off, or is the last and as short as can be
    if index == begin:
        return at, index, *NO_DELTAS, False
    return at, index, _delta_of(low), _delta_of(high), has_null_key


def _delta_of(raw: int) -> int:
    """The delta (ms) that is not negative and has this raw form."""
    return raw >> 1 if raw < 128 else raw - 128 - (raw >> 8 << 7) >> 1

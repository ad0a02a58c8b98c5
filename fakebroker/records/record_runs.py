"""Runs of records that are laid out alike, as from a producer whose keys and values have one length each.

Records of one layout stand at equal distances, `step` bytes, and their headers (layout.py) differ in the two deltas
only. The slice `data[p::step]` takes the byte at the same place out of each record: a column. Columns are
compared in C, all records at once, which costs less than the flat loop spends on a single record. Here step is 9:

    record 0   10 00 00 00 02 k  02 v  00       length 8, attributes, deltas 0 and 0, key "k", value "v", no headers
    record 1   10 00 06 02 02 k  02 v  00       timestamp delta 3 (6 in zigzag), offset delta 1 (2 in zigzag)
    record 2   10 00 08 04 02 k  02 v  00
               ^^ same  ^^^^ offset delta: 2 * index
                     ^^ timestamp delta: free, but of one byte
                           ^^ same ^^ same ^^ same

The attributes (second column), keys and values may be anything: they are not checked.
"""

from array import array
from sys import byteorder

from fakebroker.records.usual_records import bytes_counted

Run = tuple[int, int, int, int, bool]
"""Position after its records, index of the record there, lowest and highest timestamp delta (ms), is a key null."""

FEWEST_IN_RUN = 8
"""Fewer records are scanned as fast one by one."""

_MOST_IN_RUN = 1024  # for a batch that is no run must not pay for long columns

# Columns of varints that are even in zigzag, that is not negative; negative ones are left to others.
_ONE_BYTE = bytes(range(0, 128, 2))  # the varint of n at index n, for n < 64
_LOW = bytes(delta << 1 & 127 | 128 for delta in range(8192))  # the first byte of the two-byte varint of n at index n
_HIGH = bytes(delta >> 6 for delta in range(8192))  # and its second byte
_ANY_HIGH = bytes(range(128))


def scan_run(data: bytes, at: int, index: int, count: int) -> Run | None:
    """Scan a run of records: from the `index`-th on, which is at position `at`, up to but without the `count`-th.

    None if there are too few that begin alike, or one of these is otherwise: a run counts only if all its records are
    right in everything that `scan_usual` checks.
    """
    # As many as there is room for, and of these as many as begin with the same byte of their length.
    step = bytes_counted(data, at)
    most = min(count - index, (len(data) - at) // step, _MOST_IN_RUN)
    lengths = data[at : at + step * most : step]
    most -= len(lengths.lstrip(lengths[:1]))
    if most < FEWEST_IN_RUN:
        return None
    end = at + step * most  # data[p:end:step] is the column at p, a position in the first record
    delta_at = at + 2 + (data[at] > 127)
    offset_at = delta_at + 1 + (data[delta_at] > 127)
    key_at = offset_at + 1 + (index > 63)
    if not _are_offsets(data, slice(offset_at, end, step), slice(index, index + most)):
        return None
    positions = _same_in_all(data, at, key_at, at + step - 1)
    if positions is None:
        return None
    for position in positions:
        if data[position:end:step].count(data[position]) != most:
            return None
    low = data[delta_at:end:step]
    if offset_at - delta_at == 2:
        deltas = _long_deltas(low, data[delta_at + 1 : end : step])
    else:
        # Deleting the even values under 128 must leave nothing: each delta is one byte and not negative.
        deltas = None if low.translate(None, _ONE_BYTE) else (min(low) >> 1, max(low) >> 1)
    return None if deltas is None else (end, index + most, *deltas, data[key_at] == 1)


def _are_offsets(data: bytes, column: slice, numbers: slice) -> bool:
    """Whether the offset deltas that begin in a column are these numbers.

    All must have as many bytes as the first: where they come to need more, the slice of the table is too short.
    """
    if numbers.start < 64:
        return data[column] == _ONE_BYTE[numbers]
    second = slice(column.start + 1, column.stop, column.step)
    return data[column] == _LOW[numbers] and data[second] == _HIGH[numbers]


def _same_in_all(data: bytes, at: int, key_at: int, last: int) -> list[int] | None:
    """The positions of the bytes that must be the same in every record of a run, which begins with that at `at`.

    They are the second byte of the length if there is one, the lengths of key and value, and, at `last`, the number of
    headers. None if the first record itself is not right.
    """
    value_at = key_at + bytes_counted(data, key_at)
    if value_at >= last or value_at + bytes_counted(data, value_at) != last or data[last]:
        return None
    positions = [last, key_at, value_at]
    positions += [length_at + 1 for length_at in (at, key_at, value_at) if data[length_at] > 127]
    return positions


def _long_deltas(first: bytes, second: bytes) -> tuple[int, int] | None:
    """The lowest and highest of timestamp deltas of two bytes, whose columns are given (ms); None if one is wrong."""
    if first.translate(None, _LOW) or second.translate(None, _ANY_HIGH):
        return None
    interleaved = bytearray(2 * len(first))
    interleaved[::2], interleaved[1::2] = first, second
    numbers = array("H", interleaved)
    if byteorder == "big":
        numbers.byteswap()
    low, high = min(numbers), max(numbers)
    return (low & 126) + (low >> 8 << 7) >> 1, (high & 126) + (high >> 8 << 7) >> 1

"""Runs of records that are laid out alike, as from a producer whose keys and values have one length each.

Such records stand at equal distances, `step` bytes, and what is in them beside key and value (batch_format.py) differs
in the two deltas only. The slice `data[p::step]` takes the byte at the same position out of each record: a column.
Columns are compared in C, all records at once, which costs less than the flat loop spends on a single record. Here
step is 9:

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

from fakebroker.protocol.records.usual_records import bytes_counted

Run = tuple[int, int, int, int, bool]
"""Position after its records, index of the record there, lowest and highest timestamp delta (ms), is a key null."""

FEWEST_IN_RUN = 8
"""Fewer records are scanned as fast one by one."""

_MAX_IN_RUN = 1024  # for a batch that is no run must not pay for long columns

# Columns of varints that are even in zigzag, that is not negative; negative ones are left to others.
_ONE_BYTE = bytes(range(0, 128, 2))  # the varint of n at index n, for n < 64
_LOW = bytes(delta << 1 & 127 | 128 for delta in range(8192))  # the first byte of the two-byte varint of n at index n
_HIGH = bytes(delta >> 6 for delta in range(8192))  # and its second byte
_ANY_HIGH = bytes(range(128))
_ALONE = [bytes([byte]) for byte in range(256)]
_ODD_OR_LONG = int.from_bytes(
    b"\x81" * _MAX_IN_RUN, "big"
)  # the bits that are not set in a column of _ONE_BYTE's bytes


def scan_run(data: bytes, at: int, index: int, count: int) -> Run | None:
    """Scan a run of records: from the `index`-th on, which is at position `at`, up to but without the `count`-th.

    None if there are too few that begin alike, or one of these is otherwise: a run counts only if all its records are
    right in everything that `scan_usual` checks.

    What costs here is the number of columns, so each is compared in the way that is cheapest for some dozen bytes.
    """
    step, length = bytes_counted(data, at), data[at]
    # Unlike records are distinguished from a run by a look at one of them, nearly always.
    last_needed = at + step * (FEWEST_IN_RUN - 1)
    if last_needed >= len(data) or data[last_needed] != length:
        return None
    # As many as there is room for, and of these as many as begin with the same byte of their length.
    most = (len(data) - at) // step
    if most > count - index or most > _MAX_IN_RUN:
        most = min(count - index, _MAX_IN_RUN)
    lengths = data[at : at + step * most : step]
    if lengths != _ALONE[length] * most:
        most -= len(lengths.lstrip(_ALONE[length]))
    if most < FEWEST_IN_RUN:
        return None
    end = at + step * most  # data[p:end:step] is the column at p, a position in the first record
    delta_at = at + 3 if length > 127 else at + 2
    offset_at = delta_at + 1 if data[delta_at] < 128 else delta_at + 2
    if index < 64:
        key_at, offsets = offset_at + 1, _ONE_BYTE
    else:
        key_at, offsets = offset_at + 2, _LOW
        if data[offset_at + 1 : end : step] != _HIGH[index : index + most]:
            return None
    # Where offset deltas come to need more bytes, the slice of the table is too short.
    if data[offset_at:end:step] != offsets[index : index + most]:
        return None
    value_at = key_at + bytes_counted(data, key_at)
    last = at + step - 1
    if value_at >= last or value_at + bytes_counted(data, value_at) != last or data[last]:
        return None  # the first record itself is not right
    # The same in all: the number of headers, the lengths of key and value, and the second bytes of lengths.
    positions = [last, key_at, value_at]
    if length > 127:
        positions.append(at + 1)
    if data[value_at] > 127:
        positions.append(value_at + 1)
    if data[key_at] > 127:
        positions.append(key_at + 1)
    for position in positions:
        if data[position:end:step] != _ALONE[data[position]] * most:
            return None
    deltas = _deltas(data[delta_at:end:step], data[delta_at + 1 : end : step] if offset_at - delta_at == 2 else None)
    if deltas is None:
        return None
    low_ms, high_ms = deltas
    return end, index + most, low_ms, high_ms, data[key_at] == 1


def _deltas(first: bytes, second: bytes | None) -> tuple[int, int] | None:
    """The lowest and highest of the timestamp deltas in a column, or in two if they have two bytes (ms).

    None if one is negative or of another width.
    """
    if second is None:
        if int.from_bytes(first, "big") & _ODD_OR_LONG:
            return None
        in_order = sorted(first)
        return in_order[0] >> 1, in_order[-1] >> 1
    if first.translate(None, _LOW) or second.translate(None, _ANY_HIGH):
        return None
    interleaved = bytearray(2 * len(first))
    interleaved[::2], interleaved[1::2] = first, second
    numbers = array("H", interleaved)
    if byteorder == "big":
        numbers.byteswap()
    low, high = min(numbers), max(numbers)
    return (low & 126) + (low >> 8 << 7) >> 1, (high & 126) + (high >> 8 << 7) >> 1

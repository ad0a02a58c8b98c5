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

NO_RUN = 0, 1 << 65, -1 << 65  # no records; deltas so that neither is the lowest or highest of anything
_FEWEST = 4  # for fewer records the loop is as fast

# Columns of varints that are even in zigzag, that is not negative; negative ones are left to the loop.
_ONE_BYTE = bytes(range(0, 128, 2))  # the varint of n at index n, for n < 64
_LOW = bytes(delta << 1 & 127 | 128 for delta in range(8192))  # the first byte of the two-byte varint of n at index n
_HIGH = bytes(delta >> 6 for delta in range(8192))  # and its second byte
_ANY_HIGH = bytes(range(128))


def run_after(data: bytes, record: int, step: int, index: int, most: int) -> tuple[int, int, int]:
    """How many of the next `most` records are laid out like the one at position `record`.

    Returns that number with the lowest and the highest timestamp delta of these records in zigzag; NO_RUN if there are
    too few. A record is counted only if it is right in everything that the flat loop checks.

    The caller has checked of the record at `record` that

    - it is the `index`-th of its batch, and its offset delta says so,
    - it is valid and `step` bytes long,
    - its varints have one or two bytes each,
    - it has no headers.
    """
    # As many as there is room for, and of these as many as begin with the same byte of their length.
    count = min(most, (len(data) - record) // step - 1)
    lengths = data[record + step : record + step * count + 1 : step]
    count -= len(lengths.lstrip(data[record : record + 1]))
    if count < _FEWEST:
        return NO_RUN
    span = step * count + 1  # data[p + step : p + span : step] is the column at p, without the record at `record`
    delta_at = record + (2 if data[record] < 128 else 3)
    offset_at = delta_at + (1 if data[delta_at] < 128 else 2)
    key_at = offset_at + (1 if data[offset_at] < 128 else 2)
    for position in _layout(data, record, delta_at, key_at, step):
        if data[position + step : position + span : step].count(data[position]) != count:
            return NO_RUN
    # Offset deltas must be index + 1, index + 2, ...: slices of tables. Where they come to need two bytes, the slice of
    # the one-byte table is too short, and the run ends in NO_RUN.
    numbers = slice(index + 1, index + 1 + count)
    if data[offset_at + step : offset_at + span : step] != (_ONE_BYTE if key_at - offset_at == 1 else _LOW)[numbers]:
        return NO_RUN
    if key_at - offset_at == 2 and data[offset_at + 1 + step : offset_at + 1 + span : step] != _HIGH[numbers]:
        return NO_RUN
    low = data[delta_at + step : delta_at + span : step]
    if offset_at - delta_at == 1:
        # Deleting the even values under 128 must leave nothing: each delta is one byte and not negative.
        return NO_RUN if low.translate(None, _ONE_BYTE) else (count, min(low), max(low))
    return _with_long_deltas(count, low, data[delta_at + 1 + step : delta_at + 1 + span : step])


def _layout(data: bytes, record: int, delta_at: int, key_at: int, step: int) -> list[int]:
    """The positions of the bytes that must be the same in every record of the run.

    They are the second byte of the length if there is one, the lengths of key and value, the number of headers.
    """
    positions = [record + step - 1, key_at]
    if delta_at == record + 3:
        positions.append(record + 1)
    key = data[key_at]
    value_at = key_at + 1
    if key > 127:
        positions.append(value_at)
        key = key & 127 | data[value_at] << 7
        value_at += 1
    if not key & 1:
        value_at += key >> 1
    positions.append(value_at)
    if data[value_at] > 127:
        positions.append(value_at + 1)
    return positions


def _with_long_deltas(count: int, low: bytes, high: bytes) -> tuple[int, int, int]:
    """The result of `run_after` for timestamp deltas of two bytes, whose columns are `low` and `high`."""
    if low.translate(None, _LOW) or high.translate(None, _ANY_HIGH):
        return NO_RUN
    deltas = list(zip(high, low, strict=True))  # compared by the high byte first
    first, last = min(deltas), max(deltas)
    return count, first[1] & 127 | first[0] << 7, last[1] & 127 | last[0] << 7

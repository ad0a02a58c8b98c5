"""Records that follow each other laid out alike, as from a producer whose keys and values have one length each.

They stand at equal distances, and their headers differ in two fields only: timestamp and offset delta. What a slice
with a step takes out is one byte of each, a column; looking at a column costs less than looking at one record.
"""

NO_RUN = 0, 1 << 65, -1 << 65  # deltas that are neither lowest nor highest
_FEWEST = 4  # below it the loop is as fast

# Deltas as they are stored, in zigzag: twice the value, and odd below zero, which is left to the loop.
_ONE_BYTE = bytes(range(0, 128, 2))
_LOW = bytes(delta << 1 & 127 | 128 for delta in range(8192))
_HIGH = bytes(delta >> 6 for delta in range(8192))
_ANY_HIGH = bytes(range(128))


def run_behind(data: bytes, record: int, step: int, index: int, most: int) -> tuple[int, int, int]:
    """How many of the `most` records behind the one at `record` are like it; their lowest and highest timestamp delta.

    That one, the `index`-th, is good, in its place and `step` bytes long; its varints have one or two bytes, and it has
    no headers. The deltas are in zigzag.
    """
    count = min(most, (len(data) - record) // step - 1)
    sizes = data[record + step : record + step * count + 1 : step]
    count -= len(sizes.lstrip(data[record : record + 1]))
    if count < _FEWEST:
        return NO_RUN
    span = step * count + 1  # from a byte of this record behind the same byte of the last one
    delta_at = record + (2 if data[record] < 128 else 3)
    offset_at = delta_at + (1 if data[delta_at] < 128 else 2)
    key_at = offset_at + (1 if data[offset_at] < 128 else 2)
    for place in _layout(data, record, delta_at, key_at, step):
        if data[place + step : place + span : step].count(data[place]) != count:
            return NO_RUN
    numbers = slice(index + 1, index + 1 + count)
    if data[offset_at + step : offset_at + span : step] != (_ONE_BYTE if key_at - offset_at == 1 else _LOW)[numbers]:
        return NO_RUN
    if key_at - offset_at == 2 and data[offset_at + 1 + step : offset_at + 1 + span : step] != _HIGH[numbers]:
        return NO_RUN
    low = data[delta_at + step : delta_at + span : step]
    if offset_at - delta_at == 1:
        return NO_RUN if low.translate(None, _ONE_BYTE) else (count, min(low), max(low))
    return _with_long_deltas(count, low, data[delta_at + 1 + step : delta_at + 1 + span : step])


def _layout(data: bytes, record: int, delta_at: int, key_at: int, step: int) -> list[int]:
    """The places that say how a record is laid out: rest of its size, length of key and value, number of headers."""
    places = [record + step - 1, key_at]
    if delta_at == record + 3:
        places.append(record + 1)
    key = data[key_at]
    value_at = key_at + 1
    if key > 127:
        places.append(value_at)
        key = key & 127 | data[value_at] << 7
        value_at += 1
    if not key & 1:
        value_at += key >> 1
    places.append(value_at)
    if data[value_at] > 127:
        places.append(value_at + 1)
    return places


def _with_long_deltas(count: int, low: bytes, high: bytes) -> tuple[int, int, int]:
    if low.translate(None, _LOW) or high.translate(None, _ANY_HIGH):
        return NO_RUN
    deltas = list(zip(high, low, strict=True))
    first, last = min(deltas), max(deltas)
    return count, first[1] & 127 | first[0] << 7, last[1] & 127 | last[0] << 7

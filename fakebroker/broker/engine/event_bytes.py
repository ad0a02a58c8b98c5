"""Roughly the memory that the journal keeps for an event: long names, and what is in its lists."""

from collections.abc import Callable, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any, Final

from fakebroker.broker.core.events import CoordinatorRecords, GroupsLoaded, GroupStored, OffsetsDeleted, OffsetsExpired
from fakebroker.protocol.records.offsets_topic import METADATA

_ROW_BYTES: Final = 64  # beside what is in it
_NAME_BYTES: Final = 16  # beside its characters; most names are shared with what the broker has besides
_ROWS_MEASURED: Final = 16  # of a list; the others count as much
_metadata = itemgetter(METADATA)
_is_text = str.__instancecheck__


def event_bytes(event: Sequence[Any]) -> int:
    """The bytes of an event; those of lists of many rows are counted without a step of Python for each."""
    texts_bytes = sum(map(len, filter(_is_text, event)))
    rows_bytes = _ROWS_BYTES.get(type(event))
    return texts_bytes if rows_bytes is None else texts_bytes + rows_bytes(event)


def _bytes_of(value: Any) -> int:
    """The bytes of a value: a text, numbers, a list of them, or a message of the records of groups."""
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, dict):
        return sum(map(_bytes_of, chain(value, value.values())))
    if not isinstance(value, list | tuple):
        return _bytes_of(getattr(value, "__dict__", ()))
    kinds = set(map(type, value))
    if kinds <= {str}:
        return _NAME_BYTES * len(value) + sum(map(len, value))
    if kinds <= {int}:
        return _ROW_BYTES * len(value)
    first = value[:_ROWS_MEASURED]
    return (_ROW_BYTES + sum(map(_bytes_of, first)) // len(first)) * len(value)


def _of_records(event: CoordinatorRecords) -> int:
    return sum(_bytes_of(part) for record in event.records for part in (record.key, record.value))


def _of_expired(event: OffsetsExpired) -> int:
    """But for the metadata its rows have numbers, and names that are shared."""
    return _ROW_BYTES * len(event.offsets) + sum(map(len, map(_metadata, event.offsets)))


_ROWS_BYTES: Final[dict[type, Callable[[Any], int]]] = {
    CoordinatorRecords: _of_records,
    GroupStored: lambda event: _bytes_of(event.subscribed_topics),
    GroupsLoaded: lambda event: sum(map(event_bytes, event.groups)),
    OffsetsDeleted: lambda event: _ROW_BYTES * len(event.partitions),
    OffsetsExpired: _of_expired,
}
"""What is in the lists of events that have some."""

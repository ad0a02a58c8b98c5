"""Roughly the memory that the journal keeps for an event: long names, and what is in its lists."""

from collections.abc import Callable, Sequence
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Any, Final

from fakebroker.broker.core.events import CoordinatorRecords, GroupsLoaded, GroupStored, OffsetsDeleted, OffsetsExpired
from fakebroker.protocol.records.offsets_topic import METADATA
from fakebroker.protocol.schema import Struct

_ROW_BYTES: Final = 64  # beside what is in it
_LIST_BYTES: Final = 56
_NAME_BYTES: Final = 16  # beside its characters; most names are shared with what the broker has besides
_metadata = itemgetter(METADATA)
_is_text = str.__instancecheck__


def event_bytes(event: Sequence[Any]) -> int:
    """The bytes of an event; those of lists of many rows are counted without a step of Python for each."""
    texts_bytes = sum(map(len, filter(_is_text, event)))
    rows_bytes = _ROWS_BYTES.get(type(event))
    return texts_bytes if rows_bytes is None else texts_bytes + rows_bytes(event)


def _bytes_of_all(values: Sequence[Any]) -> int:
    """The bytes of values of any kinds: texts, numbers, lists of them, messages of the records of groups.

    Each of them counts, by columns: no step of Python is taken for each row, or for each number of its lists.
    """
    kinds = dict.fromkeys(map(type, values))
    if len(kinds) == 1:
        return _bytes_of_kind(type(values[0]), values)
    return sum(_bytes_of_kind(kind, [each for each in values if type(each) is kind]) for kind in kinds)


def _bytes_of_kind(kind: type, values: Sequence[Any]) -> int:
    if issubclass(kind, str | bytes):
        return sum(map(len, values))
    if issubclass(kind, list | tuple):
        return _LIST_BYTES * len(values) + _bytes_of_held([*chain.from_iterable(values)])
    if issubclass(kind, dict):
        return _bytes_of_held([*chain.from_iterable(values), *chain.from_iterable(map(dict.values, values))])
    names = [*(spec.name for spec in kind.fields), "unknown_tags"] if issubclass(kind, Struct) else ()
    return sum(_bytes_of_all([*map(attrgetter(name), values)]) for name in names)


def _bytes_of_held(values: Sequence[Any]) -> int:
    """The same of all that is in lists."""
    names = sum(map(_is_text, values))
    return _NAME_BYTES * names + _ROW_BYTES * (len(values) - names) + _bytes_of_all(values)


def _of_records(event: CoordinatorRecords) -> int:
    return _bytes_of_held([part for record in event.records for part in (record.key, record.value)])


def _of_expired(event: OffsetsExpired) -> int:
    """But for the metadata its rows have numbers, and names that are shared."""
    return _ROW_BYTES * len(event.offsets) + sum(map(len, map(_metadata, event.offsets)))


_ROWS_BYTES: Final[dict[type, Callable[[Any], int]]] = {
    CoordinatorRecords: _of_records,
    GroupStored: lambda event: _bytes_of_all([event.subscribed_topics]),
    GroupsLoaded: lambda event: sum(map(event_bytes, event.groups)),
    OffsetsDeleted: lambda event: _ROW_BYTES * len(event.partitions),
    OffsetsExpired: _of_expired,
}
"""What is in the lists of events that have some."""

"""Roughly the memory that the journal keeps for an event: long names, and what is in its lists."""

from collections.abc import Sequence
from itertools import chain
from operator import itemgetter
from typing import Any, Final

from fakebroker.broker.core.events import CoordinatorRecords, GroupsLoaded, OffsetsDeleted, OffsetsExpired
from fakebroker.protocol.records.offsets_topic import METADATA

_ROW_BYTES: Final = 64  # beside what is in it
_NAME_BYTES: Final = 16  # beside its characters; most names are shared with what the broker has besides
_metadata = itemgetter(METADATA)


def event_bytes(event: Sequence[Any]) -> int:
    """The bytes of an event; those of lists of many rows are counted without a step of Python for each."""
    if isinstance(event, GroupsLoaded):
        return sum(map(event_bytes, event.groups))
    if isinstance(event, CoordinatorRecords):
        return sum(_bytes_of(part) for record in event.records for part in (record.key, record.value))
    if isinstance(event, OffsetsDeleted):
        return _texts(event) + _ROW_BYTES * len(event.partitions)
    if isinstance(event, OffsetsExpired):  # but for the metadata its rows have numbers, and names that are shared
        return _texts(event) + _ROW_BYTES * len(event.offsets) + sum(map(len, map(_metadata, event.offsets)))
    return sum(map(_bytes_of, event))


def _texts(event: Sequence[Any]) -> int:
    return sum(len(field) for field in event if isinstance(field, str))


def _bytes_of(value: Any) -> int:
    """The bytes of a field, or of a message of the records of groups."""
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, dict):
        return sum(map(_bytes_of, chain(value, value.values())))
    if not isinstance(value, list | tuple):
        return _bytes_of(getattr(value, "__dict__", ()))
    kinds = set(map(type, value))
    if kinds <= {str}:
        return _NAME_BYTES * len(value) + sum(map(len, value))
    return _ROW_BYTES * len(value) + (0 if kinds <= {int} else sum(map(_bytes_of, value)))

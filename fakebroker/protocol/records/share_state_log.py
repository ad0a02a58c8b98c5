"""What the records of `__share_group_state` mean, and their bytes (SGB-2, SGB-3).

Kafka: `ShareCoordinatorRecordSerde`.
"""

from struct import Struct
from typing import Final, NamedTuple

from fakebroker.protocol.errors import WireError
from fakebroker.protocol.records.share_state_schema import (
    ShareSnapshotKey,
    ShareSnapshotValue,
    ShareUpdateKey,
    ShareUpdateValue,
)

ShareStateValue = ShareSnapshotValue | ShareUpdateValue

_INT16 = Struct(">h")
_SNAPSHOT: Final = 0
_UPDATE: Final = 1
_VALUE_VERSION: Final = 0


class ShareStateEntry(NamedTuple):
    """A record about a share partition; `value` None is a tombstone: its state is forgotten (SGB-4)."""

    group_id: str
    topic_id: bytes
    partition: int
    value: ShareStateValue | None


def share_state_key(entry: ShareStateEntry) -> bytes:
    """The key of an entry: type 1 of an update, type 0 of a snapshot and of a tombstone."""
    is_update = isinstance(entry.value, ShareUpdateValue)
    layout = ShareUpdateKey if is_update else ShareSnapshotKey
    key = layout(group_id=entry.group_id, topic_id=entry.topic_id, partition=entry.partition)
    return _INT16.pack(_UPDATE if is_update else _SNAPSHOT) + key.encode(0)


def share_state_value(entry: ShareStateEntry) -> bytes | None:
    """The value of an entry as bytes, None of a tombstone."""
    return None if entry.value is None else _INT16.pack(_VALUE_VERSION) + entry.value.encode(_VALUE_VERSION)


def read_share_state(key: bytes | None, value: bytes | None) -> ShareStateEntry | None:
    """What a record says; None for a key of a type unknown here, which Kafka skips.

    Raises WireError for a record without a key, for an update without a value, and for bytes that cannot be read.
    """
    if key is None:
        raise WireError("a record of __share_group_state has no key")
    kind = _number(key, "key")
    if kind == _SNAPSHOT:
        snapshot, _ = ShareSnapshotKey.decode(key, 0, _INT16.size)
        stored = None if value is None else ShareSnapshotValue.decode(value, _number(value, "value"), _INT16.size)[0]
        return ShareStateEntry(snapshot.group_id, snapshot.topic_id, snapshot.partition, stored)
    if kind == _UPDATE:
        update, _ = ShareUpdateKey.decode(key, 0, _INT16.size)
        if value is None:
            raise WireError("an update of __share_group_state has no value")
        changed, _ = ShareUpdateValue.decode(value, _number(value, "value"), _INT16.size)
        return ShareStateEntry(update.group_id, update.topic_id, update.partition, changed)
    return None


def _number(data: bytes, what: str) -> int:
    """The number that a key or value begins with."""
    if len(data) < _INT16.size:
        raise WireError(f"the {what} of a record of __share_group_state is too short: {len(data)} bytes")
    number: int = _INT16.unpack_from(data)[0]
    if number < 0:
        raise WireError(f"the {what} of a record of __share_group_state has an unknown type: {number}")
    return number

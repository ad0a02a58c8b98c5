"""The records of `__consumer_offsets` that consumer, share and streams groups write, types 3 to 23, as messages.

Types and layouts are those of `record_types.py`. A key is its type as int16 and its fields; a value its version, always
0, as int16 and its fields; a null value is a tombstone.
"""

from struct import Struct
from typing import Any, Final, NamedTuple

from fakebroker.protocol.errors import WireError
from fakebroker.protocol.records.record_types import GROUP_METADATA, RECORD_TYPES

_INT16 = Struct(">h")
_NO_VERSION: Final = b"\x00\x00"  # value version 0


class GroupRecord(NamedTuple):
    """One record: its type, its key and its value (None: a tombstone). Neither message is ever changed."""

    type: int
    key: Any
    value: Any

    @property
    def group_id(self) -> str:
        """The group that it is about."""
        group_id: str = self.key.group_id
        return group_id

    def encode(self) -> tuple[bytes, bytes | None]:
        """Key and value as bytes."""
        key = _INT16.pack(self.type) + self.key.encode(0)
        return key, None if self.value is None else _NO_VERSION + self.value.encode(0)


def read_group_record(key: bytes, value: bytes | None) -> GroupRecord | None:
    """What a record says; None if it is of another type. Raises WireError if it cannot be read (LD-5)."""
    record_type: int = _INT16.unpack_from(key)[0]
    layout = RECORD_TYPES.get(record_type)
    if layout is None or record_type <= GROUP_METADATA:
        return None
    decoded_key, _ = layout.key.decode(key, 0, _INT16.size)
    if value is None:
        return GroupRecord(record_type, decoded_key, None)
    if len(value) < _INT16.size:
        raise WireError(f"the value of a record of type {record_type} is too short for a version: {len(value)} bytes")
    version: int = _INT16.unpack_from(value)[0]
    if version != 0:
        raise WireError(
            f"the value of a record of type {record_type} has version {version}; only version 0 is supported"
        )
    return GroupRecord(record_type, decoded_key, layout.value.decode(value, 0, _INT16.size)[0])

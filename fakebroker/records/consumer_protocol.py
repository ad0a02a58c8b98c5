"""The embedded consumer protocol: the bytes in JoinGroup metadata and in SyncGroup assignments (CP).

The coordinator looks into them only to learn which topics a group subscribes to (CP-4); test assignors and players
read and write the rest. Newer versions only append fields, so a reader takes the prefix it knows (CP-1).
"""

import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fakebroker.errors import WireError

NEWEST_VERSION = 3

TopicPartitions = Sequence[tuple[str, Sequence[int]]]


class Subscription(NamedTuple):
    """What a member wants and has (CP-2)."""

    topics: Sequence[str]
    user_data: bytes | None = None
    owned_partitions: TopicPartitions = ()  # v1+
    generation: int = -1  # v2+
    rack_id: str | None = None  # v3+


class Assignment(NamedTuple):
    """What a member got (CP-3)."""

    partitions: TopicPartitions
    user_data: bytes | None = None


def encode_subscription(subscription: Subscription, version: int = NEWEST_VERSION) -> bytes:
    """The metadata bytes of a member; fields that `version` lacks are left out."""
    parts = [_INT16.pack(version), _array([_string(topic) for topic in subscription.topics])]
    parts.append(_bytes(subscription.user_data))
    if version >= 1:
        parts.append(_partitions(subscription.owned_partitions))
    if version >= 2:
        parts.append(_INT32.pack(subscription.generation))
    if version >= 3:
        parts.append(_INT16.pack(-1) if subscription.rack_id is None else _string(subscription.rack_id))
    return b"".join(parts)


def decode_subscription(data: bytes) -> Subscription:
    """Read a member's metadata, of any version. Raises WireError."""
    reader = _Reader(data, "subscription")
    version = reader.version()
    topics = [reader.string() for _ in range(reader.count(2))]
    user_data = reader.bytes()
    owned = reader.partitions() if version >= 1 else []
    generation = reader.int32() if version >= 2 else -1
    rack_id = reader.nullable_string() if version >= 3 else None
    return Subscription(topics, user_data, owned, generation, rack_id)


def encode_assignment(assignment: Assignment, version: int = NEWEST_VERSION) -> bytes:
    """The bytes a leader sends for one member; the layout is the same in every version."""
    return _INT16.pack(version) + _partitions(assignment.partitions) + _bytes(assignment.user_data)


def decode_assignment(data: bytes) -> Assignment:
    """Read an assignment; no bytes at all mean that nothing is assigned. Raises WireError."""
    if not data:
        return Assignment([])
    reader = _Reader(data, "assignment")
    reader.version()
    return Assignment(reader.partitions(), reader.bytes())


def subscribed_topics(metadata: Iterable[bytes]) -> frozenset[str] | None:
    """The union of the topics in these subscriptions, or None if one of them cannot be read (EX-7)."""
    topics: set[str] = set()
    try:
        for data in metadata:
            reader = _Reader(data, "subscription")
            reader.version()
            topics.update(reader.string() for _ in range(reader.count(2)))
    except WireError:
        return None
    return frozenset(topics)


_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")


def _string(text: str) -> bytes:
    data = text.encode()
    if len(data) > 32767:
        raise WireError(f"a string of {len(data)} bytes in the consumer protocol, 32767 are the limit")
    return _INT16.pack(len(data)) + data


def _bytes(data: bytes | None) -> bytes:
    return _INT32.pack(-1) if data is None else _INT32.pack(len(data)) + data


def _array(items: Sequence[bytes]) -> bytes:
    return _INT32.pack(len(items)) + b"".join(items)


def _partitions(topics: TopicPartitions) -> bytes:
    return _array([_string(topic) + _array([_INT32.pack(index) for index in indexes]) for topic, indexes in topics])


class _Reader:
    """Walks over the bytes; everything that is not there raises WireError saying where."""

    def __init__(self, data: bytes, what: str) -> None:
        self._data = data
        self._at = 0
        self._what = what

    def _take(self, size: int) -> bytes:
        end = self._at + size
        if size < 0 or end > len(self._data):
            raise WireError(f"{self._what}: {size} bytes wanted at {self._at} of {len(self._data)}")
        taken = self._data[self._at : end]
        self._at = end
        return taken

    def version(self) -> int:
        version: int = _INT16.unpack(self._take(2))[0]
        if version < 0:
            raise WireError(f"{self._what}: version {version}")
        return version

    def int32(self) -> int:
        number: int = _INT32.unpack(self._take(4))[0]
        return number

    def count(self, item_size: int) -> int:
        """An array's length; more items than the bytes left can hold are refused before anything is allocated."""
        count = self.int32()
        if count < 0 or count * item_size > len(self._data) - self._at:
            raise WireError(f"{self._what}: an array of {count} at {self._at - 4} of {len(self._data)} bytes")
        return count

    def string(self) -> str:
        text = self.nullable_string()
        if text is None:
            raise WireError(f"{self._what}: null where a string must be, before {self._at}")
        return text

    def nullable_string(self) -> str | None:
        size = _INT16.unpack(self._take(2))[0]
        if size == -1:
            return None
        try:
            return self._take(size).decode()
        except UnicodeDecodeError as error:
            raise WireError(f"{self._what}: {error} before {self._at}") from None

    def bytes(self) -> bytes | None:
        size = self.int32()
        return None if size == -1 else self._take(size)

    def partitions(self) -> list[tuple[str, list[int]]]:
        return [(self.string(), [self.int32() for _ in range(self.count(4))]) for _ in range(self.count(6))]

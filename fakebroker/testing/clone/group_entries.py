"""Records about groups as they go into a clone: those of groups that are not cloned left out, names disguised.

In an anonymous clone groups have their epochs, states and offsets, and no members: what members say of themselves
names topics, hosts and applications.
"""

from struct import Struct
from typing import Any, Final, NamedTuple

from fakebroker.protocol.errors import WireError
from fakebroker.protocol.records.offsets_schema import GroupMetadataValue
from fakebroker.protocol.records.record_types import GROUP_METADATA, OFFSET_COMMIT, RECORD_TYPES, RecordType
from fakebroker.protocol.records.share_state_log import ShareStateEntry
from fakebroker.protocol.schema.message import with_fields
from fakebroker.testing.clone.disguise import Disguise
from fakebroker.testing.clone.options import CloneOptions

_INT16: Final = Struct(">h")
_EPOCHS: Final = (3, 11, 17)  # of consumer, share and streams groups: epochs without names
_SHARE_TOPICS: Final = 15


class GroupEntry(NamedTuple):
    """A record of `__consumer_offsets`, and what it is about."""

    group_id: str
    is_offset: bool
    key: bytes
    value: bytes


def cloned_entry(key: bytes, value: bytes, options: CloneOptions, disguise: Disguise) -> GroupEntry | None:
    """The record as the clone has it; None if it has none.

    Raises WireError for a record that cannot be read.
    """
    kind = RECORD_TYPES.get(_number(key))
    if kind is None:
        return None
    decoded: Any = kind.key.decode(key, 0, _INT16.size)[0]
    group_id: str = getattr(decoded, kind.key.fields[0].name)
    is_offset = kind.number <= OFFSET_COMMIT
    if not options.wants_group(group_id) or (is_offset and not _wants_offset(decoded, options)):
        return None
    if not disguise.is_anonymous:
        return GroupEntry(group_id, is_offset, key, value)
    named = disguise.group(group_id)
    changes = {kind.key.fields[0].name: named} | ({"topic": disguise.topic(decoded.topic)} if is_offset else {})
    anonymous = _anonymous(kind, value, disguise)
    if anonymous is None:
        return None
    new_key = _INT16.pack(kind.number) + with_fields(decoded, **changes).encode(0)
    return GroupEntry(named, is_offset, new_key, anonymous)


def cloned_share_state(entry: ShareStateEntry, options: CloneOptions, disguise: Disguise) -> ShareStateEntry | None:
    """A record of `__share_group_state` as the clone has it; None if it has none."""
    return entry._replace(group_id=disguise.group(entry.group_id)) if options.wants_group(entry.group_id) else None


def _wants_offset(key: Any, options: CloneOptions) -> bool:
    return not options.topics or options.wants_topic(key.topic)


def _anonymous(kind: RecordType, value: bytes, disguise: Disguise) -> bytes | None:
    if kind.number in _EPOCHS:
        return value
    if kind.number not in (*range(GROUP_METADATA + 1), _SHARE_TOPICS):
        return None
    version = _number(value)
    decoded: Any = kind.value.decode(value, version, _INT16.size)[0]
    if kind.number <= OFFSET_COMMIT:
        decoded.metadata = disguise.metadata(decoded.metadata)
    elif isinstance(decoded, GroupMetadataValue):
        decoded.protocol, decoded.leader, decoded.members = None, None, []
    else:
        for topic in (*decoded.initializing_topics, *decoded.initialized_topics, *decoded.deleting_topics):
            topic.topic_name = disguise.topic(topic.topic_name)
    encoded: bytes = decoded.encode(version)
    return _INT16.pack(version) + encoded


def _number(data: bytes) -> int:
    """The type of a key, or the version of a value."""
    if len(data) < _INT16.size:
        raise WireError(f"a record of __consumer_offsets is too short: {len(data)} bytes")
    number: int = _INT16.unpack_from(data)[0]
    return number

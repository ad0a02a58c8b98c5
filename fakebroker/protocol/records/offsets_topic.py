"""What the records of `__consumer_offsets` mean: committed offsets and group metadata, as values (CR).

The coordinator works with these values; `offsets_codec` turns them into bytes and back. Kafka: `OffsetAndMetadata`,
`OffsetCommitKey`, `OffsetCommitValue`, `GroupMetadataKey`, `GroupMetadataValue`.
"""

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from fakebroker.protocol.records.batch_format import NO_TIMESTAMP
from fakebroker.protocol.schema import ZERO_UUID

if TYPE_CHECKING:
    from fakebroker.protocol.records.group_records import GroupRecord

NO_EPOCH: Final = -1
NO_TOPIC_ID: Final = ZERO_UUID


class TopicPartition(NamedTuple):
    """A partition of a topic by name and index; equal to, and hashed like, the plain pair."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class CommittedOffset(NamedTuple):
    """One committed offset: the value of a record and, but for the group, its key (CR-3, CR-4)."""

    topic: str
    partition: int
    offset: int
    leader_epoch: int  # -1: none (CR-6)
    metadata: str
    commit_ms: int
    expire_ms: int  # -1: none; explicit retention only, in releases since 2.1
    topic_id: bytes  # zero: none


# A committed offset as it is kept: the fields of CommittedOffset, in its order, as a plain tuple. CPython's garbage
# collector untracks a tuple only if it is exactly a `tuple` (not a subclass, as a NamedTuple is) and holds nothing that
# is tracked itself; a broker may keep a million of these, and tracked ones would make each full collection visit them
# all. `stored_offset` makes one, the indexes below read one, `CommittedOffset._make` gives the fields names.
StoredOffset = tuple[str, int, int, int, str, int, int, bytes]
TOPIC: Final = 0
PARTITION: Final = 1
OFFSET: Final = 2
LEADER_EPOCH: Final = 3
METADATA: Final = 4
COMMIT_MS: Final = 5
EXPIRE_MS: Final = 6
TOPIC_ID: Final = 7


def stored_offset(
    topic: str,
    partition: int,
    offset: int,
    *,
    leader_epoch: int = NO_EPOCH,
    metadata: str = "",
    commit_ms: int,
    expire_ms: int = NO_TIMESTAMP,
    topic_id: bytes = NO_TOPIC_ID,
) -> StoredOffset:
    """A committed offset as it is kept."""
    return (topic, partition, offset, leader_epoch, metadata, commit_ms, expire_ms, topic_id)


class MemberValue(NamedTuple):
    """One member of a stored group (CR-7), in the order of the wire."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    subscription: bytes  # metadata of the selected protocol only (CR-9)
    assignment: bytes


class GroupValue(NamedTuple):
    """A classic group as it is stored (CR-7, CR-8). `protocol_type` none is ""; `state_ms` -1 is unknown."""

    protocol_type: str
    generation: int
    protocol: str | None
    leader: str | None
    state_ms: int  # when the group entered the state it was in (CR-15)
    members: tuple[MemberValue, ...]


class OffsetEntry(NamedTuple):
    """A record about a committed offset; `value` None is a tombstone (CR-11)."""

    group_id: str
    topic: str
    partition: int
    value: StoredOffset | None


class GroupEntry(NamedTuple):
    """A record about a classic group; `value` None is a tombstone (CR-11)."""

    group_id: str
    value: GroupValue | None


Entry: TypeAlias = "OffsetEntry | GroupEntry | GroupRecord"

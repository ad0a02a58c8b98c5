"""What of an OffsetCommit can be stored, partition by partition, and with which timestamps (OC-2, OC-4, OC-10..OC-12).

Who may commit to a group at all is decided before (`Group.error_for_commit`).

Kafka: `OffsetMetadataManager.commitOffset`.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.records.batch_format import NO_TIMESTAMP
from fakebroker.protocol.records.offsets_topic import NO_TOPIC_ID, StoredOffset

if TYPE_CHECKING:
    from fakebroker.broker.core.topics import Topic

# One partition of the request: index, offset, leader epoch, commit timestamp (-1: none), metadata.
CommitRow = tuple[int, int, int, int, str | None]
_NONE = int(ErrorCode.NONE)
_TOO_LARGE = int(ErrorCode.OFFSET_METADATA_TOO_LARGE)
_NO_PARTITION = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def expire_timestamp(commit_ms: int, retention_ms: int) -> int:
    """When an offset expires by its explicit retention: the sum in 64 bits, which wraps as in Java (OC-21)."""
    return (commit_ms + retention_ms + 2**63) % 2**64 - 2**63


def is_metadata_too_large(metadata: str, limit: int) -> bool:
    """Whether an offset's metadata is longer than `offset.metadata.max.bytes` (OC-11).

    Despite the setting's name Kafka compares Java's String.length, the number of UTF-16 units. A character has one or
    two, so most texts need not be encoded to know.
    """
    return 2 * len(metadata) > limit and len(metadata.encode("utf-16-le", "surrogatepass")) // 2 > limit


class CommitRejection:
    """Answers the partitions of a commit that the group does not accept. Has the interface of CommitValidator."""

    __slots__ = ("code", "saw_unknown")

    def __init__(self, code: ErrorCode = ErrorCode.NONE) -> None:
        """`code` is the group's error; it can be NONE only if no partition of the request exists."""
        self.code = int(code)
        self.saw_unknown = False

    def validate(self, topic: "Topic", rows: Sequence[CommitRow]) -> list[tuple[int, int]]:
        """The group's error for partitions that exist, UNKNOWN_TOPIC_OR_PARTITION for others (OC-4)."""
        count = len(topic.partitions)
        codes = [(row[0], self.code if 0 <= row[0] < count else _NO_PARTITION) for row in rows]
        self.saw_unknown = self.saw_unknown or any(code == _NO_PARTITION for _, code in codes)
        return codes


class CommitValidator:
    """Checks the partitions of one commit that the group accepts, and collects in `accepted` what is to be stored.

    `saw_unknown` tells whether any partition did not exist.
    """

    __slots__ = (
        "_expire_ms",
        "_metadata_max_bytes",
        "_now_ms",
        "_retention_ms",
        "_stores_client_timestamps",
        "_stores_topic_ids",
        "accepted",
        "saw_unknown",
    )

    def __init__(
        self,
        now_ms: int,
        metadata_max_bytes: int,
        retention_ms: int | None,
        *,
        stores_client_timestamps: bool = True,
        stores_topic_ids: bool = True,
    ) -> None:
        """`retention_ms` gives each offset an expire timestamp that long after its commit; None: no such timestamp.

        `stores_client_timestamps`: the commit timestamp that the client sent (v1) is stored, not only used to compute
        the expire timestamp (OC-10). `stores_topic_ids`: the record's version has a place for the topic id (CR-5).
        """
        self.accepted: list[StoredOffset] = []
        self.saw_unknown = False
        self._now_ms = now_ms
        self._metadata_max_bytes = metadata_max_bytes
        self._retention_ms = retention_ms
        self._expire_ms = NO_TIMESTAMP if retention_ms is None else expire_timestamp(now_ms, retention_ms)
        self._stores_client_timestamps = stores_client_timestamps
        self._stores_topic_ids = stores_topic_ids

    def validate(self, topic: "Topic", rows: Sequence[CommitRow]) -> list[tuple[int, int]]:
        """The code of each of these partitions of `topic`; what is NONE is appended to `accepted`.

        This loop is most of what an OffsetCommit costs, so it makes the tuples itself: `stored_offset` would be a call
        with keywords for each.
        """
        name, count, limit, accept = topic.name, len(topic.partitions), self._metadata_max_bytes, self.accepted.append
        topic_id = topic.id if self._stores_topic_ids else NO_TOPIC_ID
        now_ms, expire_ms = self._now_ms, self._expire_ms
        codes = []
        for index, offset, leader_epoch, client_ms, metadata in rows:
            if not 0 <= index < count:
                codes.append((index, _NO_PARTITION))
                self.saw_unknown = True
            elif metadata and is_metadata_too_large(metadata, limit):
                codes.append((index, _TOO_LARGE))
            else:
                codes.append((index, _NONE))
                if client_ms == NO_TIMESTAMP:
                    accept((name, index, offset, leader_epoch, metadata or "", now_ms, expire_ms, topic_id))
                else:
                    commit_ms, own_expire_ms = self._timestamps(client_ms)
                    accept((name, index, offset, leader_epoch, metadata or "", commit_ms, own_expire_ms, topic_id))
        return codes

    def _timestamps(self, client_ms: int) -> tuple[int, int]:
        """Commit and expire timestamp of an offset for which the client sent a commit timestamp (v1, OC-10)."""
        retention_ms = self._retention_ms
        expire_ms = NO_TIMESTAMP if retention_ms is None else expire_timestamp(client_ms, retention_ms)
        return (client_ms if self._stores_client_timestamps else self._now_ms), expire_ms

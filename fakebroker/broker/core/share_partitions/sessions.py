"""Share sessions: which partitions a member of a share group fetches from this broker (SGF-1 to SGF-6).

Kafka: `ShareSession`, `ShareSessionCache`, `ShareSessionContext`.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from fakebroker.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from fakebroker.broker.settings import Settings

OPENING_EPOCH: Final = 0
CLOSING_EPOCH: Final = -1
_LAST_EPOCH: Final = 2**31 - 1

TopicIdPartition = tuple[bytes, int]
"""A topic's id and the index of a partition."""


class ShareSession:
    """The session of one member. `epoch` is the one that its next request has to carry.

    `partitions` are in the order in which they are served; the value says whether the next answer has to have the
    partition, whatever was found.
    """

    __slots__ = ("connection_id", "epoch", "group_id", "member_id", "partitions")

    def __init__(
        self, group_id: str, member_id: str, connection_id: int, partitions: Iterable[TopicIdPartition]
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.connection_id = connection_id
        self.epoch = 1
        self.partitions: dict[TopicIdPartition, bool] = dict.fromkeys(partitions, False)

    def update(self, listed: Iterable[TopicIdPartition], forgotten: Iterable[TopicIdPartition]) -> None:
        """Add the partitions that a request lists, and drop those that it forgets (SGF-5)."""
        for each in listed:
            self.partitions.setdefault(each, True)
        for each in forgotten:
            self.partitions.pop(each, None)

    def served(self, epoch: int) -> list[TopicIdPartition]:
        """The partitions in the order in which a request of that epoch is served: each time another one is first."""
        partitions = list(self.partitions)
        first = epoch % len(partitions) if partitions else 0
        return partitions[first:] + partitions[:first]

    def is_answered(self, partition: TopicIdPartition, *, has_records: bool, has_error: bool) -> bool:
        """Whether a partition of the session is in an answer that would be sent now (SGF-15)."""
        return has_records or has_error or self.partitions.get(partition, False)

    def answered(self, partition: TopicIdPartition, *, has_records: bool, has_error: bool) -> None:
        """The answer that has the partition is sent."""
        if partition not in self.partitions:
            return
        if has_records:
            self.partitions.pop(partition)  # those that had something come last
        self.partitions[partition] = has_error


class ShareSessions:
    """The share sessions of one broker."""

    def __init__(self, settings: "Settings") -> None:
        self._settings = settings
        self._sessions: dict[tuple[str, str], ShareSession] = {}
        self._of_group: dict[str, int] = {}  # how many
        self._of_connections: dict[int, dict[ShareSession, None]] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def get(self, group_id: str, member_id: str) -> ShareSession | None:
        """The session of a member, or None."""
        return self._sessions.get((group_id, member_id))

    def open(
        self, group_id: str, member_id: str, connection_id: int, partitions: Iterable[TopicIdPartition]
    ) -> ShareSession:
        """A new session, in place of an old one of the member (SGF-1).

        Raises KafkaError SHARE_SESSION_LIMIT_REACHED if there are too many on this broker (SGF-4).
        """
        before = self.get(group_id, member_id)
        if before is not None:
            self.close(before)
        if len(self._sessions) >= self._settings.get_int("group.share.max.share.sessions"):
            raise KafkaError(ErrorCode.SHARE_SESSION_LIMIT_REACHED, "too many share sessions")
        session = ShareSession(group_id, member_id, connection_id, partitions)
        self._sessions[group_id, member_id] = session
        self._of_connections.setdefault(connection_id, {})[session] = None
        self._of_group[group_id] = self._of_group.get(group_id, 0) + 1
        return session

    def resume(self, group_id: str, member_id: str, epoch: int) -> ShareSession:
        """The session that a request continues or closes; its next request carries the next epoch (SGF-2, SGF-3).

        Raises KafkaError: SHARE_SESSION_NOT_FOUND, INVALID_SHARE_SESSION_EPOCH.
        """
        session = self._sessions.get((group_id, member_id))
        if session is None:
            raise KafkaError(ErrorCode.SHARE_SESSION_NOT_FOUND, f"{member_id} has no share session")
        if epoch == CLOSING_EPOCH:
            return session
        if epoch != session.epoch:
            text = f"the share session of {member_id} expects epoch {session.epoch}, but got {epoch}"
            raise KafkaError(ErrorCode.INVALID_SHARE_SESSION_EPOCH, text)
        session.epoch = 1 if epoch == _LAST_EPOCH else epoch + 1
        return session

    def close(self, session: ShareSession) -> None:
        """Forget a session; nothing happens if the member has another one by now."""
        if self._sessions.get((session.group_id, session.member_id)) is not session:
            return
        del self._sessions[session.group_id, session.member_id]
        self._of_group[session.group_id] -= 1
        if not self._of_group[session.group_id]:
            del self._of_group[session.group_id]
        of_connection = self._of_connections[session.connection_id]
        del of_connection[session]
        if not of_connection:
            del self._of_connections[session.connection_id]

    def of_connection(self, connection_id: int) -> list[ShareSession]:
        """The sessions that a connection has opened."""
        return list(self._of_connections.get(connection_id, ()))

    def has_group(self, group_id: str) -> bool:
        """Whether a member of the group has a session here."""
        return group_id in self._of_group

"""What every kind of group has, and what the rest of the broker may ask of one without knowing its kind.

Kafka: the interface `Group`. Each kind is a folder beside this file: `classic`, `consumer`, `share`, `streams`; what
the last three have in common is in `modern`. The coordinator of a group is found, and COORDINATOR_LOAD_IN_PROGRESS and
NOT_COORDINATOR are decided, before a group is (`broker/core/coordinator`).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

from fakebroker.broker.core.events import MOVED
from fakebroker.broker.core.groups.classic.messages import (
    AnswerJoin,
    AnswerSync,
    JoinAnswer,
    JoinRequest,
    Leaver,
    SyncAnswer,
    SyncRequest,
)
from fakebroker.broker.core.groups.host import GroupHost
from fakebroker.broker.core.groups.kinds import GroupKind
from fakebroker.broker.core.offsets.group_offsets import GroupOffsets
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.instant import Instant

if TYPE_CHECKING:
    from fakebroker.protocol.records.group_records import GroupRecord


class Group(ABC):
    """One group of any kind. `state` is spelled as DescribeGroups and ListGroups spell it.

    `state_ms` is when it entered its state (wall time; -1 unknown), `state_reason` why, one English clause.
    """

    kind: ClassVar[GroupKind]
    state: StrEnum
    protocol_type: str | None

    def __init__(self, group_id: str, host: GroupHost, now: Instant) -> None:
        self.group_id = group_id
        self.host = host
        self.offsets = GroupOffsets()
        self.state_ms = now.wall_ms
        self.state_reason = ""

    # -- what it is ----------------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def is_empty(self) -> bool:
        """Whether it has no members and nothing is under way, so that it may be deleted."""

    @property
    @abstractmethod
    def is_dead(self) -> bool:
        """Whether it is no group any more: unloaded, deleted or expired."""

    @property
    @abstractmethod
    def epoch(self) -> int:
        """The generation of a classic group, the group epoch of others."""

    @property
    @abstractmethod
    def subscribed_topics(self) -> frozenset[str] | None:
        """The topics that its members read; None: unknown (EX-7)."""

    @abstractmethod
    def member_ids(self) -> Iterable[str]:
        """The ids of its members, in the order in which they are described."""

    @property
    def state_in_filters(self) -> str:
        """What names the state in filters of ListGroups (LS-2)."""
        return self.state.lower()

    @property
    def expires(self) -> bool:
        """Whether it is removed when it is Empty and has no offsets any more (EX-9); a share group is not (SGH-15)."""
        return True

    def timer_owners(self) -> Iterable[object]:
        """The owners of all its timers: the group, unless its members own some."""
        return (self,)

    # -- requests of the classic protocol ------------------------------------------------------------------------------

    def join(self, request: JoinRequest, answer: AnswerJoin, now: Instant) -> None:  # noqa: ARG002
        """JoinGroup: a group that takes no classic members answers INCONSISTENT_GROUP_PROTOCOL (SGL-2, STL-1)."""
        answer(JoinAnswer(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, request.member_id))

    def sync(self, request: SyncRequest, answer: AnswerSync, now: Instant) -> None:  # noqa: ARG002
        """SyncGroup: nobody can be a classic member here."""
        answer(SyncAnswer(ErrorCode.UNKNOWN_MEMBER_ID))

    def heartbeat(self, member_id: str, instance_id: str | None, generation: int, now: Instant) -> ErrorCode:  # noqa: ARG002
        """Heartbeat: returns the code of the answer."""
        return ErrorCode.UNKNOWN_MEMBER_ID

    def leave(self, leavers: Sequence[Leaver], now: Instant) -> list[ErrorCode]:  # noqa: ARG002
        """LeaveGroup: returns a code for each entry."""
        return [ErrorCode.UNKNOWN_MEMBER_ID for _ in leavers]

    # -- offsets -------------------------------------------------------------------------------------------------------

    @abstractmethod
    def error_for_commit(self, member_id: str, instance_id: str | None, epoch: int, version: int) -> ErrorCode:
        """The error that an OffsetCommit of that version to the group is answered with, or NONE (OC-7, OC-8, CGO-1).

        `epoch` is the generation of a classic member, the member epoch of others, -1: none was sent.
        """

    @abstractmethod
    def error_for_txn_commit(self, member_id: str, instance_id: str | None, epoch: int) -> ErrorCode:
        """The error that a TxnOffsetCommit to the group is answered with (KIP-447, OC-16, CGO-4), or NONE."""

    def is_late_commit(self, member_id: str, epoch: int) -> bool:  # noqa: ARG002
        """Whether a commit that was refused is of a member that had this epoch: then partitions decide (CGO-5)."""
        return False

    def had_at(self, member_id: str, epoch: int, topic: str, partition: int) -> bool:  # noqa: ARG002
        """Whether a member has the partition, and had it at that epoch of its own already (CGO-5)."""
        return False

    @abstractmethod
    def error_for_offset_fetch(self, member_id: str | None, epoch: int) -> ErrorCode:
        """The error that OffsetFetch (v9+) of this group is answered with, or NONE (CGO-7)."""

    @abstractmethod
    def error_for_offset_delete(self) -> ErrorCode:
        """The error that a whole OffsetDelete is answered with, or NONE (OD-2, CGO-9, SGL-2)."""

    @abstractmethod
    def is_subscribed(self, topic: str) -> bool:
        """Whether a member reads the topic, so that OffsetDelete spares its offsets (OD-4); true if unknown."""

    def restart_session_of(self, member_id: str, now: Instant) -> None:  # noqa: B027 - most kinds do nothing
        """An OffsetCommit of the member was accepted; only a classic member's session begins anew (TM-1, CGT-1)."""

    def topic_deleted(self, name: str, now: Instant) -> None:  # noqa: B027 - most kinds do nothing
        """A topic was deleted; its offsets are deleted by the shard (EX-12)."""

    # -- what a test does ----------------------------------------------------------------------------------------------

    @abstractmethod
    def evict(self, member_id: str, now: Instant) -> None:
        """Remove a member as if its session had timed out now. Raises KeyError if there is none."""

    # -- the end -------------------------------------------------------------------------------------------------------

    @abstractmethod
    def end_timers(self) -> None:
        """Disarm every timer of the group for good."""

    def release(self) -> None:
        """The group is Dead: end its timers and what its offsets hold. Every kind calls it at its end."""
        self.end_timers()
        self.offsets.end()

    @abstractmethod
    def tombstones(self) -> "list[GroupRecord]":
        """The records that remove the group itself from the log (CGB-5, SGB-1, STB-1), without those of offsets."""

    @abstractmethod
    def unload(self, now: Instant, reason: str = MOVED) -> None:
        """Become Dead here: another broker coordinates the group now, or it is loaded again (ST-14).

        Requests that wait are answered with NOT_COORDINATOR, timers ended.
        """

    @abstractmethod
    def die(self, now: Instant, reason: str = "it was deleted or expired") -> None:
        """Become Dead because the group is gone from the log (EX-9, DG-2)."""

"""What consumer and streams groups have in common: members that give up what they have before others get it.

Share groups revoke nothing and keep no offsets. Kafka repeats all of this in `ConsumerGroup` and `StreamsGroup`.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from fakebroker.broker.core.events import MemberTransition
from fakebroker.broker.core.groups.host import GroupsHost
from fakebroker.broker.core.groups.modern.member_timers import MemberTimers
from fakebroker.broker.core.groups.modern.modern_group import RETRY_MS, ModernGroup
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.registry import first_of_modern_groups

if TYPE_CHECKING:
    from fakebroker.protocol.records.group_records import GroupRecord

_FIRST_VERSION = first_of_modern_groups(ApiKey.OFFSET_COMMIT)  # in which its members may commit (CGO-4)
LEFT_EPOCH = -1  # what the journal says is the epoch of one who is no member any more


class ReconcilingMember(Protocol):
    """What of a member its timers need."""

    @property
    def member_id(self) -> str: ...

    @property
    def epoch(self) -> int: ...

    @property
    def is_revoking(self) -> bool:
        """Whether it has something to give up, and is there to do so."""

    @property
    def rebalance_timeout_ms(self) -> int: ...


class ReconcilingGroup(ModernGroup):
    """One group whose members reconcile.

    `target` is what each member shall have, by member id. `rebalance_timers` are those of the members that have
    something to give up. `assigned_things` names what members are assigned, for texts. `replays` applies the key and
    the value of a record, by its type; `metadata_type` is the type whose tombstone ends the group.
    """

    assigned_things: ClassVar[str]
    metadata_type: ClassVar[int]
    replays: ClassVar[Mapping[int, Callable[[Any, Any, Any], None]]]
    target: dict[str, Any]
    host: GroupsHost

    def __init__(self, group_id: str, host: GroupsHost, now: Instant) -> None:
        super().__init__(group_id, host, now)
        self.rebalance_timers = MemberTimers(self.mono, self)

    # -- what each kind does -------------------------------------------------------------------------------------------

    @abstractmethod
    def session_timeout_ms(self, member: Any) -> int:
        """How long the member may be silent (CGT-1, STM-1)."""

    @abstractmethod
    def member_state_text(self, member: Any) -> str:
        """A member's state as events tell it, e.g. "Stable"; None is no member."""

    def is_classic(self, member: Any) -> bool:  # noqa: ARG002
        """Whether the member speaks the classic protocol; only consumer groups have such members."""
        return False

    @staticmethod
    @abstractmethod
    def target_in(value: Any) -> Any:
        """The target assignment of one member, as the value of its record has it."""

    # -- replay --------------------------------------------------------------------------------------------------------

    def replay(self, record: "GroupRecord", now: Instant) -> bool:  # noqa: ARG002
        """Apply one record. Returns False if it was the tombstone that ends the group."""
        if record.type == self.metadata_type and record.value is None:
            return False
        self.replays[record.type](self, record.key, record.value)
        return True

    def replay_target_metadata(self, _: Any, value: Any) -> None:
        """The target assignment is that of another epoch."""
        if value is not None:
            self.assignment_epoch, self.assignment_ms = value.assignment_epoch, value.assignment_timestamp

    def replay_target(self, key: Any, value: Any) -> None:
        """A member shall have something else, or nothing any more."""
        if value is None:
            self.target.pop(key.member_id, None)
        else:
            self.target[key.member_id] = self.target_in(value)

    # -- members -------------------------------------------------------------------------------------------------------

    def all_have_their_target(self) -> bool:
        """Whether every member has what the present target assignment gives it, and nothing to give up."""
        epoch = self.assignment_epoch
        return all(member.current.is_reconciled_to(epoch) for member in self.members.values())

    def tell_member(self, member_id: str, before: Any, after: Any, reason: str) -> None:
        """Tell the journal if the member is in another state or epoch than before; None: it is, or was, no member."""
        states = self.member_state_text(before), self.member_state_text(after)
        epoch = LEFT_EPOCH if after is None else after.epoch
        if states[0] != states[1] or (before is not None and before.epoch != epoch):
            self.host.emit(MemberTransition(self.group_id, member_id, *states, epoch, reason))

    # -- timers --------------------------------------------------------------------------------------------------------

    def loaded(self, now: Instant) -> None:
        """Start the timers of all members anew (CGT-4, STM-1)."""
        for member in self.members.values():
            self.restart_session(member.member_id, self.session_timeout_ms(member), now)
            self.watch_revocation(member, now)
        self.tell_state(now, "loaded from the log")

    def watch_revocation(self, member: ReconcilingMember, now: Instant) -> None:
        """Start the member's rebalance timer if it has something to give up, else stop it (CGT-3, STM-2)."""
        if member.is_revoking:
            action = partial(self._on_rebalance_timeout, member.member_id, member.epoch)
            self.rebalance_timers.start(member.member_id, member.rebalance_timeout_ms, action, now)
        else:
            self.rebalance_timers.end(member.member_id)

    def _on_rebalance_timeout(self, member_id: str, epoch: int, now: Instant) -> None:
        """The member did not give up in time: it is removed, unless it got on meanwhile (CGT-3, STM-2)."""
        member = self.members.get(member_id)
        if member is None or member.epoch != epoch:
            return
        reason = f"member {member_id} did not give up its {self.assigned_things} in time"
        if not self.try_to_remove(member_id, now, reason):
            again = partial(self._on_rebalance_timeout, member_id, epoch)
            self.rebalance_timers.start(member_id, RETRY_MS, again, now)

    def end_session(self, member_id: str) -> None:
        """The member is gone: all its timers go with it."""
        super().end_session(member_id)
        self.rebalance_timers.end(member_id)

    def end_timers(self) -> None:
        """Disarm every timer for good."""
        super().end_timers()
        self.rebalance_timers.end_all()

    # -- offsets: Kafka's `validateOffsetCommit` and `validateOffsetFetch` ---------------------------------------------

    def error_for_commit(self, member_id: str, instance_id: str | None, epoch: int, version: int) -> ErrorCode:  # noqa: ARG002
        """The error that an OffsetCommit of that version is answered with, or NONE (CGO-1 to CGO-4, STO-1).

        The instance id does not matter.
        """
        if epoch < 0 and self.is_empty:
            return ErrorCode.NONE
        member = self.members.get(member_id)
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if version < _FIRST_VERSION and not self.is_classic(member):
            return ErrorCode.UNSUPPORTED_VERSION
        return self._error_for_epoch(member, epoch)

    def error_for_txn_commit(self, member_id: str, instance_id: str | None, epoch: int) -> ErrorCode:
        """The error that a TxnOffsetCommit is answered with, or NONE (CGO-4); it need not name a member."""
        if epoch == -1 and not member_id and instance_id is None:
            return ErrorCode.NONE
        code = self.error_for_commit(member_id, instance_id, epoch, _FIRST_VERSION)
        return ErrorCode.ILLEGAL_GENERATION if code is ErrorCode.STALE_MEMBER_EPOCH else code

    def is_late_commit(self, member_id: str, epoch: int) -> bool:
        """Whether the member had that epoch, which is not its epoch any more: then partitions decide (CGO-5)."""
        member = self.members.get(member_id)
        return member is not None and epoch < member.epoch

    def error_for_offset_fetch(self, member_id: str | None, epoch: int) -> ErrorCode:
        """The error that an OffsetFetch is answered with, or NONE (CGO-7, STO-1).

        An epoch without a member id is UNKNOWN_SERVER_ERROR: Kafka fails to look up the null.
        """
        if member_id is None:
            return ErrorCode.NONE if epoch < 0 else ErrorCode.UNKNOWN_SERVER_ERROR
        member = self.members.get(member_id)
        return ErrorCode.UNKNOWN_MEMBER_ID if member is None else self._error_for_epoch(member, epoch)

    def _error_for_epoch(self, member: Any, epoch: int) -> ErrorCode:
        """NONE if the member has that epoch, else what it is answered in its protocol (CGO-2)."""
        if epoch == member.epoch:
            return ErrorCode.NONE
        return ErrorCode.ILLEGAL_GENERATION if self.is_classic(member) else ErrorCode.STALE_MEMBER_EPOCH

    def error_for_offset_delete(self) -> ErrorCode:
        """None, whatever the state: partitions of topics that are read are spared one by one (CGO-9, STO-1)."""
        return ErrorCode.NONE

    def is_subscribed(self, topic: str) -> bool:
        """Whether the group reads the topic, so that OffsetDelete spares its offsets (CGO-9, STO-1)."""
        return topic in (self.subscribed_topics or ())

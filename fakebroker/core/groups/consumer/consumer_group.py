"""A consumer group: what its records say (`stored_group.py`), its timers, and who may use its offsets.

What a request does to it is in `heartbeat.py`, `leaving.py` and `group_step.py`. Kafka: `ConsumerGroup`.
"""

from collections.abc import Sequence
from functools import partial

from fakebroker.core.groups.classic.messages import AnswerJoin, AnswerSync, JoinRequest, Leaver, SyncRequest
from fakebroker.core.groups.consumer import offset_rules
from fakebroker.core.groups.consumer.member import ConsumerMember
from fakebroker.core.groups.consumer.patterns import PatternResolver
from fakebroker.core.groups.consumer.states import MemberState
from fakebroker.core.groups.consumer.stored_group import StoredGroup
from fakebroker.core.groups.modern.config import group_config_int
from fakebroker.core.groups.modern.heartbeats import GroupsHost
from fakebroker.core.groups.modern.member_timers import MemberTimers
from fakebroker.errors import ErrorCode, KafkaError
from fakebroker.instant import Instant

_RETRY_MS = 500  # after which a timer tries again what could not be stored


class ConsumerGroup(StoredGroup):
    """One group. `resolver` resolves the patterns that members subscribe to."""

    def __init__(self, group_id: str, host: GroupsHost, now: Instant) -> None:
        super().__init__(group_id, host, now)
        self.resolver = PatternResolver(self)
        self.rebalance_timers = MemberTimers(self.mono, self)
        self.sync_timers = MemberTimers(self.mono, self)  # of classic members

    # -- timers --------------------------------------------------------------------------------------------------------

    def session_timeout_ms(self, member: ConsumerMember) -> int:
        """How long the member may be silent: what it asked for in JoinGroup, else the group's config (CGT-1)."""
        if member.metadata.classic is not None:
            return member.metadata.classic.session_timeout_ms
        return group_config_int(self.host, self.group_id, "consumer.session.timeout.ms")

    def loaded(self, now: Instant) -> None:
        """Start the timers of all members anew (CGT-4)."""
        for member in self.members.values():
            self.restart_session(member.member_id, self.session_timeout_ms(member), now)
            self.watch_revocation(member, now)
        self.tell_state(now, "loaded from the log")

    def watch_revocation(self, member: ConsumerMember, now: Instant) -> None:
        """Start the member's rebalance timer if it has partitions to give up, else stop it (CGT-3)."""
        if member.current.state is MemberState.UNREVOKED_PARTITIONS and not member.current.is_away:
            action = partial(self._on_rebalance_timeout, member.member_id, member.epoch)
            self.rebalance_timers.start(member.member_id, member.metadata.rebalance_timeout_ms, action, now)
        else:
            self.rebalance_timers.end(member.member_id)

    def end_session(self, member_id: str) -> None:
        """The member is gone: all its timers go with it."""
        super().end_session(member_id)
        self.rebalance_timers.end(member_id)
        self.sync_timers.end(member_id)

    def start_sync_timer(self, member: ConsumerMember, now: Instant) -> None:
        """Remove a classic member that joined unless its SyncGroup comes within its rebalance timeout (CGM-8)."""
        reason = f"member {member.member_id} sent no SyncGroup in time"
        action = partial(self._remove_late, member.member_id, reason)
        self.sync_timers.start(member.member_id, member.metadata.rebalance_timeout_ms, action, now)

    def start_join_timer(self, member: ConsumerMember, now: Instant) -> None:
        """Remove a classic member that has to join again unless it does so within its rebalance timeout (CGM-8).

        One that was told so before has no more time for it.
        """
        if self.rebalance_timers.due_ms(member.member_id) is None:
            reason = f"member {member.member_id} did not join again in time"
            action = partial(self._remove_late, member.member_id, reason)
            self.rebalance_timers.start(member.member_id, member.metadata.rebalance_timeout_ms, action, now)

    def revocation_ends_ms(self, member_id: str) -> int | None:
        """When the member's rebalance timer removes it, by the monotonic clock; None if it has none."""
        return self.rebalance_timers.due_ms(member_id)

    def end_timers(self) -> None:
        """Disarm every timer for good."""
        super().end_timers()
        self.resolver.end()
        self.rebalance_timers.end_all()
        self.sync_timers.end_all()

    def on_session_timeout(self, member_id: str, now: Instant) -> None:
        """The member was silent for too long: it is removed as if it had left (CGT-2)."""
        if not self._remove(member_id, now, f"member {member_id} timed out"):
            self.restart_session(member_id, _RETRY_MS, now)

    def _on_rebalance_timeout(self, member_id: str, epoch: int, now: Instant) -> None:
        """The member did not give up its partitions in time: it is removed, unless it got on meanwhile (CGT-3)."""
        member = self.members.get(member_id)
        if member is None or member.epoch != epoch:
            return
        if not self._remove(member_id, now, f"member {member_id} did not give up its partitions in time"):
            again = partial(self._on_rebalance_timeout, member_id, epoch)
            self.rebalance_timers.start(member_id, _RETRY_MS, again, now)

    def _remove_late(self, member_id: str, reason: str, now: Instant) -> None:
        if not self._remove(member_id, now, reason):
            self.rebalance_timers.start(member_id, _RETRY_MS, partial(self._remove_late, member_id, reason), now)

    def _remove(self, member_id: str, now: Instant, reason: str) -> bool:
        """Remove a member because of a timer. Returns False if that cannot be stored now."""
        from fakebroker.core.groups.consumer.leaving import remove_members

        try:
            remove_members(self, [member_id], now, reason)
        except KafkaError:
            return False
        return True

    # -- requests of the classic protocol ------------------------------------------------------------------------------

    def join(self, request: JoinRequest, answer: AnswerJoin, now: Instant) -> None:
        """JoinGroup: becomes a member at once, or makes an Empty group a classic one (CGM-2, CGM-5, CGM-6)."""
        from fakebroker.core.groups.consumer.classic_members import join

        join(self, request, answer, now)

    def sync(self, request: SyncRequest, answer: AnswerSync, now: Instant) -> None:
        """SyncGroup of a classic member: what it has now (CGM-7)."""
        from fakebroker.core.groups.consumer.classic_members import sync

        answer(sync(self, request, now))

    def heartbeat(self, member_id: str, instance_id: str | None, generation: int, now: Instant) -> ErrorCode:
        """Heartbeat of a classic member (CGM-8)."""
        from fakebroker.core.groups.consumer.classic_members import heartbeat

        return heartbeat(self, member_id, instance_id, generation, now)

    def leave(self, leavers: Sequence[Leaver], now: Instant) -> list[ErrorCode]:
        """LeaveGroup of members of either protocol (CGM-9)."""
        from fakebroker.core.groups.consumer.classic_members import leave

        return leave(self, leavers, now)

    # -- offsets -------------------------------------------------------------------------------------------------------

    def error_for_commit(self, member_id: str, instance_id: str | None, epoch: int, version: int) -> ErrorCode:  # noqa: ARG002
        """The error that an OffsetCommit of that version is answered with, or NONE; the instance id does not matter."""
        return offset_rules.error_for_commit(self, member_id, epoch, version)

    def error_for_txn_commit(self, member_id: str, instance_id: str | None, epoch: int) -> ErrorCode:
        """The error that a TxnOffsetCommit is answered with, or NONE."""
        return offset_rules.error_for_txn_commit(self, member_id, instance_id, epoch)

    def is_late_commit(self, member_id: str, epoch: int) -> bool:
        """Whether the member had that epoch, which is not its epoch any more (CGO-5)."""
        return offset_rules.is_late_commit(self, member_id, epoch)

    def had_at(self, member_id: str, epoch: int, topic: str, partition: int) -> bool:
        """Whether the member has the partition since that epoch or longer (CGO-5)."""
        return offset_rules.had_at(self, member_id, epoch, topic, partition)

    def error_for_offset_fetch(self, member_id: str | None, epoch: int) -> ErrorCode:
        """The error that an OffsetFetch is answered with, or NONE."""
        return offset_rules.error_for_fetch(self, member_id, epoch)

    def error_for_offset_delete(self) -> ErrorCode:
        """None, whatever the state: partitions of topics that members read are spared one by one (CGO-9)."""
        return ErrorCode.NONE

    # -- what a test does ----------------------------------------------------------------------------------------------

    def evict(self, member_id: str, now: Instant) -> None:
        """Remove a member as if its session had timed out now. KeyError if there is none."""
        from fakebroker.core.groups.consumer.leaving import remove_members

        remove_members(self, [self.members[member_id].member_id], now, f"member {member_id} was evicted by a test")

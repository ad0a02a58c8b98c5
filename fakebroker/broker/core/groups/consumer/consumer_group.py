"""A consumer group: what its records say (`stored_group.py`), its timers, and who may use its offsets.

What a request does to it is in `heartbeat.py`, `leaving.py` and `group_step.py`. Kafka: `ConsumerGroup`.
"""

from collections.abc import Generator, Sequence
from functools import partial

from fakebroker.broker.core.groups.classic.messages import AnswerJoin, AnswerSync, JoinRequest, Leaver, SyncRequest
from fakebroker.broker.core.groups.consumer.member import ConsumerMember
from fakebroker.broker.core.groups.consumer.patterns import PatternResolver
from fakebroker.broker.core.groups.consumer.stored_group import StoredGroup
from fakebroker.broker.core.groups.host import GroupsHost
from fakebroker.broker.core.groups.modern.assignments import ComputedTarget
from fakebroker.broker.core.groups.modern.config import group_config_int
from fakebroker.broker.core.groups.modern.member_timers import MemberTimers
from fakebroker.broker.core.groups.modern.modern_group import RETRY_MS
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.pace import Pace


class ConsumerGroup(StoredGroup):
    """One group. `resolver` resolves the patterns that members subscribe to."""

    def __init__(self, group_id: str, host: GroupsHost, now: Instant) -> None:
        super().__init__(group_id, host, now)
        self.resolver = PatternResolver(self)
        self.sync_timers = MemberTimers(self.mono, self)  # of classic members

    # -- timers --------------------------------------------------------------------------------------------------------

    def session_timeout_ms(self, member: ConsumerMember) -> int:
        """How long the member may be silent: what it asked for in JoinGroup, else the group's config (CGT-1)."""
        if member.metadata.classic is not None:
            return member.metadata.classic.session_timeout_ms
        return group_config_int(self.host, self.group_id, "consumer.session.timeout.ms")

    def end_session(self, member_id: str) -> None:
        """The member is gone: all its timers go with it."""
        super().end_session(member_id)
        self.sync_timers.end(member_id)

    def start_sync_timer(self, member: ConsumerMember, now: Instant) -> None:
        """Remove a classic member that joined unless its SyncGroup comes within its rebalance timeout (CGM-8)."""
        reason = f"member {member.member_id} sent no SyncGroup in time"
        action = partial(self._remove_late, self.sync_timers, member.member_id, reason)
        self.sync_timers.start(member.member_id, member.metadata.rebalance_timeout_ms, action, now)

    def start_join_timer(self, member: ConsumerMember, now: Instant) -> None:
        """Remove a classic member that has to join again unless it does so within its rebalance timeout (CGM-8).

        A member that was asked before has no more time for it.
        """
        if self.rebalance_timers.due_ms(member.member_id) is None:
            reason = f"member {member.member_id} did not rejoin in time"
            action = partial(self._remove_late, self.rebalance_timers, member.member_id, reason)
            self.rebalance_timers.start(member.member_id, member.metadata.rebalance_timeout_ms, action, now)

    def end_timers(self) -> None:
        """Disarm every timer for good."""
        super().end_timers()
        self.resolver.end()
        self.sync_timers.end_all()

    def remove_member(self, member_id: str, now: Instant, reason: str) -> None:
        """Remove a member; see `leaving.remove_members`."""
        from fakebroker.broker.core.groups.consumer.leaving import remove_members

        remove_members(self, [member_id], now, reason)

    # -- targets -------------------------------------------------------------------------------------------------------

    def compute_target(self, pace: Pace, now: Instant) -> Generator[None, None, ComputedTarget]:
        from fakebroker.broker.core.groups.consumer.group_step import GroupStep

        return GroupStep(self, now).compute_target(next(iter(self.members)), pace)

    def store_target(self, computed: ComputedTarget, now: Instant) -> None:
        from fakebroker.broker.core.groups.consumer.group_step import GroupStep

        step = GroupStep(self, now)
        step.set_target(computed)
        step.write("its target assignment was computed")

    def _remove_late(self, timers: MemberTimers, member_id: str, reason: str, now: Instant) -> None:
        """A classic member did not send what it had to in time; `timers` are those that noticed."""
        if not self.try_to_remove(member_id, now, reason):
            timers.start(member_id, RETRY_MS, partial(self._remove_late, timers, member_id, reason), now)

    # -- requests of the classic protocol ------------------------------------------------------------------------------

    def join(self, request: JoinRequest, answer: AnswerJoin, now: Instant) -> None:
        """JoinGroup: becomes a member at once, or makes an Empty group a classic one (CGM-2, CGM-5, CGM-6)."""
        from fakebroker.broker.core.groups.consumer.classic_members import join

        join(self, request, answer, now)

    def sync(self, request: SyncRequest, answer: AnswerSync, now: Instant) -> None:
        """SyncGroup of a classic member: what it has now (CGM-7)."""
        from fakebroker.broker.core.groups.consumer.classic_members import sync

        answer(sync(self, request, now))

    def heartbeat(self, member_id: str, instance_id: str | None, generation: int, now: Instant) -> ErrorCode:
        """Heartbeat of a classic member (CGM-8)."""
        from fakebroker.broker.core.groups.consumer.classic_members import heartbeat

        return heartbeat(self, member_id, instance_id, generation, now)

    def leave(self, leavers: Sequence[Leaver], now: Instant) -> list[ErrorCode]:
        """LeaveGroup of members of either protocol (CGM-9)."""
        from fakebroker.broker.core.groups.consumer.classic_members import leave

        return leave(self, leavers, now)

    # -- offsets -------------------------------------------------------------------------------------------------------

    def is_classic(self, member: ConsumerMember) -> bool:
        """Whether the member came with JoinGroup."""
        return member.is_classic

    def had_at(self, member_id: str, epoch: int, topic: str, partition: int) -> bool:
        """Whether the partition is assigned to the member, or pending revocation, and was at that epoch (CGO-5)."""
        found = self.host.topics.get(topic)
        if found is None:
            return False
        current = self.members[member_id].current
        stamps = (each.get(found.id, {}).get(partition) for each in (current.assigned, current.pending))
        return any(stamp is not None and stamp <= epoch for stamp in stamps)

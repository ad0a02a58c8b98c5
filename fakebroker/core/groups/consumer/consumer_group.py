"""A consumer group: what its records say, and the state that follows from it.

What a request does to it is in `heartbeat.py`, `leaving.py` and `group_step.py`; here is what records do, and timers.
Kafka: `ConsumerGroup`.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from fakebroker.core.deadlines import Deadline
from fakebroker.core.groups.consumer import offset_rules, records
from fakebroker.core.groups.consumer.assignors import preferred_assignor
from fakebroker.core.groups.consumer.member import ConsumerMember, CurrentAssignment, MemberMetadata
from fakebroker.core.groups.consumer.patterns import PatternResolver, ResolvedPattern
from fakebroker.core.groups.consumer.states import GroupState, MemberState
from fakebroker.core.groups.consumer.subscriptions import Subscriptions
from fakebroker.core.groups.consumer.table import GROUP_STATES
from fakebroker.core.groups.kinds import GroupKind
from fakebroker.core.groups.modern.assignments import NOTHING, Assignment
from fakebroker.core.groups.modern.config import group_config_int
from fakebroker.core.groups.modern.heartbeats import GroupsHost
from fakebroker.core.groups.modern.member_table import MemberTable
from fakebroker.core.groups.modern.modern_group import ModernGroup
from fakebroker.errors import ErrorCode, KafkaError
from fakebroker.instant import Instant
from fakebroker.records.group_records import GroupRecord

_FIRST_EPOCH = 1  # of a group that nobody has subscribed to anything in (CGH-10)
_RETRY_MS = 500  # after which a timer tries again what could not be stored


class ConsumerGroup(ModernGroup):
    """One group. Everything here is what `replay` made of records, but for the timers.

    Attributes:
        members: the members, by member id.
        target: what each member shall have, by member id.
        static: the member id of each instance id.
        owners: which member has a partition, assigned or pending revocation, by topic id and partition.
        patterns: what each pattern was resolved to.
        resolver: resolves the patterns.
        subscriptions: how many members name each topic and have each pattern.
        assignor_counts: how many members name each assignor.
    """

    kind = GroupKind.CONSUMER
    host: GroupsHost
    state: GroupState

    def __init__(self, group_id: str, host: GroupsHost, now: Instant) -> None:
        super().__init__(group_id, host, now)
        self.group_epoch = self.assignment_epoch = _FIRST_EPOCH
        self.protocol_type = "consumer"
        self.state = GroupState.EMPTY
        self.subscribed_topics = frozenset()
        self.members: MemberTable[ConsumerMember] = MemberTable()
        self.static: dict[str, str] = {}
        self.target: dict[str, Assignment] = {}
        self.owners: dict[bytes, dict[int, str]] = {}
        self.patterns: dict[str, ResolvedPattern] = {}
        self.subscriptions = Subscriptions()
        self.assignor_counts: MemberTable[int] = MemberTable()
        self.resolver = PatternResolver(self)
        self._rebalance_timers: dict[str, Deadline] = {}  # by member id

    # -- what it is ----------------------------------------------------------------------------------------------------

    @property
    def is_empty(self) -> bool:
        """Whether it has no members."""
        return not self.members

    def member_ids(self) -> Iterable[str]:
        """The ids of its members, in the order of the coordinator's table (CGA-17)."""
        return self.members.in_order()

    def static_member(self, instance_id: str) -> ConsumerMember | None:
        """The member that holds the instance id, or None."""
        member_id = self.static.get(instance_id)
        return None if member_id is None else self.members[member_id]

    def target_of(self, member_id: str) -> Assignment:
        """What the member shall have by the present target assignment."""
        return self.target.get(member_id, NOTHING)

    @property
    def assignor(self) -> str:
        """The assignor that members prefer, which need not be the one used last (CGD-6)."""
        return preferred_assignor(self.assignor_counts, self.host.settings.get_list("group.consumer.assignors"))

    def is_subscribed(self, topic: str) -> bool:
        """Whether a member reads the topic, by name or by a resolved pattern (CGO-9)."""
        return topic in (self.subscribed_topics or ())

    def present_state(self) -> GroupState:
        """The state that follows from members and epochs (CGE-20)."""
        return next(state for state, holds in GROUP_STATES.items() if holds(self))

    def all_have_their_target(self) -> bool:
        """Whether every member has what the present target assignment gives it, and nothing to give up."""
        epoch = self.assignment_epoch
        return all(member.current.is_reconciled_to(epoch) for member in self.members.values())

    def session_timeout_ms(self, member: ConsumerMember) -> int:
        """How long the member may be silent: what it asked for in JoinGroup, else the group's config (CGT-1)."""
        if member.metadata.classic is not None:
            return member.metadata.classic.session_timeout_ms
        return group_config_int(self.host, self.group_id, "consumer.session.timeout.ms")

    # -- replay --------------------------------------------------------------------------------------------------------

    def replay(self, record: GroupRecord, now: Instant) -> bool:  # noqa: ARG002
        """Apply one record. Returns False if it was the tombstone that ends the group."""
        if record.type == records.METADATA and record.value is None:
            return False
        _REPLAYS[record.type](self, record.key, record.value)
        return True

    def _replay_metadata(self, _: Any, value: Any) -> None:
        self.group_epoch, self.metadata_hash = value.epoch, value.metadata_hash

    def _replay_target_metadata(self, _: Any, value: Any) -> None:
        if value is not None:
            self.assignment_epoch, self.assignment_ms = value.assignment_epoch, value.assignment_timestamp

    def _replay_target(self, key: Any, value: Any) -> None:
        if value is None:
            self.target.pop(key.member_id, None)
        else:
            self.target[key.member_id] = records.target_of(value)

    def _replay_member(self, key: Any, value: Any) -> None:
        member_id: str = key.member_id
        before = self.members.get(member_id)
        if value is None:
            if before is not None:
                self._forget(before)
            return
        metadata = records.metadata_of(value)
        current = CurrentAssignment() if before is None else before.current
        if before is not None and before.instance_id is not None:
            self.static.pop(before.instance_id, None)
        if metadata.instance_id is not None:
            self.static[metadata.instance_id] = member_id
        self.members[member_id] = ConsumerMember(member_id, metadata, current)
        self._subscribe(None if before is None else before.metadata, metadata)

    def _replay_current(self, key: Any, value: Any) -> None:
        member_id: str = key.member_id
        before = self.members.get(member_id)
        if before is None:
            if value is None:
                return
            before = ConsumerMember(member_id)
        current = CurrentAssignment() if value is None else records.current_of(value)
        self._own(member_id, before.current, current)
        self.members[member_id] = before._replace(current=current)

    def _replay_pattern(self, key: Any, value: Any) -> None:
        if value is None:
            self.patterns.pop(key.regular_expression, None)
        else:
            self.patterns[key.regular_expression] = records.resolved_of(value)
        self._update_subscribed_topics()

    def _replay_nothing(self, _: Any, value: Any) -> None:
        """Topic metadata of releases before 4.1: the hash is what counts now."""

    def _forget(self, member: ConsumerMember) -> None:
        self._own(member.member_id, member.current, CurrentAssignment())
        if member.instance_id is not None and self.static.get(member.instance_id) == member.member_id:
            del self.static[member.instance_id]
        del self.members[member.member_id]
        self._subscribe(member.metadata, None)
        self.end_session(member.member_id)
        self.end_rebalance(member.member_id)

    def _own(self, member_id: str, before: CurrentAssignment, after: CurrentAssignment) -> None:
        for topic_id, partition in before.partitions():
            of_topic = self.owners.get(topic_id, {})
            if of_topic.get(partition) == member_id:
                del of_topic[partition]
                if not of_topic:
                    del self.owners[topic_id]
        for topic_id, partition in after.partitions():
            self.owners.setdefault(topic_id, {})[partition] = member_id

    def _subscribe(self, before: MemberMetadata | None, after: MemberMetadata | None) -> None:
        if self.subscriptions.replace(before, after):
            self._update_subscribed_topics()
        self._count_assignor(None if before is None else before.assignor, -1)
        self._count_assignor(None if after is None else after.assignor, 1)

    def _count_assignor(self, name: str | None, by: int) -> None:
        if name is None:
            return
        count = self.assignor_counts.get(name, 0) + by
        if count:
            self.assignor_counts[name] = count
        else:
            del self.assignor_counts[name]

    def _update_subscribed_topics(self) -> None:
        self.subscribed_topics = self.subscriptions.topics(self.patterns)

    def tombstones(self) -> list[GroupRecord]:
        """The records that remove the group from the log (CGB-5)."""
        return records.group_tombstones(self.group_id, self.members.in_order(), self.target, self.patterns)

    # -- timers --------------------------------------------------------------------------------------------------------

    def loaded(self, now: Instant) -> None:
        """Start the timers of all members anew (CGT-4)."""
        for member in self.members.values():
            self.restart_session(member.member_id, self.session_timeout_ms(member), now)
            self.watch_revocation(member, now)
        self.tell_state(now, "loaded from the log")

    def watch_revocation(self, member: ConsumerMember, now: Instant) -> None:
        """Start the member's rebalance timer if it has partitions to give up, else stop it (CGT-3)."""
        self.end_rebalance(member.member_id)
        if member.current.state is MemberState.UNREVOKED_PARTITIONS and not member.current.is_away:
            self.start_rebalance_timer(
                member.member_id,
                member.metadata.rebalance_timeout_ms,
                partial(self._on_rebalance_timeout, member.member_id, member.epoch),
                now,
            )

    def start_rebalance_timer(
        self, member_id: str, timeout_ms: int, action: Callable[[Instant], None], now: Instant
    ) -> None:
        """Let `action` run when the member has not done its part of the rebalance `timeout_ms` from now.

        A member has one such timer at most; it takes the place of the one before.
        """
        self.end_rebalance(member_id)
        timer = self._rebalance_timers[member_id] = Deadline(action, self)
        self.mono.arm(timer, now.mono_ms + timeout_ms)

    def end_rebalance(self, member_id: str) -> None:
        """The member has done its part of the rebalance, or is gone."""
        timer = self._rebalance_timers.pop(member_id, None)
        if timer is not None:
            timer.end()

    def revocation_ends_ms(self, member_id: str) -> int | None:
        """When the member's rebalance timer removes it, by the monotonic clock; None if it has none."""
        timer = self._rebalance_timers.get(member_id)
        return None if timer is None else timer.due_ms

    def end_timers(self) -> None:
        """Disarm every timer for good."""
        super().end_timers()
        self.resolver.end()
        for timer in self._rebalance_timers.values():
            timer.end()
        self._rebalance_timers.clear()

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
            self.start_rebalance_timer(member_id, _RETRY_MS, again, now)

    def _remove(self, member_id: str, now: Instant, reason: str) -> bool:
        """Remove a member because of a timer. Returns False if that cannot be stored now."""
        from fakebroker.core.groups.consumer.leaving import remove_members

        try:
            remove_members(self, [member_id], now, reason)
        except KafkaError:
            return False
        return True

    # -- offsets -------------------------------------------------------------------------------------------------------

    def error_for_commit(self, member_id: str, instance_id: str | None, epoch: int, version: int) -> ErrorCode:  # noqa: ARG002
        """The error that an OffsetCommit of that version is answered with, or NONE; the instance id does not matter."""
        return offset_rules.error_for_commit(self, member_id, epoch, version)

    def error_for_txn_commit(self, member_id: str, instance_id: str | None, epoch: int) -> ErrorCode:
        """The error that a TxnOffsetCommit is answered with, or NONE."""
        return offset_rules.error_for_txn_commit(self, member_id, instance_id, epoch)

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


_REPLAYS: dict[int, Callable[[ConsumerGroup, Any, Any], None]] = {
    records.METADATA: ConsumerGroup._replay_metadata,
    records.PARTITION_METADATA: ConsumerGroup._replay_nothing,
    records.MEMBER: ConsumerGroup._replay_member,
    records.TARGET_METADATA: ConsumerGroup._replay_target_metadata,
    records.TARGET_MEMBER: ConsumerGroup._replay_target,
    records.CURRENT: ConsumerGroup._replay_current,
    records.PATTERN: ConsumerGroup._replay_pattern,
}

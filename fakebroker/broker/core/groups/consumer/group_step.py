"""One step of a consumer group: what a request or a timer makes of it, as records, before anything is applied.

A step looks at the group as it is and at what it has itself put into records; the group changes when the records are
written, all at once. The order of the methods is that of a heartbeat (CGE-1). JoinGroup of a classic member takes the
same steps. Kafka: the second half of `GroupMetadataManager.consumerGroupHeartbeat`, `TargetAssignmentBuilder`.
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from fakebroker.broker.core.events import AssignmentComputed
from fakebroker.broker.core.groups.consumer import records
from fakebroker.broker.core.groups.consumer.assignors import ASSIGNORS, assignor_after
from fakebroker.broker.core.groups.consumer.member import ConsumerMember, CurrentAssignment, MemberMetadata
from fakebroker.broker.core.groups.consumer.messages import TopicPartitions
from fakebroker.broker.core.groups.consumer.patterns import check_pattern
from fakebroker.broker.core.groups.consumer.reconciliation import Goal, reconcile
from fakebroker.broker.core.groups.consumer.subscriptions import TopicIds
from fakebroker.broker.core.groups.modern.assignments import (
    NOTHING,
    Assignment,
    AssignorGroup,
    AssignorMember,
    ComputedTarget,
    closed,
    is_homogeneous,
    members_in_order,
    opened,
    same_partitions,
)
from fakebroker.broker.core.groups.modern.config import group_config_int
from fakebroker.broker.core.groups.modern.heartbeats import is_target_due, metadata_may_have_changed
from fakebroker.broker.core.groups.modern.long_target import is_long
from fakebroker.broker.core.groups.modern.metadata_hash import metadata_hash_of
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.pace import AT_ONCE, Pace, finished

if TYPE_CHECKING:
    from fakebroker.broker.core.groups.consumer.consumer_group import ConsumerGroup
    from fakebroker.protocol.records.group_records import GroupRecord
    from fakebroker.protocol.records.offsets_topic import GroupEntry


class GroupStep:
    """The records of one step, and the group as it will be.

    Attributes:
        records: the records so far, in the order in which they will be written.
        group_epoch: the group epoch after the step.
        members: the members that the step changes, as they will be; None: removed.
    """

    def __init__(self, group: "ConsumerGroup", now: Instant, first: "Iterable[GroupRecord | GroupEntry]" = ()) -> None:
        """A step of `group` as it is now. `first` are records that come before its own, such as those that make the
        group out of a classic one; `group` is as they leave it.
        """
        self.group = group
        self.now = now
        self.records: list[GroupRecord | GroupEntry] = list(first)
        self.group_epoch = group.group_epoch
        self.members: dict[str, ConsumerMember | None] = {}
        self._seen_changes = group.seen_changes
        self._has_looked = False  # at the topics that members read, as they will be
        self._subscriptions = group.subscriptions
        self._patterns = group.patterns
        self._targets: dict[str, Assignment] = {}  # those that the step computes or moves
        self._replaced: str | None = None
        self._reconciled: list[str] = []  # members whose current assignment the step changes
        self._assignment_epoch = group.assignment_epoch
        self._computed: AssignmentComputed | None = None
        self._is_target_put_off = False

    # -- members -------------------------------------------------------------------------------------------------------

    def member(self, member_id: str) -> ConsumerMember | None:
        """A member as it will be, None if it is or will be none."""
        if member_id in self.members:
            return self.members[member_id]
        return self.group.members.get(member_id)

    def expect(self, member_id: str) -> ConsumerMember:
        """A member as it will be, which it is or will be."""
        member = self.member(member_id)
        assert member is not None
        return member

    def tell(self, member_id: str, metadata: MemberMetadata) -> bool:
        """A member, which may be new, tells this of itself. Returns whether the group epoch has to be bumped for it.

        Other topic names are a reason, what else it tells is not (CGE-2, CGE-3, CGE-5); a pattern is one if it is
        resolved already or was given up (CGX-5). Raises KafkaError INVALID_REGULAR_EXPRESSION.
        """
        before = self.member(member_id)
        old = MemberMetadata() if before is None else before.metadata
        member = ConsumerMember(member_id) if before is None else before
        if before is None or metadata != old:
            self.members[member_id] = member._replace(metadata=metadata)
            self.records.append(records.member_record(self.group.group_id, member_id, metadata))
        bumps_for_pattern = metadata.pattern != old.pattern and self._change_pattern(old.pattern, metadata.pattern)
        self._subscribe(None if before is None else old, metadata)
        return metadata.topic_names != old.topic_names or bumps_for_pattern

    def replace_static(self, holder: ConsumerMember, member_id: str, epoch: int) -> None:
        """Give what a static member reported and has to `member_id`, which may be its own id (CGS-3).

        The new one begins at `epoch`.
        """
        group_id = self.group.group_id
        current = holder.current._replace(epoch=epoch, previous_epoch=0)
        target = self.group.target_of(holder.member_id)
        self.records += records.member_tombstones(group_id, holder.member_id)
        self.records.append(records.member_record(group_id, member_id, holder.metadata))
        self.records.append(records.target_record(group_id, member_id, closed(opened(target))))
        self.records.append(records.current_record(group_id, member_id, current))
        if member_id != holder.member_id:
            self._replaced = holder.member_id
            self.members[holder.member_id] = None
        self.members[member_id] = ConsumerMember(member_id, holder.metadata, current)
        self._reconciled.append(member_id)
        self._targets[member_id] = target

    def remove(self, member_ids: Sequence[str]) -> None:
        """Remove members, and what is stored of patterns that nobody else has (CGB-2). The epoch is not bumped yet."""
        for member_id in member_ids:
            self.records += records.member_tombstones(self.group.group_id, member_id)
            self._subscribe(self.group.members[member_id].metadata, None)
            self.members[member_id] = None
        left = self._subscriptions.patterns
        self._drop_patterns([pattern for pattern in self.group.subscriptions.patterns if pattern not in left])

    def _change_pattern(self, old: str, new: str) -> bool:
        """A member has another pattern; "" is none. Returns whether the group epoch has to be bumped for it."""
        if new and new not in self._subscriptions.patterns:
            check_pattern(new)
        if old and self._subscriptions.patterns.get(old) == 1:
            self._drop_patterns([old])
        return not new or new in self.group.patterns

    def _drop_patterns(self, patterns: Sequence[str]) -> None:
        """Forget patterns that nobody has any more; tombstones are written even of those that never were resolved."""
        self.records += [records.pattern_record(self.group.group_id, pattern, None) for pattern in patterns]
        gone = frozenset(patterns)
        self._patterns = {name: resolved for name, resolved in self._patterns.items() if name not in gone}

    def _subscribe(self, before: MemberMetadata | None, after: MemberMetadata | None) -> None:
        if self._subscriptions is self.group.subscriptions:
            self._subscriptions = self._subscriptions.copy()
        self._subscriptions.replace(before, after)

    # -- epochs --------------------------------------------------------------------------------------------------------

    def bump_if_needed(self, *, is_needed: bool) -> None:
        """Bump the group epoch if it `is_needed`, or if the topics that members read are not what they were (CGE-4).

        That is for requests of members; other steps leave looking at the topics to them.
        """
        if not is_needed and not metadata_may_have_changed(self.group):
            return
        self._seen_changes, self._has_looked = self.group.host.topics.changes, True
        metadata_hash = self._present_hash()
        if is_needed or metadata_hash != self.group.metadata_hash:
            self._bump(metadata_hash)

    def bump(self) -> None:
        """Bump the group epoch, because members were removed."""
        self._bump(self._present_hash())

    def _present_hash(self) -> int:
        return metadata_hash_of(self._subscriptions.topics(self._patterns), self.group.host.topics)

    def _bump(self, metadata_hash: int) -> None:
        self.group_epoch += 1
        self.records.append(records.epoch_record(self.group.group_id, self.group_epoch, metadata_hash))

    def update_target(self, joined: str, *, is_due: bool = False) -> None:
        """Compute the target assignment if one is due (CGE-10), for the group as it will be.

        `joined` is the member of the request, which may be new; with `is_due` the assignment interval does not matter.
        """
        interval_ms = (
            0 if is_due else group_config_int(self.group.host, self.group.group_id, "consumer.assignment.interval.ms")
        )
        if not is_target_due(self.group, self.group_epoch, interval_ms, self.now) or self._puts_off_target():
            instance_id = self.expect(joined).instance_id
            if instance_id is not None and self.group.static_member(instance_id) is None:
                self._targets[joined] = NOTHING  # Kafka looks the target up by the instance id (CGS-7)
            return
        self.set_target(finished(self.compute_target(joined, AT_ONCE)))

    def _puts_off_target(self) -> bool:
        """Whether the target is so large that it is computed after the heartbeat, in steps (`LongTarget`).

        Raises KafkaError if that has been done, and it is too large to be stored.
        """
        group, resolved = self.group, self._patterns
        named = [len(each.metadata.topic_names) for each in group.members.values()]
        matched = [
            count * len(resolved[pattern].topics)
            for pattern, count in self._subscriptions.patterns.items()
            if pattern in resolved
        ]
        topics = (group.host.topics.get(name) for name in self._subscriptions.topics(resolved))
        partitions = sum(len(topic.partitions) for topic in topics if topic is not None)
        self._is_target_put_off = is_long(partitions, sum(named) + sum(matched))
        if self._is_target_put_off:
            group.long_target.check(self.group_epoch)
        return self._is_target_put_off

    def compute_target(self, joined: str, pace: Pace) -> Generator[None, None, ComputedTarget]:
        """The target assignment of the group as it will be, in steps; `joined` may be any member.

        Members and their targets are as they are when the steps begin.
        """
        order = members_in_order(self.group.members.in_order(), joined, self._replaced)
        members = {member_id: member for member_id in order if (member := self.member(member_id)) is not None}
        targets = {member_id: self._target_of(member_id) for member_id in members}
        assignor, is_alike = self._assignor_for(joined), self._is_homogeneous(members)
        topics, asked = TopicIds(self._patterns, self.group.host.topics), dict[str, AssignorMember]()
        for member_id, member in members.items():
            topic_ids, missing = topics.of(member.metadata), topics.missing_of(member.metadata)
            asked[member_id] = AssignorMember(topic_ids, targets[member_id], member.instance_id, missing)
            if pace.is_over(len(topic_ids) + missing):
                yield
        spec = AssignorGroup(asked, topics.partition_counts, is_alike)
        return ComputedTarget(assignor, asked, (yield from ASSIGNORS[assignor](spec, pace)))

    def set_target(self, computed: ComputedTarget) -> None:
        """The members shall have what was computed for the group as it will be."""
        group = self.group
        for member_id, member in computed.members.items():
            target = computed.targets[member_id]
            if member_id not in group.target or not same_partitions(target, member.previous):
                if target is member.previous:  # of the static member whose place it takes
                    target = closed(opened(target))
                self._targets[member_id] = target
                self.records.append(records.target_record(group.group_id, member_id, target))
        self._assignment_epoch = self.group_epoch
        self.records.append(records.target_metadata_record(group.group_id, self.group_epoch, self.now.wall_ms))
        self._computed = AssignmentComputed(group.group_id, self.group_epoch, computed.assignor, len(computed.members))

    def _is_homogeneous(self, members: Mapping[str, ConsumerMember]) -> bool:
        """Whether all want the same: of the members as they will be if this step has looked at the topics.

        Otherwise Kafka goes by the group as it was, so that somebody who joins without topics may be assigned some.
        """
        seen = members if self._has_looked else self.group.members
        return is_homogeneous((member.metadata.topic_names, member.metadata.pattern) for member in seen.values())

    def _assignor_for(self, joined: str) -> str:
        before = self.group.members.get(joined if self._replaced is None else self._replaced)
        named = None if before is None else before.metadata.assignor
        configured = self.group.host.settings.get_list("group.consumer.assignors")
        return assignor_after(self.group.assignor_counts, named, self.expect(joined).metadata.assignor, configured)

    def _target_of(self, member_id: str) -> Assignment:
        return self._targets[member_id] if member_id in self._targets else self.group.target_of(member_id)

    # -- reconciliation ------------------------------------------------------------------------------------------------

    def reconcile(self, member_id: str, owned: TopicPartitions | None, *, subscription_changed: bool) -> None:
        """Let a member take its next step towards its target assignment (CGR)."""
        member = self.expect(member_id)
        if member.current.is_reconciled_to(self._assignment_epoch) and not subscription_changed:
            return
        goal = Goal(
            self._assignment_epoch,
            self._target_of(member_id),
            TopicIds(self._patterns, self.group.host.topics).set_of(member.metadata),
            lambda topic_id, partition: self._is_taken(topic_id, partition, member_id),
            owned,
            subscription_changed,
        )
        current = reconcile(member.current, goal)
        if current != member.current:
            self.set_current(member, current)

    def set_current(self, member: ConsumerMember, current: CurrentAssignment) -> None:
        """The member has this now."""
        self.members[member.member_id] = member._replace(current=current)
        self._reconciled.append(member.member_id)
        self.records.append(records.current_record(self.group.group_id, member.member_id, current))

    def _is_taken(self, topic_id: bytes, partition: int, member_id: str) -> bool:
        owner = self.group.owners.get(topic_id, {}).get(partition)
        return owner is not None and owner not in (member_id, self._replaced)

    # -- writing -------------------------------------------------------------------------------------------------------

    def write(self, reason: str) -> "ConsumerGroup":
        """Append and apply the records, start or stop rebalance timers; returns the group as it is stored.

        `reason` is one English clause: what happened, e.g. "member a joined". Raises KafkaError if the append fails;
        then nothing has changed.
        """
        if not self.records:
            self.group.seen_changes = self._seen_changes
            self._compute_later(self.group)
            return self.group
        before = {member_id: self.group.members.get(member_id) for member_id in self.members}
        stored = self.group.write(self.records, self.now, reason)
        stored.seen_changes = self._seen_changes
        self._compute_later(stored)
        if self._computed is not None:
            stored.host.emit(self._computed)
        for member_id, member in self.members.items():
            stored.tell_member(member_id, before[member_id], member, reason)
        for member_id in self._reconciled:
            if (member := self.members[member_id]) is not None and not member.is_classic:
                stored.watch_revocation(member, self.now)
        return stored

    def _compute_later(self, stored: "ConsumerGroup") -> None:
        if self._is_target_put_off:
            stored.long_target.start(self.now)

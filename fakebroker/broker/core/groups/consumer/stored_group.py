"""What the records of a consumer group say, and the state that follows from it. Kafka: `ConsumerGroup`."""

from typing import Any, ClassVar

from fakebroker.broker.core.groups.consumer import records
from fakebroker.broker.core.groups.consumer.assignors import preferred_assignor
from fakebroker.broker.core.groups.consumer.member import ConsumerMember, CurrentAssignment, MemberMetadata
from fakebroker.broker.core.groups.consumer.states import GroupState, member_state_text
from fakebroker.broker.core.groups.consumer.subscriptions import ResolvedPattern, Subscriptions
from fakebroker.broker.core.groups.consumer.table import GROUP_STATES
from fakebroker.broker.core.groups.host import GroupsHost
from fakebroker.broker.core.groups.kinds import GroupKind
from fakebroker.broker.core.groups.modern.assignments import NOTHING, Assignment
from fakebroker.broker.core.groups.modern.member_table import MemberTable
from fakebroker.broker.core.groups.modern.reconciling_group import ReconcilingGroup
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.records.group_records import GroupRecord

_FIRST_EPOCH = 1  # of a group that nobody has subscribed to anything in (CGH-10)


class StoredGroup(ReconcilingGroup):
    """A consumer group as its log has it: everything here is what `replay` made of records.

    Attributes:
        members: the members, by member id.
        target: what each member shall have, by member id.
        static: the member id of each instance id.
        owners: which member has a partition, assigned or pending revocation, by topic id and partition.
        patterns: what each pattern was resolved to.
        subscriptions: how many members name each topic and have each pattern.
        assignor_counts: how many members name each assignor.
    """

    kind = GroupKind.CONSUMER
    assigned_things = "partitions"
    metadata_type = records.METADATA
    target_in = staticmethod(records.target_of)
    state: GroupState

    def __init__(self, group_id: str, host: GroupsHost, now: Instant) -> None:
        super().__init__(group_id, host, now)
        self.group_epoch = self.assignment_epoch = _FIRST_EPOCH
        self.protocol_type = "consumer"
        self.state = GroupState.EMPTY
        self.members: MemberTable[ConsumerMember] = MemberTable()
        self.static: dict[str, str] = {}
        self.target: dict[str, Assignment] = {}
        self.owners: dict[bytes, dict[int, str]] = {}
        self.patterns: dict[str, ResolvedPattern] = {}
        self.subscriptions = Subscriptions()
        self._subscribed_topics: frozenset[str] | None = None  # None: to be found out
        self.assignor_counts: MemberTable[int] = MemberTable()

    # -- what it is ----------------------------------------------------------------------------------------------------

    @property
    def subscribed_topics(self) -> frozenset[str]:
        """The topics that its members read, by name or by pattern.

        They are put together when somebody asks: one step may replay a record of each of thousands of members.
        """
        if self._subscribed_topics is None:
            self._subscribed_topics = self.subscriptions.topics(self.patterns)
        return self._subscribed_topics

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

    def present_state(self) -> GroupState:
        """The state that follows from members and epochs (CGE-20)."""
        return next(state for state, holds in GROUP_STATES.items() if holds(self))

    def member_state_text(self, member: ConsumerMember | None) -> str:
        """A member's state as events tell it."""
        return member_state_text(None if member is None else member.current)

    @property
    def is_reconciled(self) -> bool:
        """Whether every member has what it shall have. Nobody knows that while a member's pattern was not resolved."""
        return super().is_reconciled and not self.unresolved_patterns()

    def unresolved_patterns(self) -> list[str]:
        """The patterns of its members that were not resolved yet, sorted (CGX-4)."""
        return sorted(pattern for pattern in self.subscriptions.patterns if pattern not in self.patterns)

    # -- replay --------------------------------------------------------------------------------------------------------

    def _replay_metadata(self, _: Any, value: Any) -> None:
        self.group_epoch, self.metadata_hash = value.epoch, value.metadata_hash

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
        text: str = key.regular_expression
        before = self.patterns.get(text)
        old = () if before is None else before.topics
        if value is None:
            self.patterns.pop(text, None)
            new: tuple[str, ...] = ()
        else:
            self.patterns[text] = records.resolved_of(value)
            new = self.patterns[text].topics
        if text in self.subscriptions.patterns and old != new:
            self._subscribed_topics = None

    def _replay_nothing(self, _: Any, value: Any) -> None:
        """Topic metadata of releases before 4.1: the hash is what counts now."""

    def _forget(self, member: ConsumerMember) -> None:
        self._own(member.member_id, member.current, CurrentAssignment())
        if member.instance_id is not None and self.static.get(member.instance_id) == member.member_id:
            del self.static[member.instance_id]
        del self.members[member.member_id]
        self._subscribe(member.metadata, None)
        self.end_session(member.member_id)

    def _own(self, member_id: str, before: CurrentAssignment, after: CurrentAssignment) -> None:
        for topic_id, partition in before.partitions():
            of_topic = self.owners.get(topic_id, {})
            if of_topic.get(partition) == member_id:
                del of_topic[partition]
                if not of_topic:
                    del self.owners[topic_id]
        if not self.owners:
            self.owners.clear()  # it would keep the room that it once needed as long as the group lives
        for topic_id, partition in after.partitions():
            self.owners.setdefault(topic_id, {})[partition] = member_id

    def _subscribe(self, before: MemberMetadata | None, after: MemberMetadata | None) -> None:
        if self.subscriptions.replace(before, after):
            self._subscribed_topics = None
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

    def tombstones(self) -> list[GroupRecord]:
        """The records that remove the group from the log (CGB-5)."""
        return records.group_tombstones(self.group_id, self.members.in_order(), self.patterns)

    replays: ClassVar = {
        records.METADATA: _replay_metadata,
        records.PARTITION_METADATA: _replay_nothing,
        records.MEMBER: _replay_member,
        records.TARGET_METADATA: ReconcilingGroup.replay_target_metadata,
        records.TARGET_MEMBER: ReconcilingGroup.replay_target,
        records.CURRENT: _replay_current,
        records.PATTERN: _replay_pattern,
    }

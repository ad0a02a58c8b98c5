"""One share group: its members and their assignment, and which share partitions have a state. Kafka: `ShareGroup`.

What is stored changes by `replay` only. The steps that write are in `heartbeat.py`, `initialization.py` and
`offsets.py`.
"""

from collections.abc import Generator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from fakebroker.broker.core.deadlines import Deadline
from fakebroker.broker.core.events import AssignmentComputed
from fakebroker.broker.core.groups.host import GroupsHost
from fakebroker.broker.core.groups.kinds import GroupKind
from fakebroker.broker.core.groups.modern.assignments import NOTHING, Assignment
from fakebroker.broker.core.groups.modern.config import group_config_int
from fakebroker.broker.core.groups.modern.member_table import MemberTable
from fakebroker.broker.core.groups.modern.metadata_hash import metadata_hash_of
from fakebroker.broker.core.groups.modern.modern_group import ModernGroup
from fakebroker.broker.core.groups.modern.subscription_counts import add_to_counts
from fakebroker.broker.core.groups.share import records as share_records
from fakebroker.broker.core.groups.share.member import CurrentAssignment, MemberMetadata, ShareMember
from fakebroker.broker.core.groups.share.state_partitions import StatePartitions
from fakebroker.broker.core.groups.share.states import ShareGroupState
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.pace import Pace

if TYPE_CHECKING:
    from fakebroker.protocol.records.group_records import GroupRecord

FIRST_EPOCH = 1  # of a group that nobody has joined yet (SGH-4)
ASSIGNOR_NAME = "simple"
FEW_TOPICS = 500  # with a state, in the record that says which have one


class ShareGroup(ModernGroup):
    """A group whose members share partitions.

    `target` is what each member shall have, by member id; `state_partitions` which partitions may be assigned.
    """

    kind = GroupKind.SHARE
    protocol_type = "share"
    host: GroupsHost

    def __init__(self, group_id: str, host: GroupsHost, now: Instant) -> None:
        super().__init__(group_id, host, now)
        self.group_epoch = self.assignment_epoch = FIRST_EPOCH
        self.state: ShareGroupState = ShareGroupState.EMPTY
        self._topic_counts: dict[str, int] = {}  # how many members name each topic
        self._subscribed_topics: frozenset[str] | None = None  # None: to be found out
        self.members: MemberTable[ShareMember] = MemberTable()
        self.target: dict[str, Assignment] = {}
        self.state_partitions = StatePartitions()
        self._forgets_later = self._is_over = False
        self._stated = self.state_partitions, frozenset[str]()  # the names of its topics
        self._lacks_assignment: bool | None = None  # None: to be found out
        self.initializations: dict[Deadline, None] = {}  # of states, which are about to be asked for

    def __repr__(self) -> str:
        return f"<share group {self.group_id!r} {self.state} epoch {self.group_epoch}, {len(self.members)} members>"

    # -- what it is ----------------------------------------------------------------------------------------------------

    @property
    def expires(self) -> bool:
        """Never: it is only deleted (SGH-15)."""
        return False

    @property
    def subscribed_topics(self) -> frozenset[str]:
        """The topics that its members name; put together when somebody asks, as a load replays all members."""
        if self._subscribed_topics is None:
            self._subscribed_topics = frozenset(self._topic_counts)
        return self._subscribed_topics

    def present_state(self) -> ShareGroupState:
        """Empty without members, else Stable (SGH-15)."""
        return ShareGroupState.STABLE if self.members else ShareGroupState.EMPTY

    def all_have_their_target(self) -> bool:
        """Whether every member has what the present target assignment gives it, and all partitions are assigned."""
        epoch = self.assignment_epoch
        if self.state_partitions.initializing or self.lacks_assignment:
            return False
        return all(member.current.epoch == epoch for member in self.members.values())

    def config_ms(self, name: str) -> int:
        """The value in force of a group config in milliseconds, e.g. of "share.session.timeout.ms"."""
        return group_config_int(self.host, self.group_id, name)

    # -- records -------------------------------------------------------------------------------------------------------

    def replay(self, record: "GroupRecord", now: Instant) -> bool:
        """Apply one record. Returns False if it was the tombstone that ends the group."""
        self._lacks_assignment = None
        key, value = record.key, record.value
        match record.type:
            case share_records.EPOCH:
                if value is None:
                    return False
                self.group_epoch, self.metadata_hash = value.epoch, value.metadata_hash
            case share_records.MEMBER:
                self._replay_member(key.member_id, value and share_records.metadata_of(value))
            case share_records.TARGET_EPOCH:
                if value is not None:
                    self.assignment_epoch, self.assignment_ms = value.assignment_epoch, value.assignment_timestamp
            case share_records.TARGET_MEMBER:
                if value is None:
                    self.target.pop(key.member_id, None)
                else:
                    self.target[key.member_id] = share_records.target_of(value)
            case share_records.CURRENT_ASSIGNMENT:
                self._replay_current(key.member_id, value and share_records.current_of(value))
            case share_records.STATE_PARTITIONS:
                self.state_partitions = (
                    StatePartitions() if value is None else share_records.state_partitions_of(value, now.wall_ms)
                )
        return True

    def _replay_member(self, member_id: str, metadata: MemberMetadata | None) -> None:
        before = self.members.get(member_id)
        names = () if metadata is None else metadata.topic_names
        if self._retell(self._topic_counts, before, names):
            self._subscribed_topics = None
        if metadata is not None:
            self.members[member_id] = (before or ShareMember(member_id))._replace(metadata=metadata)
        elif before is not None:
            del self.members[member_id]
            self.end_session(member_id)

    def topic_names_with(self, member_id: str, topic_names: Sequence[str]) -> frozenset[str]:
        """The topics that its members would read if this one, who may be new, read these."""
        before = self.members.get(member_id)
        if topic_names == (before.topic_names if before is not None else ()):
            return self.subscribed_topics
        counts = dict(self._topic_counts)
        self._retell(counts, before, topic_names)
        return frozenset(counts)

    @staticmethod
    def _retell(counts: dict[str, int], before: ShareMember | None, topic_names: Sequence[str]) -> bool:
        """Count a member's topics instead of those it had before; returns whether the counted ones may differ."""
        changed = before is not None and add_to_counts(counts, before.topic_names, -1)
        return add_to_counts(counts, topic_names, 1) or changed

    def _replay_current(self, member_id: str, current: CurrentAssignment | None) -> None:
        member = self.members.get(member_id)
        if current is not None:
            self.members[member_id] = (member or ShareMember(member_id))._replace(current=current)
        elif member is not None:
            self.members[member_id] = member._replace(current=CurrentAssignment())

    def target_of(self, member_id: str) -> Assignment:
        """What a member shall have."""
        return self.target.get(member_id, NOTHING)

    @property
    def lacks_assignment(self) -> bool:
        """Whether the initialized partitions of its topics are not exactly those that somebody shall have (SGH-12).

        A group whose target is not that of its epoch has one coming anyway.
        """
        if self._lacks_assignment is None:
            self._lacks_assignment = self.group_epoch == self.assignment_epoch and self._has_unassigned_partitions()
        return self._lacks_assignment

    def _has_unassigned_partitions(self) -> bool:
        assigned: dict[bytes, dict[int, None]] = {}
        for target in self.target.values():
            for topic_id, partitions in target.items():
                assigned.setdefault(topic_id, {}).update(dict.fromkeys(partitions))
        return any(
            assigned.get(topic_id, {}).keys() != dict.fromkeys(partitions).keys()
            for topic_id, (name, partitions) in self.state_partitions.initialized.items()
            if name in self.subscribed_topics
        )

    def loaded(self, now: Instant) -> None:
        """All records of a load were replayed: every member has a full session before it (CGT-4)."""
        for member_id in self.members:
            self.renew_session(member_id, now)
        self.tell_state(now, "loaded from the log")

    # -- members -------------------------------------------------------------------------------------------------------

    def renew_session(self, member_id: str, now: Instant) -> None:
        """Let the member's session begin anew; its length is that of now (SGH-20, CGT-1)."""
        self.restart_session(member_id, self.config_ms("share.session.timeout.ms"), now)

    def remove_member(self, member_id: str, now: Instant, reason: str) -> None:
        """Remove a member with a bump of the group epoch (SGH-7, SGB-1). Raises KafkaError if it cannot be stored."""
        metadata_hash = metadata_hash_of(self.topic_names_with(member_id, ()), self.host.topics)
        removal = [
            *share_records.member_tombstones(self.group_id, member_id),
            share_records.epoch_record(self.group_id, self.group_epoch + 1, metadata_hash),
        ]
        self.write(removal, now, reason)

    # -- targets -------------------------------------------------------------------------------------------------------

    def compute_target(self, pace: Pace, now: Instant) -> Generator[None, None, dict[str, Assignment]]:  # noqa: ARG002
        from fakebroker.broker.core.groups.share.assignment import new_target

        return new_target(self, next(iter(self.members.values())), pace)

    def store_target(self, computed: dict[str, Assignment], now: Instant) -> None:
        from fakebroker.broker.core.groups.share.assignment import target_records

        records = target_records(self, computed, self.group_epoch, now)
        self.write(list(records), now, "its target assignment was computed")
        self.host.emit(AssignmentComputed(self.group_id, self.group_epoch, ASSIGNOR_NAME, len(computed)))

    # -- offsets: share groups have none (SGL-2) -----------------------------------------------------------------------

    def error_for_commit(self, member_id: str, instance_id: str | None, epoch: int, version: int) -> ErrorCode:  # noqa: ARG002
        """A share group takes no offsets."""
        return ErrorCode.GROUP_ID_NOT_FOUND

    def error_for_txn_commit(self, member_id: str, instance_id: str | None, epoch: int) -> ErrorCode:  # noqa: ARG002
        """A share group takes no offsets."""
        return ErrorCode.GROUP_ID_NOT_FOUND

    def error_for_offset_fetch(self, member_id: str | None, epoch: int) -> ErrorCode:  # noqa: ARG002
        """It has no offsets, which is no error."""
        return ErrorCode.NONE

    def error_for_offset_delete(self) -> ErrorCode:
        """It has no offsets to delete."""
        return ErrorCode.GROUP_ID_NOT_FOUND

    def is_subscribed(self, topic: str) -> bool:
        """Whether a member reads the topic."""
        return topic in self.subscribed_topics

    def topic_deleted(self, name: str, now: Instant) -> None:
        """Forget that topics of this name have a state, unless they exist (again).

        The record has all topics: where they are many, one of a later turn is for those that are gone by then.
        """
        if not self._has_state_of(name):
            return
        if len(self._stated[1]) <= FEW_TOPICS:
            self._forget_gone(f"topic {name} was deleted", now)
        elif not self._forgets_later:
            self._forgets_later = True
            self.host.timers.passes.put_off(partial(self._forget_gone, "topics were deleted"))

    def _forget_gone(self, reason: str, now: Instant) -> None:
        """Forget the states of topics that there are not, unless the group itself is gone."""
        self._forgets_later = False
        if self._is_over:
            return
        known = self.state_partitions
        gone = [topic_id for topic_id in known.topic_ids() if self.host.topics.by_id(topic_id) is None]
        if gone:
            record = share_records.state_partitions_record(self.group_id, known.forgot(gone))
            self.try_to_write([record], now, reason)

    def _has_state_of(self, name: str) -> bool:
        """Whether a topic of this name has a state here, or one that is being made or deleted."""
        known = self.state_partitions
        if self._stated[0] is not known:
            self._stated = known, known.topic_names()
        return name in self._stated[1]

    # -- the end -------------------------------------------------------------------------------------------------------

    def tombstones(self) -> "list[GroupRecord]":
        """The records that remove the group from the log (SGB-1)."""
        return share_records.group_tombstones(self.group_id, self.members)

    def end_timers(self) -> None:
        """Disarm every timer for good."""
        super().end_timers()
        self._is_over = True
        for timer in self.initializations:
            timer.end()
        self.initializations.clear()

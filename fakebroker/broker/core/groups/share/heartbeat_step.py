"""What one heartbeat changes in a share group, as records in the order in which Kafka writes them (SGB-1)."""

from typing import TYPE_CHECKING

from fakebroker.broker.core.groups.modern.assignments import Assignment
from fakebroker.broker.core.groups.modern.heartbeats import is_target_due, metadata_may_have_changed
from fakebroker.broker.core.groups.modern.long_target import is_long
from fakebroker.broker.core.groups.modern.metadata_hash import metadata_hash_of
from fakebroker.broker.core.groups.share import records
from fakebroker.broker.core.groups.share.assignment import new_target, reconciled, target_records
from fakebroker.broker.core.groups.share.member import ShareMember
from fakebroker.broker.core.groups.share.share_group import ShareGroup
from fakebroker.broker.core.groups.share.state_partitions import Partitions
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.pace import AT_ONCE, finished

if TYPE_CHECKING:
    from fakebroker.protocol.records.group_records import GroupRecord


class HeartbeatStep:
    """The step of one heartbeat. `before` and `after` are the member before it, and with its new metadata.

    `epoch` is the group epoch after the step and `reason` why it is another one; `target` is the new target assignment
    if one was computed, `is_target_put_off` says that one is to be computed after the heartbeat, as it takes long
    (`LongTarget`); `to_initialize` are the share partitions whose state is to be asked for now.
    """

    def __init__(self, group: ShareGroup, before: ShareMember, after: ShareMember) -> None:
        self.group = group
        self.before = before
        self.after = after
        self.epoch = group.group_epoch
        self.reason = ""
        self.target: dict[str, Assignment] | None = None
        self.is_target_put_off = False
        self.to_initialize: Partitions = {}
        self.changed_topics = before.topic_names != after.topic_names

    def records(self, now: Instant) -> "list[GroupRecord]":
        """The records, none if nothing changes."""
        made: list[GroupRecord] = []
        if self.after.metadata != self.before.metadata:
            made.append(records.member_record(self.group.group_id, self.after.member_id, self.after.metadata))
        made += self._epoch_records()
        made += self._assignment_records(now)
        made += self._initializing_records(now)
        return made

    def _topic_names(self) -> frozenset[str]:
        """The topics that the members read after the step."""
        return self.group.topic_names_with(self.after.member_id, self.after.topic_names)

    def _epoch_records(self) -> "list[GroupRecord]":
        """The next group epoch, if there is a reason for it (SGH-11, SGH-12)."""
        group, member_id = self.group, self.after.member_id
        if not (self.changed_topics or group.lacks_assignment or metadata_may_have_changed(group)):
            return []
        metadata_hash = metadata_hash_of(self._topic_names(), group.host.topics)
        if self.changed_topics:
            what = "changed its subscription" if member_id in group.members else "joined"
            self.reason = f"member {member_id} {what}"
        elif group.lacks_assignment:
            self.reason = "share partitions were initialized"
        elif metadata_hash != group.metadata_hash:
            self.reason = "subscribed topics changed"
        else:
            return []
        self.epoch += 1
        return [records.epoch_record(group.group_id, self.epoch, metadata_hash)]

    def _assignment_records(self, now: Instant) -> "list[GroupRecord]":
        """A new target if one is due, and what the member has then (SGH-13)."""
        group, member = self.group, self.after
        made: list[GroupRecord] = []
        epoch, target = group.assignment_epoch, group.target_of(member.member_id)
        interval_ms = group.config_ms("share.assignment.interval.ms")
        if is_target_due(group, self.epoch, interval_ms, now) and not self._puts_off_target():
            self.target = finished(new_target(group, member, AT_ONCE))
            epoch, target = self.epoch, self.target[member.member_id]
            made += target_records(group, self.target, epoch, now)
        current = reconciled(member, epoch, target, group.host.topics, changed_topics=self.changed_topics)
        if current != member.current:
            made.append(records.current_assignment_record(group.group_id, member.member_id, current))
        return made

    def _puts_off_target(self) -> bool:
        """Whether a target takes so long that it is not computed now.

        Raises KafkaError if that has been done, and it is too large to be stored.
        """
        group = self.group
        names = sum(len(each.topic_names) for each in (*group.members.values(), self.after))
        topics = map(group.host.topics.get, sorted(self._topic_names()))
        self.is_target_put_off = is_long(sum(len(each.partitions) for each in topics if each is not None), names)
        if self.is_target_put_off:
            group.long_target.check(self.epoch)
        return self.is_target_put_off

    def _initializing_records(self, now: Instant) -> "list[GroupRecord]":
        """Note the share partitions whose state is asked for now (SGH-10)."""
        group = self.group
        retry_ms = group.host.settings.get_int("group.share.initialize.retry.interval.ms")
        known = group.state_partitions
        self.to_initialize = known.to_initialize(sorted(self._topic_names()), group.host.topics, retry_ms, now.wall_ms)
        if not self.to_initialize:
            return []
        return [records.state_partitions_record(group.group_id, known.began(self.to_initialize))]

"""One step of a streams group: what a request or a timer makes of it, as records, before anything is applied.

A step looks at the group as it is and at what it has itself put into records; the group changes when the records are
written, all at once. The order of the methods is that of a heartbeat.
Kafka: the second half of `GroupMetadataManager.streamsGroupHeartbeat`, `TargetAssignmentBuilder`.
"""

from collections.abc import Generator, Iterable, Mapping
from typing import TYPE_CHECKING

from fakebroker.broker.core.events import AssignmentComputed
from fakebroker.broker.core.groups.host import error_of_failed_write
from fakebroker.broker.core.groups.modern.assignments import members_in_order
from fakebroker.broker.core.groups.modern.config import group_config, group_config_int
from fakebroker.broker.core.groups.modern.heartbeats import is_target_due, metadata_may_have_changed
from fakebroker.broker.core.groups.modern.long_target import is_long
from fakebroker.broker.core.groups.modern.metadata_hash import metadata_hash_of
from fakebroker.broker.core.groups.streams import records
from fakebroker.broker.core.groups.streams.internal_topics import ConfiguredTopology, Status, configure
from fakebroker.broker.core.groups.streams.member import MemberMetadata, StreamsMember
from fakebroker.broker.core.groups.streams.reconciliation import Goal, reconcile
from fakebroker.broker.core.groups.streams.states import StatusCode
from fakebroker.broker.core.groups.streams.sticky_assignor import AssignorMember, AssignorSubtopology, assign
from fakebroker.broker.core.groups.streams.tasks import NO_TASKS, Tasks
from fakebroker.broker.core.groups.streams.topology import Topology
from fakebroker.broker.core.topics import CONSUMER_OFFSETS
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.pace import AT_ONCE, Pace, finished

if TYPE_CHECKING:
    from fakebroker.broker.core.groups.streams.streams_group import StreamsGroup
    from fakebroker.protocol.records.group_records import GroupRecord
    from fakebroker.protocol.records.offsets_topic import GroupEntry

ASSIGNOR = "sticky"
_STANDBY_CONFIG = "num.standby.replicas"
# A task is four bytes in the target of its member, and eight in what the member has; a batch of records is a mebibyte.
# A group of one member cannot store more, and each short heartbeat would compute it again.
MOST_TASKS = 100_000
_TASK_BYTES = 4


class GroupStep:
    """The records of one step, and the group as it will be.

    Attributes:
        records: the records so far, in the order in which they will be written.
        group_epoch: the group epoch after the step.
        status: what the member learns of the group beside errors.
        members: the members that the step changes, as they will be; None: removed.
    """

    def __init__(self, group: "StreamsGroup", now: Instant, first: "Iterable[GroupRecord | GroupEntry]" = ()) -> None:
        """A step of `group` as it is now. `first` are records that come before its own; `group` is as they leave it."""
        self.group = group
        self.now = now
        self.records: list[GroupRecord | GroupEntry] = list(first)
        self.group_epoch = group.group_epoch
        self.status: list[Status] = []
        self.members: dict[str, StreamsMember | None] = {}
        self._topology = group.topology
        self._configured = group.configured
        self._metadata_hash = group.metadata_hash
        self._is_bump_needed = False
        self._has_looked = False
        self._targets: dict[str, Tasks] = {}
        self._reconciled: list[str] = []  # members whose current assignment the step changes
        self._assignment_epoch = group.assignment_epoch
        self._initial_delay_ms = 0
        self._computed: AssignmentComputed | None = None
        self._is_target_put_off = False

    # -- members -------------------------------------------------------------------------------------------------------

    def expect(self, member_id: str) -> StreamsMember:
        """A member as it will be, which it is or will be."""
        member = self.members[member_id] if member_id in self.members else self.group.members.get(member_id)
        assert member is not None
        return member

    def tell(self, member_id: str, metadata: MemberMetadata) -> None:
        """A member, which may be new, tells this of itself. Whatever is new of it bumps the group epoch (STE-1)."""
        before = self.group.members.get(member_id)
        if before is None or metadata != before.metadata:
            member = StreamsMember(member_id) if before is None else before
            self.members[member_id] = member._replace(metadata=metadata)
            self.records.append(records.member_record(self.group.group_id, member_id, metadata))
            self._is_bump_needed = True

    def remove(self, member_id: str) -> None:
        """Remove a member and bump the group epoch; topics are not looked at (STE-1, STB-1)."""
        group = self.group
        self.records += records.member_tombstones(group.group_id, member_id)
        self.members[member_id] = None
        self.group_epoch += 1
        self.records.append(
            records.metadata_record(
                group.group_id,
                self.group_epoch,
                group.metadata_hash,
                group.validated_topology_epoch,
                group.assignment_configs,
            )
        )

    # -- topology ------------------------------------------------------------------------------------------------------

    def take_topology(self, topology: Topology | None) -> None:
        """A member that joins sends its topology; others None. The first one becomes that of the group (STT-3).

        Raises KafkaError INVALID_REQUEST if it is another one, and not an older one; UNKNOWN_SERVER_ERROR, as Kafka
        fails, if two of its subtopologies have the same id, or the first one has a negative epoch.
        """
        if topology is not None and topology.has_repeated_id:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "two subtopologies have the same id")
        known = self._topology
        if known is None:
            if topology is None:
                raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "the group has no topology")
            if topology.epoch < 0:
                raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"the epoch of the topology is {topology.epoch}")
            self._topology = topology
            self.records.append(records.topology_record(self.group.group_id, topology))
        elif topology is not None and topology.epoch >= known.epoch and not topology.is_same(known):
            raise KafkaError(ErrorCode.INVALID_REQUEST, "the topology of a group cannot be changed")

    def note_stale_topology(self, member_id: str) -> None:
        """Tell a member whose topology is older than the group's (STT-3)."""
        known, own_epoch = self.group.topology, self.expect(member_id).metadata.topology_epoch
        if known is not None and own_epoch < known.epoch:
            detail = f"the member's topology has epoch {own_epoch}, that of the group {known.epoch}"
            self.status.append(Status(StatusCode.STALE_TOPOLOGY, detail))

    def look_at_topics(self) -> ConfiguredTopology:
        """Hold the topology against the topics that exist, if these may have changed (STT-4, STE-1).

        Raises KafkaError STREAMS_INVALID_TOPOLOGY if it can never be ready.
        """
        group, topology = self.group, self._topology
        assert topology is not None
        self._has_looked = True
        if group.topology is None or self._configured is None or metadata_may_have_changed(group):
            self._metadata_hash = metadata_hash_of(topology.required_topics, group.host.topics)
            is_new = self._metadata_hash != group.metadata_hash
            self._is_bump_needed |= is_new
            if is_new or group.topology is None or self._configured is None:
                self._configured = configure(topology, group.existing_count)
        assert self._configured is not None
        return self._configured

    def bump_if_needed(self) -> None:
        """Bump the group epoch if something needs it: also a topology that became ready or stopped being so, and
        other settings of the assignor (STE-1, STC-2).
        """
        group, configured = self.group, self._configured
        assert configured is not None
        validated_epoch = configured.epoch if configured.is_ready else -1
        configs = self._assignment_configs()
        if not self._is_bump_needed:
            is_same = validated_epoch == group.validated_topology_epoch and configs == group.assignment_configs
            if is_same:
                return
        self.group_epoch += 1
        self.records.append(
            records.metadata_record(group.group_id, self.group_epoch, self._metadata_hash, validated_epoch, configs)
        )

    def _assignment_configs(self) -> dict[str, str]:
        name = f"streams.{_STANDBY_CONFIG}"
        return {_STANDBY_CONFIG: group_config(self.group.host, self.group.group_id, name)}

    # -- target --------------------------------------------------------------------------------------------------------

    def update_target(self, member_id: str) -> None:
        """Compute the target assignment for the member that sends a heartbeat and all others, if it is due.

        The first assignment of a group that was Empty waits for the initial delay (STE-3), others for the assignment
        interval (STE-4); members get a status that says so.
        """
        group = self.group
        if group.is_empty:
            self._initial_delay_ms = self._config_int("streams.initial.rebalance.delay.ms")
        if group.in_initial_delay or self._initial_delay_ms > 0:
            self._note_delay("the first assignment of the group waits for its initial delay")
            self._targets = {member_id: NO_TASKS}
        elif self.group_epoch > group.assignment_epoch:
            if is_target_due(group, self.group_epoch, self._config_int("streams.assignment.interval.ms"), self.now):
                self.compute_target(member_id, self._assignment_configs())
            else:
                self._note_delay("the assignment waits for the group's assignment interval")

    def compute_target(self, member_id: str | None, configs: Mapping[str, str]) -> None:
        """Compute the target for the group as it will be; one of very many tasks later, in steps (`LongTarget`).

        `member_id` is the member of the heartbeat, which may be new, None: there is none. Raises KafkaError for more
        tasks than could be written.
        """
        members = self._assignor_members(member_id)
        standbys = int(configs[_STANDBY_CONFIG])
        self._is_target_put_off = is_long(self._checked_tasks(members, standbys), 0)
        if self._is_target_put_off:
            self.group.long_target.check(self.group_epoch)
            self._note_delay("the assignment is being computed")
        else:
            self.set_target(finished(self._targets_in_steps(members, standbys, AT_ONCE)))

    def target_in_steps(self, pace: Pace) -> Generator[None, None, Mapping[str, Tasks]]:
        """The target for the group as it is stored. A new one has not looked at its topics."""
        if self._configured is None and self._topology is not None:
            self._configured = configure(self._topology, self.group.existing_count)
        standbys = int(self.group.assignment_configs[_STANDBY_CONFIG])
        return self._targets_in_steps(self._assignor_members(None), standbys, pace)

    def set_target(self, targets: Mapping[str, Tasks]) -> None:
        """The members shall have what was computed for the group as it will be."""
        group = self.group
        for each, target in targets.items():
            self._targets[each] = target
            if group.target.get(each) != target:
                self.records.append(records.target_record(group.group_id, each, target))
        self._assignment_epoch = self.group_epoch
        self.records.append(records.target_metadata_record(group.group_id, self.group_epoch, self.now.wall_ms))
        self._computed = AssignmentComputed(group.group_id, self.group_epoch, ASSIGNOR, len(targets))

    def _assignor_members(self, member_id: str | None) -> dict[str, AssignorMember]:
        """All members in the order in which the assignor walks them."""
        present = self.group.members.in_order()
        order = present if member_id is None else members_in_order(present, member_id)
        return {each: AssignorMember(self.expect(each).process_id, self.group.target_of(each)) for each in order}

    def _targets_in_steps(
        self, members: Mapping[str, AssignorMember], standbys: int, pace: Pace
    ) -> Generator[None, None, Mapping[str, Tasks]]:
        """What all members shall have: nothing while the topology is not ready (STT-4)."""
        configured = self._configured
        assert configured is not None
        if not configured.is_ready:
            return dict.fromkeys(members, NO_TASKS)
        return (yield from assign(members, self._assignor_subtopologies(), standbys, pace))

    def _assignor_subtopologies(self) -> list[AssignorSubtopology]:
        """What there is to assign, ready or not."""
        assert self._configured is not None
        return [
            AssignorSubtopology(each.subtopology_id, each.tasks, each.is_stateful)
            for each in (self._configured.subtopologies or {}).values()
        ]

    def _checked_tasks(self, members: Mapping[str, AssignorMember], standbys: int) -> int:
        """How many tasks there are to assign, with standbys; none while the topology is not ready.

        Raises KafkaError for more than could be written: to assign them would take seconds, for nothing. Each task is
        in the target of one member, and in those of as many others as it has standbys: in other processes.
        """
        assert self._configured is not None
        if not self._configured.is_ready:
            return 0
        subtopologies = self._assignor_subtopologies()
        tasks = sum(each.tasks for each in subtopologies)
        copies = min(standbys, len({each.process_id for each in members.values()}) - 1)
        of_standbys = sum(each.tasks * copies for each in subtopologies if each.is_stateful)
        topic = self.group.host.topics.get(CONSUMER_OFFSETS)
        most = MOST_TASKS if topic is None else topic.config.log.max_message_bytes // _TASK_BYTES
        if tasks > MOST_TASKS or tasks + of_standbys > most:
            most, found = (MOST_TASKS, tasks) if tasks > MOST_TASKS else (most, tasks + of_standbys)
            code = error_of_failed_write(ErrorCode.MESSAGE_TOO_LARGE)
            raise KafkaError(code, f"the group has {found} tasks, and at most {most} fit")
        return tasks + of_standbys

    def _note_delay(self, detail: str) -> None:
        self.status.append(Status(StatusCode.ASSIGNMENT_DELAYED, detail))

    def _config_int(self, name: str) -> int:
        return group_config_int(self.group.host, self.group.group_id, name)

    # -- reconciliation ------------------------------------------------------------------------------------------------

    def reconcile(self, member_id: str, owned: Tasks | None) -> None:
        """Let a member take its next step towards its target assignment (STR)."""
        member = self.expect(member_id)
        target = self._targets[member_id] if member_id in self._targets else self.group.target_of(member_id)
        goal = Goal(self._assignment_epoch, target, member.process_id, self.group.owners, owned)
        current = reconcile(member.current, goal)
        if current != member.current:
            self.members[member_id] = member._replace(current=current)
            self._reconciled.append(member_id)
            self.records.append(records.current_record(self.group.group_id, member_id, current))

    # -- writing -------------------------------------------------------------------------------------------------------

    def write(self, reason: str) -> "StreamsGroup":
        """Append and apply the records, set timers; returns the group as it is stored.

        `reason` is one English clause: what happened, e.g. "member a joined". Raises KafkaError if the append fails;
        then nothing has changed.
        """
        group = self.group
        before = {member_id: group.members.get(member_id) for member_id in self.members}
        is_bumped = self.group_epoch > group.group_epoch
        stored = group.write(self.records, self.now, reason) if self.records else group
        if self._has_looked:
            group.configured, group.seen_changes = self._configured, group.host.topics.changes
        if self.records:
            stored.described = stored.configured
        if self._initial_delay_ms > 0:
            stored.start_initial_delay(self._initial_delay_ms, self.now)
        if is_bumped:
            stored.try_soon(self.now)
        if self._is_target_put_off:
            stored.long_target.start(self.now)
        if self._computed is not None:
            stored.host.emit(self._computed)
        for member_id, after in self.members.items():
            stored.tell_member(member_id, before[member_id], after, reason)
            if after is not None and member_id in self._reconciled:
                stored.watch_revocation(after, self.now)
        return stored


def compute_delayed_target(group: "StreamsGroup", now: Instant) -> None:
    """The initial delay is over: compute the target for those who joined meanwhile (STE-3).

    As in Kafka nothing is done if no heartbeat followed the one that made the group: nobody has looked at the topics
    then, and the next heartbeat computes the target.
    """
    if group.is_empty or group.configured is None or group.group_epoch <= group.assignment_epoch:
        return
    step = GroupStep(group, now)
    step.compute_target(None, group.assignment_configs)
    step.write("the initial delay has passed")

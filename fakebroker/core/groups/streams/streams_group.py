"""A streams group: what its records say, and the state that follows from it.

What a request does to it is in `heartbeat.py`, `leaving.py` and `group_step.py`; here is what records do, and timers.
Kafka: `StreamsGroup`.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from fakebroker.core.deadlines import Deadline
from fakebroker.core.groups.kinds import GroupKind
from fakebroker.core.groups.modern.config import group_config_int
from fakebroker.core.groups.modern.heartbeats import GroupsHost
from fakebroker.core.groups.modern.member_table import MemberTable
from fakebroker.core.groups.modern.modern_group import ModernGroup
from fakebroker.core.groups.modern.rebalance_timers import RebalanceTimers
from fakebroker.core.groups.streams import offset_rules, records
from fakebroker.core.groups.streams.internal_topics import ConfiguredTopology
from fakebroker.core.groups.streams.member import CurrentAssignment, StreamsMember
from fakebroker.core.groups.streams.states import GroupState, MemberState
from fakebroker.core.groups.streams.task_owners import TaskOwners
from fakebroker.core.groups.streams.tasks import NO_TASKS, Tasks
from fakebroker.core.groups.streams.topology import Topology
from fakebroker.errors import ErrorCode
from fakebroker.instant import Instant
from fakebroker.records.group_records import GroupRecord

_FIRST_EPOCH = 1  # of a group before its first step (STH-10)
_NOTHING: frozenset[str] = frozenset()


class StreamsGroup(ModernGroup):
    """One group. Everything in the first list is what `replay` made of records; the second is in memory only (STH-33).

    Attributes:
        members: the members, by member id.
        target: what each member shall have, by member id.
        topology: what the application is made of; None before the first member.
        validated_topology_epoch: the epoch of the topology if it was ready at the last bump, -1: it was not (STE-2).
        assignment_configs: the settings that targets are computed with, as of the last bump (STC-2).
        owners: which processes have which tasks.

        configured: the topology held against the topics that exist, None: nobody has looked yet.
        described: the same as it was when records were written last, which is what StreamsGroupDescribe shows (STD-1).
        endpoint_epoch: how often an endpoint got other tasks (STP-1).
        shutdown_member_id: the member that asked to shut down the application, None: nobody did.
    """

    kind = GroupKind.STREAMS
    host: GroupsHost
    state: GroupState

    def __init__(self, group_id: str, host: GroupsHost, now: Instant) -> None:
        super().__init__(group_id, host, now)
        self.group_epoch = self.assignment_epoch = _FIRST_EPOCH
        self.protocol_type = "streams"
        self.state = GroupState.EMPTY
        self.subscribed_topics = _NOTHING
        self.members: MemberTable[StreamsMember] = MemberTable()
        self.target: dict[str, Tasks] = {}
        self.topology: Topology | None = None
        self.validated_topology_epoch = -1
        self.assignment_configs: Mapping[str, str] = {}
        self.owners = TaskOwners()
        self.configured: ConfiguredTopology | None = None
        self.described: ConfiguredTopology | None = None
        self.endpoint_epoch = 0
        self.shutdown_member_id: str | None = None
        self.rebalance_timers = RebalanceTimers(self.mono, self)
        self.initial_delay = Deadline(self._on_initial_delay, self)

    # -- what it is ----------------------------------------------------------------------------------------------------

    @property
    def is_empty(self) -> bool:
        """Whether it has no members."""
        return not self.members

    def member_ids(self) -> Iterable[str]:
        """The ids of its members, in the order of the coordinator's table (CGA-17)."""
        return self.members.in_order()

    def target_of(self, member_id: str) -> Tasks:
        """What the member shall have by the present target assignment."""
        return self.target.get(member_id, NO_TASKS)

    def present_state(self) -> GroupState:
        """The state that follows from members, topology and epochs (STG-1)."""
        if not self.members:
            return GroupState.EMPTY
        if self.topology is None or self.topology.epoch != self.validated_topology_epoch:
            return GroupState.NOT_READY
        if self.group_epoch > self.assignment_epoch:
            return GroupState.ASSIGNING
        return GroupState.STABLE if self.all_have_their_target() else GroupState.RECONCILING

    def all_have_their_target(self) -> bool:
        """Whether every member has what the present target assignment gives it, and nothing to give up."""
        epoch = self.assignment_epoch
        return all(member.current.is_reconciled_to(epoch) for member in self.members.values())

    @property
    def state_in_filters(self) -> str:
        """What names the state in filters of ListGroups: "not_ready" has an underscore (STG-2)."""
        return self.state.name.lower()

    def existing_count(self, topic: str) -> int | None:
        """The number of partitions of a topic, None if it does not exist."""
        found = self.host.topics.get(topic)
        return None if found is None else len(found.partitions)

    # -- offsets -------------------------------------------------------------------------------------------------------

    def error_for_commit(self, member_id: str, instance_id: str | None, epoch: int, version: int) -> ErrorCode:  # noqa: ARG002
        """The error that an OffsetCommit of that version is answered with, or NONE."""
        return offset_rules.error_for_commit(self, member_id, epoch, version)

    def error_for_txn_commit(self, member_id: str, instance_id: str | None, epoch: int) -> ErrorCode:
        """The error that a TxnOffsetCommit is answered with, or NONE."""
        return offset_rules.error_for_txn_commit(self, member_id, instance_id, epoch)

    def is_late_commit(self, member_id: str, epoch: int) -> bool:
        """Whether a commit that was refused is of a member that had this epoch: then partitions decide."""
        return offset_rules.is_late_commit(self, member_id, epoch)

    def had_at(self, member_id: str, epoch: int, topic: str, partition: int) -> bool:
        """Whether the member has the task that reads the partition, and had it at that epoch of its own already."""
        return offset_rules.had_at(self, member_id, epoch, topic, partition)

    def error_for_offset_fetch(self, member_id: str | None, epoch: int) -> ErrorCode:
        """The error that an OffsetFetch is answered with, or NONE."""
        return offset_rules.error_for_fetch(self, member_id, epoch)

    def error_for_offset_delete(self) -> ErrorCode:
        """None, whatever the state: partitions of topics that tasks read are spared one by one (STO-1)."""
        return ErrorCode.NONE

    def is_subscribed(self, topic: str) -> bool:
        """Whether tasks of the group read the topic, so that OffsetDelete spares its offsets (STO-1)."""
        return topic in (self.subscribed_topics or ())

    # -- replay --------------------------------------------------------------------------------------------------------

    def replay(self, record: GroupRecord, now: Instant) -> bool:  # noqa: ARG002
        """Apply one record. Returns False if it was the tombstone that ends the group."""
        if record.type == records.METADATA and record.value is None:
            return False
        _REPLAYS[record.type](self, record.key, record.value)
        return True

    def _replay_metadata(self, _: Any, value: Any) -> None:
        self.group_epoch, self.metadata_hash = value.epoch, value.metadata_hash
        self.validated_topology_epoch = value.validated_topology_epoch
        self.assignment_configs = records.assignment_configs_of(value)

    def _replay_topology(self, _: Any, value: Any) -> None:
        self.topology = None if value is None else Topology(value)
        self._update_subscribed_topics()

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
        if value is not None:
            member = StreamsMember(member_id) if before is None else before
            self._set_member(before, member._replace(metadata=records.metadata_of(value)))
        elif before is not None:
            self.owners.replace(before, None)
            del self.members[member_id]
            self.end_session(member_id)
            self.rebalance_timers.end(member_id)
        self._update_subscribed_topics()
        if not self.members:
            self.shutdown_member_id = None

    def _replay_current(self, key: Any, value: Any) -> None:
        before = self.members.get(key.member_id)
        if before is None and value is None:
            return
        member = StreamsMember(key.member_id) if before is None else before
        current = CurrentAssignment() if value is None else records.current_of(value)
        self._set_member(before, member._replace(current=current))

    def _set_member(self, before: StreamsMember | None, after: StreamsMember) -> None:
        self.owners.replace(before, after)
        self.members[after.member_id] = after

    def _update_subscribed_topics(self) -> None:
        topology = self.topology
        self.subscribed_topics = frozenset(topology.source_topics) if self.members and topology else _NOTHING

    def tombstones(self) -> list[GroupRecord]:
        """The records that remove the group from the log (STB-1)."""
        return records.group_tombstones(self.group_id, self.members.in_order())

    # -- timers --------------------------------------------------------------------------------------------------------

    def loaded(self, now: Instant) -> None:
        """Start the timers of all members anew (STM-1, CGT-4)."""
        for member in self.members.values():
            self.restart_session_of_member(member.member_id, now)
            self.watch_revocation(member, now)
        self.tell_state(now, "loaded from the log")

    def restart_session_of_member(self, member_id: str, now: Instant) -> None:
        """The member was heard of: its session ends when the group's configuration says, from now on (STM-1)."""
        timeout_ms = group_config_int(self.host, self.group_id, "streams.session.timeout.ms")
        self.restart_session(member_id, timeout_ms, now)

    def watch_revocation(self, member: StreamsMember, now: Instant) -> None:
        """Start the member's rebalance timer if it has tasks to give up, else stop it (STM-2)."""
        if member.current.state is MemberState.UNREVOKED_TASKS:
            action = partial(self._on_rebalance_timeout, member.member_id, member.epoch)
            self.rebalance_timers.start(member.member_id, member.metadata.rebalance_timeout_ms, action, now)
        else:
            self.rebalance_timers.end(member.member_id)

    def start_initial_delay(self, delay_ms: int, now: Instant) -> None:
        """Let the first target assignment wait for further members; a delay that runs already goes on (STE-3)."""
        if self.initial_delay.due_ms is None:
            self.mono.arm(self.initial_delay, now.mono_ms + delay_ms)

    @property
    def in_initial_delay(self) -> bool:
        """Whether the first target assignment waits for further members."""
        return self.initial_delay.due_ms is not None

    def end_timers(self) -> None:
        """Disarm every timer for good."""
        super().end_timers()
        self.rebalance_timers.end_all()
        self.initial_delay.end()

    def on_session_timeout(self, member_id: str, now: Instant) -> None:
        """The member was silent for too long: it is removed as if it had left (STM-1)."""
        from fakebroker.core.groups.streams.leaving import remove_silent_member

        remove_silent_member(self, member_id, now, f"member {member_id} timed out")

    def _on_rebalance_timeout(self, member_id: str, epoch: int, now: Instant) -> None:
        """The member did not give up its tasks in time: it is removed, unless it got on meanwhile (STM-2)."""
        from fakebroker.core.groups.streams.leaving import remove_silent_member

        member = self.members.get(member_id)
        if member is not None and member.epoch == epoch:
            remove_silent_member(self, member_id, now, f"member {member_id} did not give up its tasks in time")

    def _on_initial_delay(self, now: Instant) -> None:
        """Compute the target that waited, without any heartbeat (STE-3)."""
        from fakebroker.core.groups.streams.group_step import compute_delayed_target

        self.initial_delay.disarm()
        compute_delayed_target(self, now)

    # -- what a test does ----------------------------------------------------------------------------------------------

    def evict(self, member_id: str, now: Instant) -> None:
        """Remove a member as if its session had timed out now. KeyError if there is none."""
        from fakebroker.core.groups.streams.leaving import remove_member

        remove_member(self, self.members[member_id].member_id, now, f"member {member_id} was evicted by a test")


_REPLAYS: dict[int, Callable[[StreamsGroup, Any, Any], None]] = {
    records.METADATA: StreamsGroup._replay_metadata,
    records.MEMBER: StreamsGroup._replay_member,
    records.TARGET_METADATA: StreamsGroup._replay_target_metadata,
    records.TARGET_MEMBER: StreamsGroup._replay_target,
    records.CURRENT: StreamsGroup._replay_current,
    records.TOPOLOGY: StreamsGroup._replay_topology,
}

"""What the records of a streams group say, and the state that follows from it. Kafka: `StreamsGroup`."""

from collections.abc import Mapping
from typing import Any, ClassVar

from fakebroker.broker.core.groups.host import GroupsHost
from fakebroker.broker.core.groups.kinds import GroupKind
from fakebroker.broker.core.groups.modern.member_table import MemberTable
from fakebroker.broker.core.groups.modern.reconciling_group import ReconcilingGroup
from fakebroker.broker.core.groups.streams import records
from fakebroker.broker.core.groups.streams.member import CurrentAssignment, StreamsMember
from fakebroker.broker.core.groups.streams.states import GroupState, member_state_text
from fakebroker.broker.core.groups.streams.table import GROUP_STATES
from fakebroker.broker.core.groups.streams.task_owners import TaskOwners
from fakebroker.broker.core.groups.streams.tasks import NO_TASKS, Tasks
from fakebroker.broker.core.groups.streams.topology import Topology
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.records.group_records import GroupRecord

_FIRST_EPOCH = 1  # of a group before its first step (STH-10)
_NOTHING: frozenset[str] = frozenset()


class StoredGroup(ReconcilingGroup):
    """A streams group as its log has it: everything here is what `replay` made of records.

    Attributes:
        members: the members, by member id.
        target: what each member shall have, by member id.
        topology: what the application is made of; None before the first member.
        validated_topology_epoch: the epoch of the topology if it was ready at the last bump, -1: it was not (STE-2).
        assignment_configs: the settings that targets are computed with, as of the last bump (STC-2).
        owners: which processes have which tasks.
    """

    kind = GroupKind.STREAMS
    assigned_things = "tasks"
    metadata_type = records.METADATA
    target_in = staticmethod(records.target_of)
    state: GroupState

    def __init__(self, group_id: str, host: GroupsHost, now: Instant) -> None:
        super().__init__(group_id, host, now)
        self.group_epoch = self.assignment_epoch = _FIRST_EPOCH
        self.protocol_type = "streams"
        self.state = GroupState.EMPTY
        self.members: MemberTable[StreamsMember] = MemberTable()
        self.target: dict[str, Tasks] = {}
        self.topology: Topology | None = None
        self.validated_topology_epoch = -1
        self.assignment_configs: Mapping[str, str] = {}
        self.owners = TaskOwners()

    # -- what it is ----------------------------------------------------------------------------------------------------

    @property
    def subscribed_topics(self) -> frozenset[str]:
        """The topics that its tasks read, as long as it has members."""
        topology = self.topology
        return topology.names_of_sources if self.members and topology else _NOTHING

    def target_of(self, member_id: str) -> Tasks:
        """What the member shall have by the present target assignment."""
        return self.target.get(member_id, NO_TASKS)

    def present_state(self) -> GroupState:
        """The state that follows from members, topology and epochs (STG-1)."""
        return next(state for state, holds in GROUP_STATES.items() if holds(self))

    def member_state_text(self, member: StreamsMember | None) -> str:
        """A member's state as events tell it."""
        return member_state_text(None if member is None else member.current)

    @property
    def state_in_filters(self) -> str:
        """What names the state in filters of ListGroups: "not_ready" has an underscore (STG-2)."""
        return self.state.name.lower()

    # -- replay --------------------------------------------------------------------------------------------------------

    def _replay_metadata(self, _: Any, value: Any) -> None:
        self.group_epoch, self.metadata_hash = value.epoch, value.metadata_hash
        self.validated_topology_epoch = value.validated_topology_epoch
        self.assignment_configs = records.assignment_configs_of(value)

    def _replay_topology(self, _: Any, value: Any) -> None:
        self.topology = None if value is None else Topology(value)

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

    def tombstones(self) -> list[GroupRecord]:
        """The records that remove the group from the log (STB-1)."""
        return records.group_tombstones(self.group_id, self.members.in_order())

    replays: ClassVar = {
        records.METADATA: _replay_metadata,
        records.MEMBER: _replay_member,
        records.TARGET_METADATA: ReconcilingGroup.replay_target_metadata,
        records.TARGET_MEMBER: ReconcilingGroup.replay_target,
        records.CURRENT: _replay_current,
        records.TOPOLOGY: _replay_topology,
    }

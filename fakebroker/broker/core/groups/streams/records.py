"""The records of a streams group (STB), made from the group's values and turned back into them."""

from collections.abc import Iterable, Mapping

from fakebroker.broker.core.groups.streams.member import CurrentAssignment, Endpoint, MemberMetadata
from fakebroker.broker.core.groups.streams.states import MemberState
from fakebroker.broker.core.groups.streams.tasks import Task, Tasks, each_task, partitions_by_subtopology, tasks_of
from fakebroker.broker.core.groups.streams.topology import Topology
from fakebroker.protocol.records import streams_group_schema as schema
from fakebroker.protocol.records.group_records import GroupRecord

METADATA, MEMBER, TARGET_METADATA, TARGET_MEMBER, CURRENT, TOPOLOGY = 17, 19, 20, 21, 22, 23


# -- made --------------------------------------------------------------------------------------------------------------


def metadata_record(
    group_id: str, epoch: int, metadata_hash: int, validated_topology_epoch: int, assignment_configs: Mapping[str, str]
) -> GroupRecord:
    """The group has this group epoch, and what it was found to be then (type 17).

    `validated_topology_epoch` is -1 while the topology is not ready (STE-2); `assignment_configs` are the settings that
    targets are computed with (STC-2).
    """
    value = schema.StreamsGroupMetadataValue(
        epoch=epoch,
        metadata_hash=metadata_hash,
        validated_topology_epoch=validated_topology_epoch,
        last_assignment_configs=[
            schema.LastAssignmentConfig(key=key, value=value) for key, value in assignment_configs.items()
        ],
    )
    return GroupRecord(METADATA, schema.StreamsGroupMetadataKey(group_id=group_id), value)


def member_record(group_id: str, member_id: str, metadata: MemberMetadata) -> GroupRecord:
    """What a member reported about itself (type 19)."""
    endpoint = metadata.endpoint
    value = schema.StreamsGroupMemberMetadataValue(
        instance_id=metadata.instance_id,
        rack_id=metadata.rack_id,
        client_id=metadata.client_id,
        client_host=metadata.client_host,
        rebalance_timeout_ms=metadata.rebalance_timeout_ms,
        topology_epoch=metadata.topology_epoch,
        process_id=metadata.process_id,
        user_endpoint=None if endpoint is None else schema.Endpoint(host=endpoint.host, port=endpoint.port),
        client_tags=[schema.ClientTag(key=key, value=value) for key, value in metadata.client_tags],
    )
    return GroupRecord(MEMBER, schema.StreamsGroupMemberMetadataKey(group_id=group_id, member_id=member_id), value)


def topology_record(group_id: str, topology: Topology) -> GroupRecord:
    """The topology of the group (type 23)."""
    return GroupRecord(TOPOLOGY, schema.StreamsGroupTopologyKey(group_id=group_id), topology.value)


def target_metadata_record(group_id: str, epoch: int, assignment_ms: int) -> GroupRecord:
    """The target assignment is that of this epoch, computed at this wall time (type 20)."""
    value = schema.StreamsGroupTargetAssignmentMetadataValue(assignment_epoch=epoch, assignment_timestamp=assignment_ms)
    return GroupRecord(TARGET_METADATA, schema.StreamsGroupTargetAssignmentMetadataKey(group_id=group_id), value)


def target_record(group_id: str, member_id: str, target: Tasks) -> GroupRecord:
    """What a member shall have (type 21)."""
    value = schema.StreamsGroupTargetAssignmentMemberValue(
        active_tasks=_target_structs(target.active),
        standby_tasks=_target_structs(target.standby),
        warmup_tasks=_target_structs(target.warmup),
    )
    key = schema.StreamsGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)
    return GroupRecord(TARGET_MEMBER, key, value)


def current_record(group_id: str, member_id: str, current: CurrentAssignment) -> GroupRecord:
    """What a member has (type 22)."""
    value = schema.StreamsGroupCurrentMemberAssignmentValue(
        member_epoch=current.epoch,
        previous_member_epoch=current.previous_epoch,
        state=current.state,
        active_tasks=_stamped_structs(current.assigned.active, current.stamps),
        standby_tasks=_structs(current.assigned.standby),
        warmup_tasks=_structs(current.assigned.warmup),
        active_tasks_pending_revocation=_stamped_structs(current.pending.active, current.stamps),
        standby_tasks_pending_revocation=_structs(current.pending.standby),
        warmup_tasks_pending_revocation=_structs(current.pending.warmup),
    )
    key = schema.StreamsGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id)
    return GroupRecord(CURRENT, key, value)


def member_tombstones(group_id: str, member_id: str) -> list[GroupRecord]:
    """The tombstones of a member that is removed (STB-1)."""
    return [
        GroupRecord(
            CURRENT, schema.StreamsGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id), None
        ),
        GroupRecord(
            TARGET_MEMBER, schema.StreamsGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), None
        ),
        GroupRecord(MEMBER, schema.StreamsGroupMemberMetadataKey(group_id=group_id, member_id=member_id), None),
    ]


def group_tombstones(group_id: str, member_ids: Iterable[str]) -> list[GroupRecord]:
    """The tombstones of a whole group (STB-1); one that is deleted has no members."""
    of_members = [member_tombstones(group_id, member_id) for member_id in member_ids]
    return [
        *(current for current, _, _ in of_members),
        *(target for _, target, _ in of_members),
        GroupRecord(TARGET_METADATA, schema.StreamsGroupTargetAssignmentMetadataKey(group_id=group_id), None),
        *(member for _, _, member in of_members),
        GroupRecord(METADATA, schema.StreamsGroupMetadataKey(group_id=group_id), None),
        GroupRecord(TOPOLOGY, schema.StreamsGroupTopologyKey(group_id=group_id), None),
    ]


def _target_structs(tasks: Iterable[Task]) -> list[schema.TargetTasks]:
    return [
        schema.TargetTasks(subtopology_id=subtopology_id, partitions=partitions)
        for subtopology_id, partitions in partitions_by_subtopology(tasks).items()
    ]


def _structs(tasks: Iterable[Task]) -> list[schema.AssignedTasks]:
    return [
        schema.AssignedTasks(subtopology_id=subtopology_id, partitions=partitions)
        for subtopology_id, partitions in partitions_by_subtopology(tasks).items()
    ]


def _stamped_structs(tasks: Iterable[Task], stamps: Mapping[Task, int]) -> list[schema.AssignedTasks]:
    structs = _structs(tasks)
    for struct in structs:
        struct.assignment_epochs = [stamps[task] for task in each_task(struct.subtopology_id, struct.partitions)]
    return structs


# -- read --------------------------------------------------------------------------------------------------------------


def metadata_of(value: schema.StreamsGroupMemberMetadataValue) -> MemberMetadata:
    """What a record of type 19 says."""
    endpoint = value.user_endpoint
    return MemberMetadata(
        value.instance_id,
        value.rack_id,
        value.client_id,
        value.client_host,
        value.rebalance_timeout_ms,
        value.topology_epoch,
        value.process_id,
        None if endpoint is None else Endpoint(endpoint.host, endpoint.port),
        tuple((tag.key, tag.value) for tag in value.client_tags),
    )


def target_of(value: schema.StreamsGroupTargetAssignmentMemberValue) -> Tasks:
    """What a record of type 21 says."""
    return tasks_of(_tasks_in(value.active_tasks), _tasks_in(value.standby_tasks), _tasks_in(value.warmup_tasks))


def current_of(value: schema.StreamsGroupCurrentMemberAssignmentValue) -> CurrentAssignment:
    """What a record of type 22 says. Active tasks without stamps have the member epoch as theirs."""
    stamps: dict[Task, int] = {}
    for struct in (*value.active_tasks, *value.active_tasks_pending_revocation):
        epochs = struct.assignment_epochs or [value.member_epoch] * len(struct.partitions)
        stamps.update(zip(each_task(struct.subtopology_id, struct.partitions), epochs, strict=True))
    return CurrentAssignment(
        value.member_epoch,
        value.previous_member_epoch,
        MemberState(value.state),
        tasks_of(_tasks_in(value.active_tasks), _tasks_in(value.standby_tasks), _tasks_in(value.warmup_tasks)),
        tasks_of(
            _tasks_in(value.active_tasks_pending_revocation),
            _tasks_in(value.standby_tasks_pending_revocation),
            _tasks_in(value.warmup_tasks_pending_revocation),
        ),
        stamps,
    )


def assignment_configs_of(value: schema.StreamsGroupMetadataValue) -> dict[str, str]:
    """The settings in a record of type 17 that the last target was to be computed with."""
    return {config.key: config.value for config in value.last_assignment_configs or ()}


def _tasks_in(structs: Iterable[schema.TargetTasks | schema.AssignedTasks]) -> Iterable[Task]:
    return (task for struct in structs for task in each_task(struct.subtopology_id, struct.partitions))

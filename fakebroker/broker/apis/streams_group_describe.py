"""StreamsGroupDescribe, key 89, v0: streams groups with topology, members and their tasks (KIP-1071, STD).

MOCK: groups are answered in request order, members in the order of the coordinator's table (GEN-9).
"""

from collections.abc import Generator, Iterable, Mapping

from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.apis.described_groups import describe_group, describe_groups, describe_members
from fakebroker.broker.core.groups.group import Group
from fakebroker.broker.core.groups.streams.internal_topics import ConfiguredSubtopology, InternalTopic
from fakebroker.broker.core.groups.streams.member import StreamsMember
from fakebroker.broker.core.groups.streams.streams_group import StreamsGroup
from fakebroker.broker.core.groups.streams.tasks import Task, Tasks, partitions_by_subtopology
from fakebroker.broker.core.groups.streams.topology import Topology as CoreTopology
from fakebroker.broker.core.groups.streams.topology import in_hash_order
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.pace import Pace
from fakebroker.protocol.records.streams_group_schema import InternalTopic as DeclaredTopic
from fakebroker.protocol.records.streams_group_schema import Subtopology as DeclaredSubtopology
from fakebroker.protocol.wire.messages.streams_group_describe import (
    Assignment,
    DescribedGroup,
    Endpoint,
    KeyValue,
    Member,
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
    Subtopology,
    TaskIds,
    TopicInfo,
    Topology,
)


def handle(call: Call, request: StreamsGroupDescribeRequest) -> StreamsGroupDescribeResponse | None:
    """Describe each group by itself; empty group ids come first (STD-1)."""
    return call.work(_in_steps(call, request), may_begin_later=True)


def _in_steps(call: Call, request: StreamsGroupDescribeRequest) -> Steps[StreamsGroupDescribeResponse]:
    group_ids = sorted(request.group_ids, key=bool)
    groups = yield from describe_groups(call, request, group_ids, lambda *args: _group(call, *args))
    return StreamsGroupDescribeResponse(groups=groups)


def _group(call: Call, group_id: str, pace: Pace) -> Generator[None, None, DescribedGroup]:
    def refused(code: ErrorCode, other: Group | None) -> DescribedGroup:
        why = "was not found" if other is None else "is not a streams group"
        message = f"group {group_id} {why}" if code == ErrorCode.GROUP_ID_NOT_FOUND else None
        return DescribedGroup(group_id=group_id, error_code=code, error_message=message)

    return describe_group(call, group_id, StreamsGroup, lambda group: _described(group, pace), refused)


def _described(group: StreamsGroup, pace: Pace) -> Generator[None, None, DescribedGroup]:
    topology = _topology(group)
    if pace.is_over(_parts(topology)):
        yield
    members = yield from describe_members(group, group.members, lambda member: _member(group, member), pace)
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state,
        group_epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
        topology=topology,
        members=members,
    )


# -- topology ----------------------------------------------------------------------------------------------------------


def _topology(group: StreamsGroup) -> Topology | None:
    """The topology with the partition counts that were decided once it is ready, before that as it was sent."""
    configured = group.described
    if configured is not None and configured.is_ready and configured.subtopologies is not None:
        decided = configured.subtopologies.values()
        return Topology(epoch=configured.epoch, subtopologies=[_decided(each) for each in decided])
    topology: CoreTopology | None = group.topology
    if topology is None:
        return None
    ids = sorted(topology.subtopologies)
    return Topology(epoch=topology.epoch, subtopologies=[_declared(topology.subtopologies[each]) for each in ids])


def _parts(topology: Topology | None) -> int:
    """How many topics it names, and configs of them: 20,000 at most."""
    return sum(
        len(each.source_topics)
        + len(each.repartition_sink_topics)
        + sum(1 + len(topic.topic_configs) for topic in (*each.state_changelog_topics, *each.repartition_source_topics))
        for each in (topology.subtopologies or () if topology is not None else ())
    )


def _decided(subtopology: ConfiguredSubtopology) -> Subtopology:
    return Subtopology(
        subtopology_id=subtopology.subtopology_id,
        source_topics=sorted(subtopology.source_topics),
        repartition_sink_topics=sorted(subtopology.repartition_sinks),
        state_changelog_topics=_in_order(_decided_topic(topic) for topic in subtopology.changelogs),
        repartition_source_topics=_in_order(_decided_topic(topic) for topic in subtopology.repartition_sources),
    )


def _decided_topic(topic: InternalTopic) -> TopicInfo:
    return _topic_info(topic.name, topic.partitions, topic.replication_factor, topic.configs)


def _declared(subtopology: DeclaredSubtopology) -> Subtopology:
    return Subtopology(
        subtopology_id=subtopology.subtopology_id,
        source_topics=sorted(subtopology.source_topics),
        repartition_sink_topics=sorted(subtopology.repartition_sink_topics),
        state_changelog_topics=_in_order(_declared_topic(topic) for topic in subtopology.state_changelog_topics),
        repartition_source_topics=_in_order(_declared_topic(topic) for topic in subtopology.repartition_source_topics),
    )


def _declared_topic(topic: DeclaredTopic) -> TopicInfo:
    configs = {config.key: config.value for config in topic.topic_configs}
    return _topic_info(topic.name, topic.partitions, topic.replication_factor, configs)


def _topic_info(name: str, partitions: int, replication_factor: int, configs: Mapping[str, str]) -> TopicInfo:
    return TopicInfo(
        name=name,
        partitions=partitions,
        replication_factor=replication_factor,
        topic_configs=[KeyValue(key=key, value=value) for key, value in configs.items()],
    )


def _in_order(topics: Iterable[TopicInfo]) -> list[TopicInfo]:
    return sorted(topics, key=lambda topic: topic.name)


# -- members -----------------------------------------------------------------------------------------------------------


def _member(group: StreamsGroup, member: StreamsMember) -> tuple[Member, int]:
    """A member with the tasks that it may own, without those that it is to give up, and those that it shall have."""
    metadata = member.metadata
    endpoint = metadata.endpoint
    assigned, target = member.current.assigned, group.target_of(member.member_id)
    entry = Member(
        member_id=member.member_id,
        member_epoch=member.epoch,
        instance_id=metadata.instance_id,
        rack_id=metadata.rack_id,
        client_id=metadata.client_id,
        client_host=metadata.client_host,
        topology_epoch=metadata.topology_epoch,
        process_id=metadata.process_id,
        user_endpoint=None if endpoint is None else Endpoint(host=endpoint.host, port=endpoint.port),
        client_tags=[KeyValue(key=key, value=value) for key, value in metadata.client_tags],
        assignment=_assignment(assigned),
        target_assignment=_assignment(target),
    )
    return entry, _count(assigned) + _count(target)


def _count(tasks: Tasks) -> int:
    return len(tasks.active) + len(tasks.standby) + len(tasks.warmup)


def _assignment(tasks: Tasks) -> Assignment:
    return Assignment(
        active_tasks=_task_ids(tasks.active),
        standby_tasks=_task_ids(tasks.standby),
        warmup_tasks=_task_ids(tasks.warmup),
    )


def _task_ids(tasks: Iterable[Task]) -> list[TaskIds]:
    by_subtopology = partitions_by_subtopology(tasks)
    return [
        TaskIds(subtopology_id=subtopology_id, partitions=by_subtopology[subtopology_id])
        for subtopology_id in in_hash_order(by_subtopology)
    ]

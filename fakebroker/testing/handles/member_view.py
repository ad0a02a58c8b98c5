"""Members of groups of every kind as a test sees them."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from fakebroker.broker.core.groups.kinds import GroupKind
from fakebroker.protocol.errors import WireError
from fakebroker.protocol.records.consumer_protocol import assigned_partitions, decode_subscription
from fakebroker.protocol.schema.jsonable import uuid_to_text

if TYPE_CHECKING:
    from fakebroker.broker.core.groups.classic.classic_group import ClassicGroup
    from fakebroker.broker.core.groups.classic.members import Member
    from fakebroker.broker.core.groups.consumer.consumer_group import ConsumerGroup
    from fakebroker.broker.core.groups.group import Group
    from fakebroker.broker.core.groups.share.share_group import ShareGroup
    from fakebroker.broker.core.groups.streams.streams_group import StreamsGroup
    from fakebroker.broker.core.topics import Topics

Partitions = dict[str, list[int]]  # by topic; of tasks by subtopology


class TasksView(NamedTuple):
    """The tasks of a member of a streams group: partitions by subtopology.

    `process_id` and `endpoint` are reported by the member; `revoking` are active tasks that it must give up.
    """

    active: Partitions
    standby: Partitions
    target_active: Partitions
    target_standby: Partitions
    revoking: Partitions
    process_id: str
    endpoint: str | None


class MemberView(NamedTuple):
    """A member of a group, as its coordinator has it.

    In a classic group, subscription and assignment are empty unless the protocol type is "consumer". The other fields
    belong to the other kinds: `state` is the state of its reconciliation with its `target` assignment; `revoking` is
    what it still must give up; `protocol` is the protocol it uses, "classic" or that of the group's kind. `tasks` are
    those of a member of a streams group.
    """

    member_id: str
    client_id: str
    client_host: str
    group_instance_id: str | None
    subscription: tuple[str, ...]
    assignment: dict[str, list[int]]
    protocol: str = "classic"
    member_epoch: int = -1
    state: str = ""
    target: dict[str, list[int]] = {}
    revoking: dict[str, list[int]] = {}
    topic_regex: str | None = None
    assignor: str | None = None
    rack_id: str | None = None
    tasks: TasksView | None = None


def members_of(group: "Group") -> list[MemberView]:
    """The members of a group, in the order in which they are described."""
    return _VIEWS[group.kind](group)


def view_of(group: "ClassicGroup", member: "Member") -> MemberView:
    """A member of a classic group."""
    try:
        topics = tuple(decode_subscription(member.metadata(group.protocol)).topics)
        assignment = assigned_partitions(member.assignment)
    except WireError:
        topics, assignment = (), {}
    return MemberView(member.member_id, member.client_id, member.client_host, member.instance_id, topics, assignment)


def partitions_by_name(topics: "Topics", partitions: Mapping[bytes, Iterable[int]]) -> Partitions:
    """Partitions by the name of their topic, ascending; a topic that is gone is named by its id."""
    named = {}
    for topic_id, indexes in partitions.items():
        topic = topics.by_id(topic_id)
        named[uuid_to_text(topic_id) if topic is None else topic.name] = sorted(indexes)
    return dict(sorted(named.items()))


def tasks_by_subtopology(tasks: Iterable[tuple[str, int]]) -> Partitions:
    """Tasks as partitions by subtopology."""
    found: Partitions = {}
    for subtopology_id, partition in tasks:
        found.setdefault(subtopology_id, []).append(partition)
    return found


def _of_classic(group: "ClassicGroup") -> list[MemberView]:
    return [view_of(group, member) for member in group.members.values()]


def _of_consumer(group: "ConsumerGroup") -> list[MemberView]:
    from fakebroker.broker.core.groups.consumer.states import member_state_text

    topics, found = group.host.topics, []
    for member_id in group.member_ids():
        member = group.members[member_id]
        metadata, current = member.metadata, member.current
        found.append(
            MemberView(
                member_id,
                metadata.client_id,
                metadata.client_host,
                metadata.instance_id,
                metadata.topic_names,
                partitions_by_name(topics, current.assigned),
                "classic" if member.is_classic else GroupKind.CONSUMER.value,
                current.epoch,
                member_state_text(current),
                partitions_by_name(topics, group.target_of(member_id)),
                partitions_by_name(topics, current.pending),
                metadata.pattern or None,
                metadata.assignor,
                metadata.rack_id,
            )
        )
    return found


def _of_share(group: "ShareGroup") -> list[MemberView]:
    topics, found = group.host.topics, []
    for member_id in group.member_ids():
        member = group.members[member_id]
        metadata, current = member.metadata, member.current
        is_there = current.epoch == group.assignment_epoch
        found.append(
            MemberView(
                member_id,
                metadata.client_id,
                metadata.client_host,
                None,
                metadata.topic_names,
                partitions_by_name(topics, current.partitions),
                GroupKind.SHARE.value,
                current.epoch,
                "Stable" if is_there else "",
                partitions_by_name(topics, group.target_of(member_id)),
                rack_id=metadata.rack_id,
            )
        )
    return found


def _of_streams(group: "StreamsGroup") -> list[MemberView]:
    from fakebroker.broker.core.groups.streams.states import member_state_text

    found: list[MemberView] = []
    for member_id in group.member_ids():
        member = group.members[member_id]
        metadata, current = member.metadata, member.current
        target = group.target_of(member_id)
        endpoint = metadata.endpoint
        tasks = TasksView(
            tasks_by_subtopology(current.assigned.active),
            tasks_by_subtopology(current.assigned.standby),
            tasks_by_subtopology(target.active),
            tasks_by_subtopology(target.standby),
            tasks_by_subtopology(current.pending.active),
            metadata.process_id,
            None if endpoint is None else f"{endpoint.host}:{endpoint.port}",
        )
        topics = tuple(sorted(group.subscribed_topics or ()))
        view = MemberView(member_id, metadata.client_id, metadata.client_host, metadata.instance_id, topics, {})
        found.append(
            view._replace(
                protocol=GroupKind.STREAMS.value,
                member_epoch=current.epoch,
                state=member_state_text(current),
                rack_id=metadata.rack_id,
                tasks=tasks,
            )
        )
    return found


_VIEWS: Mapping[GroupKind, Callable[[Any], list[MemberView]]] = {
    GroupKind.CLASSIC: _of_classic,
    GroupKind.CONSUMER: _of_consumer,
    GroupKind.SHARE: _of_share,
    GroupKind.STREAMS: _of_streams,
}

"""Where a group is, and its members as a test sees them: what several handles need."""

from typing import TYPE_CHECKING, NamedTuple

from fakebroker.core.groups.classic.classic_group import ClassicGroup
from fakebroker.core.groups.classic.holds import find_member
from fakebroker.core.topics import CONSUMER_OFFSETS
from fakebroker.errors import ErrorCode, KafkaError, UnknownThing, WireError
from fakebroker.instant import Instant
from fakebroker.records.consumer_protocol import assigned_partitions, decode_subscription

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fakebroker.core.cluster import Cluster
    from fakebroker.core.groups.classic.members import Member
    from fakebroker.core.node import Node


class MemberView(NamedTuple):
    """One member of a group as the coordinator knows it. Subscription and assignment are empty if they are
    not those of a consumer."""

    member_id: str
    client_id: str
    client_host: str
    group_instance_id: str | None
    subscription: tuple[str, ...]
    assignment: dict[str, list[int]]


def find_coordinator(cluster: "Cluster", group_id: str) -> "Node":
    """The node that leads the group's partition. Raises KafkaError COORDINATOR_NOT_AVAILABLE if there is none."""
    leader = cluster.expected_coordinator(group_id)[1]
    if leader not in cluster.nodes:
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"group {group_id!r} has no coordinator")
    return cluster.nodes[leader]


def find_group(cluster: "Cluster", group_id: str, now: Instant) -> "ClassicGroup | None":
    """The group where its coordinator has it; None without a coordinator, too, and while it is loading.

    A look makes no internal topic, which clients could see, and no log.
    """
    if CONSUMER_OFFSETS not in cluster.topics:
        return None
    partition = cluster.group_partition(group_id)
    if not partition.has_log:
        return None
    node = cluster.nodes.get(partition.leader)
    try:
        return None if node is None else node.coordinator.shard(group_id, now).group_of(ClassicGroup, group_id)
    except KafkaError:
        return None


def view_of(group: "ClassicGroup", member: "Member") -> MemberView:
    """A member as a test sees it."""
    try:
        topics = tuple(decode_subscription(member.metadata(group.protocol)).topics)
        assignment = assigned_partitions(member.assignment)
    except WireError:
        topics, assignment = (), {}
    return MemberView(member.member_id, member.client_id, member.client_host, member.instance_id, topics, assignment)


def member_named(field: str, name: str, members: "Mapping[str, Member]", of_what: str) -> "Member":
    """The first of `members` with that member id, group instance id or client id.

    Raises UnknownThing about `field`, with `of_what` ("group 'billing' has") and the names that there are.
    """
    member = find_member(members, name)
    if member is None:
        there = ", ".join(f"{each.client_id} ({each.member_id})" for each in members.values()) or "none"
        raise UnknownThing(field, name, f"{field}={name!r}: {of_what} no such member; there is {there}")
    return member

"""Where a group is, and who of its members is meant: what several handles need."""

from typing import TYPE_CHECKING

from fakebroker.broker.core.groups.classic.classic_group import ClassicGroup
from fakebroker.broker.core.groups.classic.holds import find_member
from fakebroker.broker.core.topics import CONSUMER_OFFSETS
from fakebroker.protocol.errors import ErrorCode, KafkaError, UnknownThing
from fakebroker.protocol.instant import Instant
from fakebroker.testing.handles.member_view import members_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fakebroker.broker.core.cluster import Cluster
    from fakebroker.broker.core.groups.classic.members import Member
    from fakebroker.broker.core.groups.group import Group
    from fakebroker.broker.core.node import Node


def find_coordinator(cluster: "Cluster", group_id: str) -> "Node":
    """The node that leads the group's partition. Raises KafkaError COORDINATOR_NOT_AVAILABLE if there is none."""
    leader = cluster.expected_coordinator(group_id)[1]
    if leader not in cluster.nodes:
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"group {group_id!r} has no coordinator")
    return cluster.nodes[leader]


def find_group(cluster: "Cluster", group_id: str, now: Instant) -> "Group | None":
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
        return None if node is None else node.coordinator.shard(group_id, now).group(group_id)
    except KafkaError:
        return None


def find_classic_group(cluster: "Cluster", group_id: str, now: Instant) -> ClassicGroup | None:
    """As `find_group`; a group of another kind counts as none."""
    found = find_group(cluster, group_id, now)
    return found if isinstance(found, ClassicGroup) else None


def member_id_named(field: str, name: str, group: "Group") -> str:
    """The id of the first member of a group with that member id, group instance id or client id.

    Raises UnknownThing about `field`, with the names that there are.
    """
    views = members_of(group)
    ways = (("member_id",), ("group_instance_id", "client_id"))
    for names in ways:
        for each in views:
            if name in [getattr(each, attribute) for attribute in names]:
                return each.member_id
    raise _unknown_member(field, name, f"group {group.group_id!r} has", [(v.client_id, v.member_id) for v in views])


def member_named(field: str, name: str, members: "Mapping[str, Member]", of_what: str) -> "Member":
    """The first of `members` with that member id, group instance id or client id.

    Raises UnknownThing about `field`, with `of_what` ("group 'billing' has") and the names that there are.
    """
    member = find_member(members, name)
    if member is None:
        raise _unknown_member(field, name, of_what, [(each.client_id, each.member_id) for each in members.values()])
    return member


def _unknown_member(field: str, name: str, of_what: str, known: "Iterable[tuple[str, str]]") -> UnknownThing:
    there = ", ".join(f"{client_id} ({member_id})" for client_id, member_id in known) or "none"
    return UnknownThing(field, name, f"{field}={name!r}: {of_what} no such member; it has {there}")

"""What befalls a client's groups in a sweep. To be used on the broker's thread."""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from fakebroker.broker.core.groups.classic.classic_group import ClassicGroup

if TYPE_CHECKING:
    from fakebroker.broker.core.groups.classic.members import Member
    from fakebroker.testing.handles.broker_control import BrokerControl


def members_of(broker: "BrokerControl", client_id: str) -> "Iterator[tuple[ClassicGroup, Member]]":
    """The memberships of a client, by its client id, in all groups that coordinators have loaded."""
    for node in broker._engine.cluster.nodes.values():
        for shard in node.coordinator.shards.values():
            for group in shard:
                if not isinstance(group, ClassicGroup):
                    continue
                for member in group.members.values():
                    if member.client_id == client_id:
                        yield group, member


def start_rebalance(broker: "BrokerControl", client_id: str) -> None:
    """Start a rebalance of each group that the client is a member of, unless one is under way."""
    for group_id in dict.fromkeys(group.group_id for group, _ in members_of(broker, client_id)):
        broker.group(group_id).rebalance("requested by the sweep")


def expire_sessions(broker: "BrokerControl", client_id: str) -> None:
    """Remove the client's members as their session timers would: it sent nothing for that long.

    Time does not pass for the others: with the clock all members of the group would expire.
    """
    for group, member in list(members_of(broker, client_id)):
        broker._engine.run(partial(group.on_session_timeout, member), broker._engine.now)

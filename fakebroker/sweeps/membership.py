"""What befalls a client's groups in a sweep. To be used on the broker's thread."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fakebroker.core.groups import rebalance
from fakebroker.core.groups.states import State

if TYPE_CHECKING:
    from fakebroker.broker import FakeBroker
    from fakebroker.core.groups.classic_group import ClassicGroup
    from fakebroker.core.groups.members import Member


def members_of(broker: "FakeBroker", client_id: str) -> "Iterator[tuple[ClassicGroup, Member]]":
    """The memberships of a client, by its client id, in all groups that coordinators have loaded."""
    for node in broker.engine.cluster.nodes.values():
        for shard in node.coordinator.shards.values():
            for group in shard:
                for member in group.members.values():
                    if member.client_id == client_id:
                        yield group, member


def start_rebalance(broker: "FakeBroker", client_id: str) -> None:
    """Start a rebalance of each group that the client is a member of, unless one is under way."""
    groups = {id(group): group for group, _ in members_of(broker, client_id)}
    for group in groups.values():
        if group.state in (State.STABLE, State.COMPLETING):
            rebalance.start(group, broker.engine.now, "a rebalance that the sweep wants here")


def expire_sessions(broker: "FakeBroker", client_id: str) -> None:
    """Remove the client's members as when their session timeout has passed without a word of it."""
    for group, member in list(members_of(broker, client_id)):
        group.on_session_timeout(member, broker.engine.now)

"""From the state of a snapshot to a cluster that can be served."""

from collections.abc import Sequence
from itertools import takewhile
from typing import TYPE_CHECKING

from fakebroker.core.cluster import Cluster
from fakebroker.core.cluster_state import build_cluster, load_coordinators
from fakebroker.errors import InvalidArgument
from fakebroker.instant import Instant
from fakebroker.listener_options import next_listener
from fakebroker.net.server import Server
from fakebroker.release import release
from fakebroker.settings import Settings

if TYPE_CHECKING:
    from fakebroker.snapshot.snapshot import Snapshot


def restored_cluster(snapshot: "Snapshot", now: Instant) -> Cluster:
    """The cluster of the snapshot at `now`, with its groups loaded. Raises SettingError, UnknownRelease."""
    state = snapshot.state
    options = state.options
    settings = Settings(options.config, profile=options.profile)
    cluster = build_cluster(state.cluster, settings, release(options.as_release), now, options.seed)
    load_coordinators(cluster, now, snapshot.decoded)
    return cluster


def fit_listeners(server: Server, first: Sequence[int], node_ids: Sequence[int]) -> None:
    """Have listeners for the nodes `first`, which a broker began with, and for these others.

    Of the listeners of nodes that were added those that come first and are wanted stay.
    """
    added = [listener.node_id for listener in server.ports.listeners if listener.node_id not in first]
    server.drop_listeners([*first, *takewhile(lambda node_id: node_id in node_ids, added)])
    for node_id in node_ids:
        if not any(listener.node_id == node_id for listener in server.ports.listeners):
            server.add_listener(next_listener(server.ports.listeners, node_id))


def check_nodes(wanted: Sequence[int], present: Sequence[int]) -> None:
    """Raises InvalidArgument if a snapshot has other nodes than the broker that it is to be restored in."""
    if sorted(wanted) != sorted(present):
        raise InvalidArgument(
            "snapshot",
            list(wanted),
            f"the snapshot is of a cluster of the nodes {_texts(wanted)}, this broker has {_texts(present)}; "
            "its fork() makes a broker that fits",
        )


def _texts(node_ids: Sequence[int]) -> str:
    return ", ".join(map(str, node_ids))

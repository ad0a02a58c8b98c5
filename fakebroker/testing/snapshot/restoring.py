"""From the state of a snapshot to a cluster that can be served."""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING

from fakebroker.broker.core.cluster import Cluster
from fakebroker.broker.core.cluster_state import build_cluster, load_coordinators
from fakebroker.broker.engine.server import EngineServer
from fakebroker.broker.release import release
from fakebroker.broker.settings import Settings
from fakebroker.protocol.errors import InvalidArgument
from fakebroker.protocol.instant import Instant
from fakebroker.serve.listener_options import next_listeners

if TYPE_CHECKING:
    from fakebroker.testing.snapshot.snapshot import Snapshot


def settings_for(listening: Mapping[str, object], snapshot: "Snapshot") -> dict[str, object]:
    """The settings of a broker after a restore: the snapshot's, but for listeners and TLS those of the broker itself.

    Its sockets stay what they are, and the certificates of the snapshot's broker may be nowhere.
    """
    restored = {name: value for name, value in snapshot.state.options.config.items() if not _is_of_sockets(name)}
    return restored | {name: value for name, value in listening.items() if _is_of_sockets(name)}


def _is_of_sockets(name: str) -> bool:
    return name in ("listeners", "listener.security.protocol.map") or name.startswith("ssl.") or ".ssl." in name


def restored_cluster(snapshot: "Snapshot", now: Instant, config: Mapping[str, object]) -> Cluster:
    """The cluster of the snapshot at `now` with these settings, with its groups loaded. Raises SettingError,
    UnknownRelease.
    """
    state = snapshot.state
    options = state.options
    settings = Settings(config, profile=options.profile)
    cluster = build_cluster(state.cluster, settings, release(options.as_release), now, options.seed)
    load_coordinators(cluster, now, snapshot.decoded)
    return cluster


class FittedListeners:
    """The listeners for the nodes `first`, which a broker began with, and for these others.

    Of the listeners of nodes that were added those that come first and are wanted stay. Ports can be refused by the
    system, so making this binds the missing ones, beside all that there are; `use` cannot fail.
    """

    def __init__(self, server: EngineServer, first: Sequence[int], node_ids: Sequence[int]) -> None:
        """Raises OSError if a port cannot be had; then none is bound."""
        self._server, ports = server, server.ports
        added = [listener.node_id for listener in ports.listeners if listener.node_id not in first]
        self._kept = [*first, *takewhile(lambda node_id: node_id in node_ids, added)]
        missing = [node_id for node_id in node_ids if node_id not in self._kept]
        self._new = ports.more([new for node_id in missing for new in next_listeners(ports.listeners, node_id)])

    def use(self) -> None:
        """Drop the listeners that are not wanted, and accept clients at the new ones."""
        self._server.drop_listeners(self._kept)
        self._server.extend_ports(self._new)

    def close(self) -> None:
        """Give up the new ports, which are not used."""
        self._new.close()


def check_nodes(wanted: Sequence[int], present: Sequence[int]) -> None:
    """Raises InvalidArgument if a snapshot has other nodes than the broker that it is to be restored in."""
    if sorted(wanted) != sorted(present):
        raise InvalidArgument(
            "snapshot",
            list(wanted),
            f"the snapshot has the nodes {_texts(wanted)}, but this broker has {_texts(present)}; "
            f"snapshot.fork() starts a broker with the right nodes",
        )


def _texts(node_ids: Sequence[int]) -> str:
    return ", ".join(map(str, node_ids))

"""The log directories of a node as a test sees them, and what it lets go wrong with their disks."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from fakebroker.broker.core.log_directories import LogDirectory
from fakebroker.broker.engine import node_disks
from fakebroker.protocol.errors import UnknownThing
from fakebroker.testing.handles.handle import EndsWithBlock

if TYPE_CHECKING:
    from fakebroker.broker.core.cluster import Cluster
    from fakebroker.broker.core.node import Node
    from fakebroker.testing.handles.access import EngineAccess
    from fakebroker.testing.handles.node import NodeHandle


class LogDirectoryView(NamedTuple):
    """A log directory of a node (`log.dirs`), its disk, and the partitions that have a replica there, as "orders-0".

    `is_online`: the broker uses it. `free_bytes` is null unless the disk is full or nearly so, `flush_s` how long it
    takes to flush a file.
    """

    path: str
    is_online: bool
    is_unusable: bool
    free_bytes: int | None
    flush_s: float
    partitions: list[str]


class DiskFault(EndsWithBlock):
    """A fault of a node's disk, until `heal` or the end of a `with` block."""

    def __init__(self, node: "NodeHandle", directory: str | None) -> None:
        self.directory = directory  # the log directory, None: all of them
        self._node = node

    def __repr__(self) -> str:
        return f"<disk of {self._node!r}>"

    def heal(self) -> None:
        """End it; does nothing if it has ended. See `NodeHandle.heal_disk`."""
        self._node.heal_disk(self.directory)

    def _end_block(self) -> None:
        self.heal()


def views_of(cluster: "Cluster", node: "Node") -> list[LogDirectoryView]:
    """The log directories of a node."""
    replicas = cluster.replicas_on(node.id)
    names: dict[LogDirectory, list[str]] = {each: [] for each in node.log_directories.all}
    for partition in replicas:
        names[node.directory_of(partition)].append(f"{partition.topic.name}-{partition.index}")
    return [
        LogDirectoryView(
            each.path, each.is_online, each.is_unusable, each.free_bytes, each.flush_ms / 1000, sorted(partitions)
        )
        for each, partitions in names.items()
    ]


def change_disk(access: "EngineAccess", node: "Node", path: str | None, how: Callable[[LogDirectory], None]) -> None:
    """Change the disk of a log directory, or of all. Raises UnknownThing for one that the node does not have."""
    directories = node.log_directories
    chosen = None if path is None else directories.named(path)
    if path is not None and chosen is None:
        known = ", ".join(each.path for each in directories.all)
        raise UnknownThing("directory", path, f"node {node.id} has no log directory {path!r}, only {known}")
    node_disks.change(access._engine, access._server, node, directories.all if chosen is None else [chosen], how)

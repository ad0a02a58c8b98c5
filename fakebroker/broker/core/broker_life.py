"""What becomes of brokers: stopped, killed, frozen, cut off, and back (CLU-21, CLU-26, CLU-30 to CLU-33, CLU-40).

A broker that is silent stays in the cluster for `broker.session.timeout.ms` of monotonic time; then it is fenced:
others lead its partitions. One that was only frozen or cut off does not hear of that; it goes on as what it was until
a moment after it can hear again. Kafka: `BrokerHeartbeatManager`, `ClusterControlManager`.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fakebroker.broker.core import elections
from fakebroker.broker.core.deadlines import Deadline
from fakebroker.broker.core.events import NodeChanged
from fakebroker.broker.core.node import NodeState
from fakebroker.protocol.instant import Instant

if TYPE_CHECKING:
    from fakebroker.broker.core.cluster import Cluster
    from fakebroker.broker.core.log_directories import LogDirectory
    from fakebroker.broker.core.node import Node
    from fakebroker.broker.core.topics import Partition

LEARNS_AFTER_MS = 150  # how long a broker that can hear again goes by what it knew (CLU-40: 100 to 200 ms)


def stop(cluster: "Cluster", node: "Node", now: Instant) -> None:
    """A clean stop: others lead its partitions and coordinate its groups first (CLU-30, CLU-32).

    Requests parked at its coordinator are answered with NOT_COORDINATOR; the caller has to close all connections of the
    broker, with the other requests that wait there. One that is frozen or cut off is woken for it.
    """
    if node.state is NodeState.FROZEN:
        thaw(cluster, node, now)
    if node.is_cut_off:
        rejoin(cluster, node, now)
    learn(cluster, node, now)
    _changed(cluster, node, "stopped")
    _stop_fetching(cluster, node)
    node.end_process(NodeState.STOPPED)
    fence(cluster, node, now)


def kill(cluster: "Cluster", node: "Node", now: Instant) -> None:
    """It ends at once and reports it to nobody, so it is fenced only when its session runs out (CLU-33).

    The caller has closed its connections. What only its memory had is gone.
    """
    _changed(cluster, node, "killed")
    _end_timers(node)
    _forget_views(cluster, node)
    _stop_fetching(cluster, node)
    node.is_cut_off = False
    node.end_process(NodeState.KILLED)
    for coordinator in node.coordinators:
        coordinator.unload_all(now)
    _start_session(cluster, node, now)
    _update_high_watermarks(cluster, node, now)


def start(cluster: "Cluster", node: "Node", now: Instant) -> None:
    """It is back, with its logs (CLU-26). A broker that was killed and not fenced yet is fenced first."""
    if not node.is_fenced:
        fence(cluster, node, now)
    _changed(cluster, node, "started")
    node.state = NodeState.RUNNING
    _use_directories(cluster, node)
    _unfence(cluster, node, now)


def directory_failed(cluster: "Cluster", node: "Node", directory: "LogDirectory", now: Instant) -> None:
    """A log directory of it cannot be used until it starts again: others lead what is there, or no broker (LR-4).

    Its coordinators of partitions that are there answer what waits with NOT_COORDINATOR.
    """
    replicas = cluster.replicas_on(node.id)
    directories = node.log_directories
    directory.is_online = False
    _changed(cluster, node, "lost a log directory")
    for partition in [each for each in replicas if directories.of(each) is directory]:
        if node.is_replicating:
            node.log_ends[partition] = partition.log.log_end_offset if partition.has_log else 0
        partition.offline.append(node.id)
        partition.stale_views.pop(node.id, None)
        elections.broker_stopped(partition, node.id, now)


def _use_directories(cluster: "Cluster", node: "Node") -> None:
    """It starts: replicas in directories whose disks can be used are there again."""
    replicas = cluster.replicas_on(node.id)
    directories = node.log_directories
    directories.start()
    for partition in replicas:
        if node.id in partition.offline and directories.of(partition).is_online:
            partition.offline.remove(node.id)


def restart_all(cluster: "Cluster", now: Instant) -> None:
    """The whole was stopped and starts again: groups are loaded from their logs. What a broker was it is again."""
    for node in cluster.nodes.values():
        if node.has_process:
            for coordinator in node.coordinators:
                coordinator.restart(now)
        if node.state is NodeState.FROZEN:
            node.stopped_timers.clear()  # of the groups before
            _stop_timers(cluster, node)


def freeze(cluster: "Cluster", node: "Node", now: Instant) -> None:
    """Its process stands still: nothing is answered, its timers do not run, the controller hears nothing (CLU-40)."""
    _changed(cluster, node, "frozen")
    _stop_fetching(cluster, node)
    node.state = NodeState.FROZEN
    _stop_timers(cluster, node)
    _become_unaware(node)
    _start_session(cluster, node, now)
    _update_high_watermarks(cluster, node, now)


def thaw(cluster: "Cluster", node: "Node", now: Instant) -> None:
    """It goes on where it was: timers that ran out fire (CLU-41), and after LEARNS_AFTER_MS it hears what has changed.

    The caller lets it have the requests that came meanwhile first.
    """
    _changed(cluster, node, "thawed")
    node.state = NodeState.RUNNING
    stopped, node.stopped_timers = node.stopped_timers, []
    for is_wall, due_ms, deadline in stopped:
        if deadline.due_ms is None and deadline.owner is not None:  # not ended, nor armed anew, meanwhile
            (cluster.timers.wall if is_wall else cluster.timers.mono).arm(deadline, due_ms)
    if not node.is_cut_off:
        _hears_again(cluster, node, now)


def cut_off(cluster: "Cluster", node: "Node", now: Instant) -> None:
    """It and the other brokers do not reach each other any more; its process goes on."""
    _changed(cluster, node, "cut off")
    _stop_fetching(cluster, node)
    node.is_cut_off = True
    _become_unaware(node)
    if node.is_running:
        _start_session(cluster, node, now)
    _update_high_watermarks(cluster, node, now)


def rejoin(cluster: "Cluster", node: "Node", now: Instant) -> None:
    """The others are reached again; after LEARNS_AFTER_MS it hears what has changed."""
    _changed(cluster, node, "reached again")
    node.is_cut_off = False
    if node.is_running:
        _hears_again(cluster, node, now)


def fence(cluster: "Cluster", node: "Node", now: Instant) -> None:
    """The cluster takes it for dead: others lead its partitions where they can (CLU-6, CLU-21, CLU-22)."""
    end_session(node)
    if node.is_fenced:
        return
    node.is_fenced = True
    if node.state is not NodeState.STOPPED:
        _changed(cluster, node, "fenced")
    for partition in _partitions_on(cluster, node):
        elections.broker_stopped(partition, node.id, now)


def learn(cluster: "Cluster", node: "Node", now: Instant) -> None:
    """It hears who leads what: what it believed meanwhile is forgotten (CLU-40). Nothing if it knows already."""
    if node.learns is not None:
        node.learns.end()
        node.learns = None
    node.is_unaware = node.is_cut_off or node.state is NodeState.FROZEN
    for partition in _partitions_on(cluster, node):
        partition.forget_view(node.id, now)


def become_zombie(cluster: "Cluster", node: "Node", partition: "Partition", to: int, for_ms: int, now: Instant) -> None:
    """Another broker leads the partition, and its former leader hears of it only after `for_ms` (CLU-40 to CLU-45)."""
    was_unaware = node.is_unaware
    node.is_unaware = True
    partition.lead(to, now)
    node.is_unaware = was_unaware
    view = partition.stale_views[node.id]

    def hear(now: Instant) -> None:
        if partition.stale_views.get(node.id) is view:  # else it heard sooner, and may be a zombie once more
            partition.forget_view(node.id, now)

    cluster.timers.mono.arm(Deadline(hear, owner=node), now.mono_ms + for_ms)


def settle(cluster: "Cluster", came_back: Sequence[int], now: Instant) -> None:
    """After a restore: the brokers that were frozen or cut off are back, and those without a process are fenced."""
    for node_id in came_back:
        _unfence(cluster, cluster.nodes[node_id], now)
    for node in cluster.nodes.values():
        if not node.has_process and not node.is_fenced:
            _start_session(cluster, node, now)


# -- steps -------------------------------------------------------------------------------------------------------------


def _changed(cluster: "Cluster", node: "Node", what: str) -> None:
    cluster.outbox.append(NodeChanged(node.id, what))


def _partitions_on(cluster: "Cluster", node: "Node") -> "list[Partition]":
    """The partitions that have a replica there, those that a test moved there without one, those it has a view of."""
    partitions = [partition for topic in cluster.topics for partition in topic.partitions]
    return [p for p in partitions if node.id in p.replicas or node.id == p.leader or node.id in p.stale_views]


def _start_session(cluster: "Cluster", node: "Node", now: Instant) -> None:
    """The controller hears no more of it."""
    if node.session is None and not node.is_fenced:
        node.session = Deadline(lambda now: fence(cluster, node, now), owner=node)
        timeout_ms = node.settings.get_int("broker.session.timeout.ms")
        cluster.timers.mono.arm(node.session, now.mono_ms + timeout_ms)


def end_session(node: "Node") -> None:
    """The controller waits no more for it."""
    if node.session is not None:
        node.session.end()
        node.session = None


def _hears_again(cluster: "Cluster", node: "Node", now: Instant) -> None:
    if node.is_fenced:
        node.learns = Deadline(lambda now: _heard(cluster, node, now), owner=node)
        cluster.timers.mono.arm(node.learns, now.mono_ms + LEARNS_AFTER_MS)
    else:
        _heard(cluster, node, now)


def _heard(cluster: "Cluster", node: "Node", now: Instant) -> None:
    learn(cluster, node, now)
    _unfence(cluster, node, now)


def _unfence(cluster: "Cluster", node: "Node", now: Instant) -> None:
    end_session(node)
    node.is_fenced = False
    for partition in _partitions_on(cluster, node):
        elections.broker_started(partition, now)
    node.log_ends.clear()


def _become_unaware(node: "Node") -> None:
    node.is_unaware = True
    if node.learns is not None:
        node.learns.end()
        node.learns = None


def _stop_fetching(cluster: "Cluster", node: "Node") -> None:
    """Note how far its replicas have come."""
    if node.is_replicating:
        node.log_ends = {p: p.log.log_end_offset if p.has_log else 0 for p in _partitions_on(cluster, node)}


def _update_high_watermarks(cluster: "Cluster", node: "Node", now: Instant) -> None:
    for partition in _partitions_on(cluster, node):
        partition.update_high_watermark(now)


def _stop_timers(cluster: "Cluster", node: "Node") -> None:
    """Disarm the timers of its coordinators and their groups, and remember when they are due."""
    owners: dict[int, None] = {id(each): None for one in node.coordinators for each in one.shards.values()}
    for shard in node.coordinator.shards.values():
        for group in shard:
            owners.update((id(owner), None) for owner in group.timer_owners())
    for queue in (cluster.timers.mono, cluster.timers.wall):
        for deadline in sorted(queue.armed(), key=lambda each: each.due_ms or 0):
            if id(deadline.owner) in owners:
                assert deadline.due_ms is not None
                node.stopped_timers.append((queue is cluster.timers.wall, deadline.due_ms, deadline))
                deadline.disarm()


def _end_timers(node: "Node") -> None:
    node.stopped_timers.clear()
    if node.learns is not None:
        node.learns.end()
        node.learns = None


def _forget_views(cluster: "Cluster", node: "Node") -> None:
    node.is_unaware = False
    for partition in _partitions_on(cluster, node):
        partition.stale_views.pop(node.id, None)

"""Where partitions and coordinators are in a cluster of several brokers: as they were in the recorded one."""

from fakebroker.broker.core import elections
from fakebroker.broker.core.topics import Partition
from fakebroker.broker.engine.engine import Engine
from fakebroker.testing.recorded_cluster.state import RecordedState


class Placement:
    """Puts the topics of an engine where the recorded ones were, each as soon as it is there."""

    def __init__(self, state: RecordedState, engine: Engine) -> None:
        self._state = state
        self._engine = engine
        self._waiting = dict(state.placements) if len(engine.cluster.nodes) > 1 else {}

    def begin(self) -> None:
        """Put the coordinators of the session's groups, and the topics that are there."""
        cluster = self._engine.cluster
        if len(cluster.nodes) > 1:
            for group_id, node_id in self._state.coordinators.items():
                _put(cluster.group_partition(group_id), node_id, None, self._engine)
        self.settle()

    def settle(self) -> None:
        """Put topics that have come to be since the last time."""
        topics = self._engine.cluster.topics
        for name in [name for name in self._waiting if name in topics]:
            topic = topics.get(name)
            for index, (leader, replicas) in self._waiting.pop(name).items():
                if topic is not None and index < len(topic.partitions):
                    _put(topic.partitions[index], leader, replicas, self._engine)


def _put(partition: Partition, leader: int, replicas: list[int] | None, engine: Engine) -> None:
    nodes = engine.cluster.nodes
    wanted = replicas if replicas is not None and all(node_id in nodes for node_id in replicas) else None
    if wanted is None and leader in nodes and leader not in partition.replicas:
        wanted = [leader, *partition.replicas[1:]]
    if wanted is not None and wanted != list(partition.replicas):
        elections.reassign(partition, wanted, engine.now)
    if leader in partition.isr and leader != partition.leader:
        elections.move_leader(partition, leader, engine.now)

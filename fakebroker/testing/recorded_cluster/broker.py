"""A broker in virtual time that begins as the recorded cluster did, and goes on as the replay asks for."""

from collections.abc import Callable, Mapping

from fakebroker.broker.core import elections
from fakebroker.broker.core.topics import Partition
from fakebroker.broker.engine.engine import Engine
from fakebroker.protocol.listeners import Address
from fakebroker.protocol.records.record_content import ReadRecord, records_of
from fakebroker.serve.sim.network import SimNetwork
from fakebroker.testing.recorded_cluster.first_state import engine_of
from fakebroker.testing.recorded_cluster.state import RecordedState, TopicPartition
from fakebroker.testing.recorded_cluster.unrecorded_producers import UnrecordedProducers
from fakebroker.testing.sim_driver import SimDriver

_READ_BYTES = 1 << 20


class RecordedBroker:
    """The nodes, topics, logs and settings of a recorded cluster, served in virtual time.

    `driver` carries its clients. `settle` puts topics that were created meanwhile on the nodes that the recording
    names. `stop` and `start` are for a node. `catch_up` appends what producers outside of the recording wrote.
    """

    def __init__(
        self, state: RecordedState, as_release: str | None = None, settings: Mapping[str, str] | None = None
    ) -> None:
        """`as_release` and `settings` replace what the recording shows."""
        self._engine = engine_of(state, as_release, settings)
        network = SimNetwork.around(self._engine)
        self.driver = SimDriver(network)
        self.node_ids = list(self._engine.cluster.nodes)
        self.addresses = {each.node_id: Address(each.host, each.port) for each in self._engine.listeners}
        placement = Placement(state, self._engine)
        placement.begin()
        self.settle: Callable[[], None] = placement.settle
        self.catch_up = UnrecordedProducers(state, network).catch_up
        self.stop, self.start = network.stop_node, network.start_node

    @property
    def errors(self) -> list[Exception]:
        """Bugs of the broker that requests met."""
        return self._engine.errors

    def is_served(self, api_key: int, version: int) -> bool:
        """Whether its clients may send that version."""
        low, high = self._engine.listeners[0].versions.get(api_key, (0, -1))
        return low <= version <= high

    def read(self, topic_partition: TopicPartition, offset: int) -> list[ReadRecord]:
        """The record at an offset; nothing if the log does not have it."""
        partition = self._engine.cluster.topics.partition(*topic_partition)
        if partition is None or not partition.log.log_start_offset <= offset < partition.log.log_end_offset:
            return []
        data = b"".join(partition.log.read(offset, _READ_BYTES, partition.log.log_end_offset))
        return [record for record in records_of(data) if record.offset == offset]


class Placement:
    """Puts the coordinators and topics of an engine of several brokers where the recorded ones were."""

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

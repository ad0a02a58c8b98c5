"""The state of all brokers together: settings, nodes, topics, timers, and the one source of randomness."""

from base64 import urlsafe_b64encode
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING

from fakebroker.broker.core import broker_life
from fakebroker.broker.core.deadlines import Timers
from fakebroker.broker.core.disk_faults import DiskFaults
from fakebroker.broker.core.events import CoreEvent, NodeChanged
from fakebroker.broker.core.features import Features
from fakebroker.broker.core.groups.classic.classic_group import ClassicGroup
from fakebroker.broker.core.groups.classic.holds import GroupHolds, Hold, Phase
from fakebroker.broker.core.java_hash import partition_of
from fakebroker.broker.core.logs.jobs import LogJobs
from fakebroker.broker.core.logs.pending_batches import PendingBatchMemory
from fakebroker.broker.core.metadata_parts import MetadataEntry, MetadataPart
from fakebroker.broker.core.node import Node, NodeState
from fakebroker.broker.core.offsets.expirations import Expirations
from fakebroker.broker.core.security.credentials import Credentials
from fakebroker.broker.core.topic_rules import assign_replicas, check_assignments
from fakebroker.broker.core.topics import CONSUMER_OFFSETS, Topics
from fakebroker.broker.release import Behaviours, Release
from fakebroker.broker.settings import Settings
from fakebroker.broker.settings.group_bounds import check_group_bounds
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.schema.runtime import MAX_STRING_BYTES

if TYPE_CHECKING:
    from fakebroker.broker.core.coordinator.loading import DecodedBatch
    from fakebroker.broker.core.groups.group import Group
    from fakebroker.broker.core.quotas.client_quotas import ClientQuotas, Entity
    from fakebroker.broker.core.security.authorizer import Authorizer
    from fakebroker.broker.core.telemetry.client_telemetry import ClientTelemetry
    from fakebroker.broker.core.topics import Partition
    from fakebroker.broker.core.topics_host import Storage, What
    from fakebroker.broker.core.transactions.transaction import Transaction

__all__ = ["Cluster", "Node"]
AUTHORIZER = "authorizer.class.name"
PRODUCER_ID_BLOCK = 1000  # ids that a broker gets from the controller at once (KIP-730)


class Cluster:
    """One cluster. Everything a broker remembers is reached from here; every id it hands out comes from `random`.

    `settings` are those of the first broker; `nodes[n].settings` those of another. They differ only in what was altered
    at run time for one broker alone. `outbox` collects what happens (`core.events`) until the engine takes it.
    """

    def __init__(
        self,
        settings: Settings,
        release: Release,
        seed: int = 0,
        node_ids: tuple[int, ...] = (1,),
        racks: Sequence[str | None] | None = None,
    ) -> None:
        settings.use_release(release.defaults, release.line)
        check_group_bounds(settings)
        self.settings = settings
        self.release = release
        self.behaviours: Behaviours = release.behaviours
        self.seed = seed
        self.random = Random(seed)
        self.timers = Timers()
        self.outbox: list[CoreEvent] = []
        self.storage: Storage | None = None  # what keeps the state beyond the process
        self.disk_faults: DiskFaults | None = None  # while a test lets the disks of brokers fail
        self.expirations = Expirations()
        self.pending_batch_memory = PendingBatchMemory(settings.get_int("fakebroker.unread.writes.max.bytes"))
        self.cluster_id = self.new_base64_id()
        self.holds: dict[str, GroupHolds] = {}  # what a test holds, by group id
        self.topics = Topics(self)
        self._highest_node_id = max(node_ids)
        # The settings that follow from where a broker listens, by its id; the engine's.
        self.listener_settings: Callable[[int], Mapping[str, str]] = lambda _node_id: {}
        # Raises SettingError if a broker's listeners could not work with settings of which these are altered; the
        # server's.
        self.check_listeners: Callable[[int, Settings, Collection[str]], None] = lambda _node_id, _new, _altered: None
        self.nodes: dict[int, Node] = {}
        for node_id in node_ids:
            own = settings if node_id == node_ids[0] else settings.for_broker()
            own.set_own("node.id", node_id)
            own.set_own("broker.id", node_id)
            self.nodes[node_id] = Node(self, node_id, own)
        for node_id, rack in zip(node_ids, racks or (), strict=False):
            if rack is not None:
                self.nodes[node_id].settings.set_own("broker.rack", rack)
        if self.behaviours.min_isr_is_cluster_default:
            name = "min.insync.replicas"
            settings.replace_dynamic({name: str(settings.get_int(name))}, cluster=True)
        self.log_jobs = LogJobs(self)
        self.group_configs: dict[str, dict[str, str]] = {}  # group -> its own configs; the group need not exist
        self.client_metrics: dict[str, dict[str, str]] = {}  # subscription -> its own configs
        self.client_metrics_changes = 0  # that there were
        self._telemetry: ClientTelemetry | None = None
        self.credentials = Credentials(self.metadata_changed)
        self.authorizer = _authorizer(settings)  # None: everybody may do everything
        if self.authorizer is not None:
            self.authorizer.acls.on_change = self.metadata_changed
        self.features = Features(release.features, self.metadata_changed)
        self._client_quotas: ClientQuotas | None = None
        self.on_quotas_changed: Callable[[], None] = lambda: None  # the engine's: it is to throttle clients, or not
        self._next_producer_id = 0
        self._hold_count = 0
        self.decoded_batches: dict[bytes, DecodedBatch] | None = None  # known while a snapshot is restored

    def metadata_changed(self, what: "What") -> None:
        """Tell the storage, if there is one."""
        if self.storage is not None:
            self.storage.metadata_changed(what)
        if self.disk_faults is not None:
            self.disk_faults.has_metadata_changed = True

    def watch_disks(self, partition: "Partition") -> None:
        """A partition has a log now: let faults of disks concern it, if there are any."""
        if self.disk_faults is not None:
            self.disk_faults.watch(partition)

    @property
    def client_quotas(self) -> "ClientQuotas":
        """The quotas of users, client ids and addresses (KIP-546, QU), made when they are first asked for."""
        if self._client_quotas is None:
            from fakebroker.broker.core.quotas.client_quotas import ClientQuotas

            self._client_quotas = ClientQuotas(self._quotas_changed)
        return self._client_quotas

    def _quotas_changed(self, entity: "Entity") -> None:
        self.metadata_changed(MetadataEntry(MetadataPart.QUOTAS, entity))
        self.on_quotas_changed()

    @property
    def has_client_quotas(self) -> bool:
        """Whether there may be quotas: somebody has asked for them."""
        return self._client_quotas is not None

    @property
    def telemetry(self) -> "ClientTelemetry":
        """What clients push of their metrics (KIP-714, TE), made when it is first asked for."""
        if self._telemetry is None:
            from fakebroker.broker.core.telemetry.client_telemetry import ClientTelemetry

            self._telemetry = ClientTelemetry(self)
        return self._telemetry

    @property
    def collects_telemetry(self) -> bool:
        """Whether somebody has subscribed to metrics of clients.

        MOCK: Kafka asks whether it has a plug-in that receives them (TE-1); here the broker itself does.
        """
        return bool(self.client_metrics)

    @property
    def controller_id(self) -> int:
        """The live broker that Metadata names as controller, -1 without any.

        MOCK: always the first, Kafka names a random one each time (CLU-20).
        """
        return next((node.id for node in self.nodes.values() if not node.is_fenced), -1)

    def coordinator_partition(self, topic: str, key: str) -> "Partition":
        """The partition of an internal topic that holds `key`, whose leader is the key's coordinator (FC-2).

        The topic is created if it does not exist yet (FC-5).
        """
        partitions = self.topics.internal(topic).partitions
        return partitions[partition_of(key, len(partitions))]

    def group_partition(self, group_id: str) -> "Partition":
        """The partition of `__consumer_offsets` that holds the group; see `coordinator_partition`."""
        return self.coordinator_partition(CONSUMER_OFFSETS, group_id)

    def expected_coordinator(self, group_id: str) -> tuple[int, int]:
        """The partition of `__consumer_offsets` that holds the group, and its leader, -1 for none. Makes no topic.

        Before the topic is made: what they will be if nothing changes until then.
        """
        topic = self.topics.get(CONSUMER_OFFSETS)
        if topic is not None:
            partition = self.group_partition(group_id)
            return partition.index, partition.leader
        index = partition_of(group_id, self.settings.get_int("offsets.topic.num.partitions"))
        return index, self.assign_replicas(index, 1, 1)[0][0] if self.live(self.nodes) else -1

    def group_ids(self, now: Instant) -> list[str]:
        """The groups of all brokers, in order; without those of partitions that are being loaded."""
        return [group.group_id for group in self.groups(now)]

    def groups(self, now: Instant) -> "list[Group]":
        """The groups of all brokers by id; without those of partitions that are being loaded."""
        shards = [
            shard
            for node in self.nodes.values()
            for shard in node.coordinator.all_shards(now)
            if shard.partition.leader == node.id
        ]
        return sorted((group for shard in shards for group in shard), key=lambda group: group.group_id)

    def transactions(self, now: Instant) -> "list[Transaction]":
        """The transactional ids of all brokers, in order; without those of partitions that are being loaded."""
        shards = [
            shard
            for node in self.nodes.values()
            for shard in node.transactions.all_shards(now)
            if shard.partition.leader == node.id
        ]
        return sorted((each for shard in shards for each in shard), key=lambda each: each.transactional_id)

    def live(self, node_ids: Iterable[int]) -> list[int]:
        """Those of the nodes that are known and not fenced, in the given order."""
        return [node_id for node_id in node_ids if node_id in self.nodes and not self.nodes[node_id].is_fenced]

    def assign_replicas(self, first: int, count: int, replication_factor: int) -> list[list[int]]:
        """Where `count` new partitions of a topic will be, from index `first` on; see `topic_rules.assign_replicas`."""
        live = self.live(self.nodes)
        stopped = [node_id for node_id in self.nodes if node_id not in live]
        return assign_replicas(first, count, replication_factor, live, stopped)

    def check_new_partitions(self, assignments: Sequence[Sequence[int]], replication_factor: int) -> None:
        """Raises KafkaError(INVALID_REPLICA_ASSIGNMENT) for replicas that new partitions cannot have (CLU-25)."""
        check_assignments(assignments, list(self.nodes), replication_factor)
        for replicas in assignments:
            if not self.live(replicas):
                raise KafkaError(
                    ErrorCode.INVALID_REPLICA_ASSIGNMENT, "none of the brokers of a partition's assignment is alive"
                )

    def hold(self, group_id: str, phase: Phase, hold: Hold) -> int:
        """Hold a phase of the group's rebalances (`groups/classic/holds.py`), in place of a hold that is there.

        Returns the id that the hold gets.
        """
        holds = self.holds.setdefault(group_id, {})
        for node in self.nodes.values():
            for shard in node.coordinator.shards.values():
                group = shard.group_of(ClassicGroup, group_id)
                if group is not None:
                    group.holds = holds
        self._hold_count += 1
        holds[phase] = hold._replace(hold_id=self._hold_count)
        return self._hold_count

    def stop_node(self, node_id: int, now: Instant) -> None:
        """A broker stops, cleanly (`broker_life.stop`). Nothing happens if it does not run."""
        node = self.nodes[node_id]
        if node.has_process:
            broker_life.stop(self, node, now)

    def kill_node(self, node_id: int, now: Instant) -> None:
        """A broker ends at once (`broker_life.kill`). Nothing happens if it does not run."""
        node = self.nodes[node_id]
        if node.has_process:
            broker_life.kill(self, node, now)

    def start_node(self, node_id: int, now: Instant) -> None:
        """A broker is back (`broker_life.start`). Nothing happens if its process is there."""
        node = self.nodes[node_id]
        if not node.has_process:
            broker_life.start(self, node, now)

    def wall_time_went_back(self, by_ms: int, now: Instant) -> None:
        """The time of day was set back to `now`. Stored times stay as they are, and may lie in the future now.

        Kafka's schedules run on monotonic time: the next cleanup, retention check or cleaning comes as soon after the
        step as it would have come without it. What a job looks at then is compared with the new time.
        """
        self.log_jobs.wall_time_went_back(by_ms, now)
        for node in self.nodes.values():
            for coordinator in node.coordinators:
                coordinator.wall_time_went_back(by_ms, now)

    def freeze_node(self, node_id: int, now: Instant) -> None:
        """A broker stands still (`broker_life.freeze`). Nothing happens if it does not run."""
        node = self.nodes[node_id]
        if node.is_running:
            broker_life.freeze(self, node, now)

    def thaw_node(self, node_id: int, now: Instant) -> None:
        """A frozen broker goes on (`broker_life.thaw`). Nothing happens if it is not frozen."""
        node = self.nodes[node_id]
        if node.state is NodeState.FROZEN:
            broker_life.thaw(self, node, now)

    def replicas_on(self, node_id: int) -> "list[Partition]":
        """The partitions that have a replica on a broker, or are led by it."""
        partitions = [partition for topic in self.topics for partition in topic.partitions]
        return [each for each in partitions if node_id in each.replicas or node_id == each.leader]

    @property
    def next_node_id(self) -> int:
        """The id that `add_node` gives: one more than the highest there ever was."""
        return self._highest_node_id + 1

    def add_node(self, rack: str | None = None) -> int:
        """A new broker, running, without replicas; returns its id."""
        node_id = self._highest_node_id = self.next_node_id
        settings = self.settings.for_broker()
        settings.set_own("node.id", node_id)
        settings.set_own("broker.id", node_id)
        if rack is not None:
            settings.set_own("broker.rack", rack)
        self.nodes[node_id] = Node(self, node_id, settings)
        self.outbox.append(NodeChanged(node_id, "added"))
        self.metadata_changed(MetadataPart.NODES)
        return node_id

    def remove_node(self, node_id: int) -> None:
        """Forget a broker that was stopped or killed and has no replicas; its id is not given again."""
        node = self.nodes.pop(node_id)
        broker_life.end_session(node)
        for coordinator in node.coordinators:
            coordinator.retire()
        self.outbox.append(NodeChanged(node_id, "removed"))
        self.metadata_changed(MetadataPart.NODES)

    def new_uuid(self) -> bytes:
        """16 random bytes in the form of a UUID of version 4; never one whose text begins with "-" (as Kafka)."""
        while True:
            data = bytearray(self.random.randbytes(16))
            data[6] = data[6] & 0x0F | 0x40
            data[8] = data[8] & 0x3F | 0x80
            if data[0] >> 2 != 62:
                return bytes(data)

    def new_base64_id(self) -> str:
        """A random UUID as 22 characters of URL-safe base64, as Kafka writes UUIDs."""
        return urlsafe_b64encode(self.new_uuid()).rstrip(b"=").decode()

    def new_member_id(self, prefix: str) -> str:
        """A new, unique member id: `prefix`, a hyphen, a random UUID (JG-14).

        Raises KafkaError(UNKNOWN_SERVER_ERROR) if no string can hold it, as Kafka fails to answer with it.
        """
        if (size_bytes := len(prefix.encode())) > MAX_STRING_BYTES - 37:  # hyphen and UUID
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"{size_bytes} bytes are too long to begin a member id")
        digits = self.new_uuid().hex()
        return f"{prefix}-{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"

    def new_producer_id(self) -> int:
        """The next producer id; they count from 0 (KIP-98, PI)."""
        if self._next_producer_id % PRODUCER_ID_BLOCK == 0:
            self.metadata_changed(MetadataPart.PRODUCER_IDS)
        self._next_producer_id += 1
        return self._next_producer_id - 1

    @property
    def next_producer_id_block(self) -> int:
        """Where the next block of producer ids begins, after those that were handed out."""
        return -(-self._next_producer_id // PRODUCER_ID_BLOCK) * PRODUCER_ID_BLOCK


def _authorizer(settings: Settings) -> "Authorizer | None":
    """What decides who may do what, None if the settings name nothing (AU-1)."""
    if not settings.value(AUTHORIZER):
        return None
    from fakebroker.broker.core.security.authorizer import authorizer_of

    return authorizer_of(settings)

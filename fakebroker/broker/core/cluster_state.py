"""The durable state of a cluster as plain values: what Kafka keeps on its disks, and what it is made of again.

`cluster_state` reads a cluster, `build_cluster` makes a cluster of what was read, `load_coordinators` then makes the
groups and transactions of their internal topics, as after a start of the brokers. Values of a state are never changed:
stored batches are shared with the logs, everything else is copied both ways.

Each class that has durable state is in `DURABLE`: the fields of its state have the names of its attributes, and
attributes that are not part of the state are listed with the reason. A new attribute of plain values needs a line in
the state's class, with a default so that older files can be read, and nothing else: state_fields.py copies it.
"""

from array import array
from collections.abc import Mapping
from random import Random
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from fakebroker.broker.core.broker_life import settle
from fakebroker.broker.core.cluster import Cluster
from fakebroker.broker.core.coordinator.loading import DecodedBatch
from fakebroker.broker.core.features import FeaturesState
from fakebroker.broker.core.logs.aborted import AbortedTransaction, AbortedTransactions
from fakebroker.broker.core.logs.empty_range import EmptyRange
from fakebroker.broker.core.logs.jobs import LogJobs
from fakebroker.broker.core.logs.leader_epochs import LeaderEpochs
from fakebroker.broker.core.logs.log import PartitionLog
from fakebroker.broker.core.logs.producers import Producers, ProducerState, WrittenBatch
from fakebroker.broker.core.logs.segment import Segment
from fakebroker.broker.core.node import Node, NodeState
from fakebroker.broker.core.offsets.expirations import OffsetsExpired
from fakebroker.broker.core.security.acl_state import AclState
from fakebroker.broker.core.security.credentials import CredentialsState
from fakebroker.broker.core.state_fields import read_fields, thawed, write_fields
from fakebroker.broker.core.topic_config import TopicConfig
from fakebroker.broker.core.topics import CONSUMER_OFFSETS, TRANSACTION_STATE, Partition, Topic, Topics
from fakebroker.broker.release import Release
from fakebroker.broker.settings import Settings
from fakebroker.protocol.instant import Instant

if TYPE_CHECKING:
    Int64s = array[int]
else:
    Int64s = array  # without a parameter, which it takes from Python 3.12 on only


class SegmentState(NamedTuple):
    """A segment: the batches as they are stored, and the arrays beside them."""

    base_offset: int
    created_ms: int
    modified_ms: int
    first_timestamp_ms: int
    index_entries: int
    unindexed_bytes: int
    batches: tuple[bytes, ...]
    offsets: Int64s
    ends: Int64s
    times: Int64s


class ProducerValues(NamedTuple):
    """An idempotent or transactional producer on one partition."""

    producer_id: int
    epoch: int
    batches: tuple[WrittenBatch, ...]
    last_timestamp_ms: int
    coordinator_epoch: int
    current_transaction_offset: int | None


class LogState(NamedTuple):
    """The log of a partition. Pending batches are stored first, so there are none."""

    log_start_offset: int
    log_end_offset: int
    high_watermark: int
    last_stable_offset: int
    high_watermark_limit: int | None
    cleaned_until: int
    epochs: tuple[tuple[int, int], ...]
    producers: tuple[ProducerValues, ...]
    segments: tuple[SegmentState, ...]
    aborted: tuple[AbortedTransaction, ...] = ()
    unreplicated: tuple[tuple[int, int], ...] = ()  # first offset and marker of ended transactions (FT-14)


class PartitionState(NamedTuple):
    """A partition; `log` is None if nothing was ever written there, or if it has only offsets, in `empty_range`."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    elr: tuple[int, ...]
    last_known_elr: tuple[int, ...]
    leader: int
    leader_epoch: int
    log: LogState | None
    out_of_sync: tuple[int, ...] = ()
    empty_range: EmptyRange | None = None


class TopicState(NamedTuple):
    """A topic; `config` are its own settings."""

    name: str
    id: bytes
    config: dict[str, str]
    partitions: tuple[PartitionState, ...]


class NodeValues(NamedTuple):
    """A broker; `own` are its static settings that others do not have, `dynamic` those set at run time.

    `alive`: it has a process, which runs after a restore. One that was frozen or cut off is not any more.
    `is_replicating`: all its replicas fetched, so none was frozen, cut off or in a log directory that had failed.
    """

    id: int
    alive: bool
    own: dict[str, str]
    dynamic: dict[str, str]
    is_fenced: bool = False
    is_replicating: bool = True


class RandomState(NamedTuple):
    """Where the source of random ids stands; see `random.Random.getstate`."""

    version: int
    internal: tuple[int, ...]
    next_gauss: float | None


class JobsState(NamedTuple):
    """From when the intervals of retention, cleaning and producer expiry count (wall time)."""

    retention_ms: int | None
    cleaner_ms: int | None
    expiry_ms: int | None


class QuotaState(NamedTuple):
    """The quotas of one entity, by key; `types` are what it is of, with a name for each, None for the default."""

    types: tuple[str, ...]
    names: tuple[str | None, ...]
    values: dict[str, float]


class ClusterState(NamedTuple):
    """Everything durable of a cluster."""

    cluster_id: str
    next_producer_id: int
    random: RandomState
    nodes: tuple[NodeValues, ...]
    dynamic: dict[str, str]
    topics: tuple[TopicState, ...]
    being_deleted: tuple[str, ...]
    group_configs: dict[str, dict[str, str]]
    client_metrics: dict[str, dict[str, str]]
    jobs: JobsState
    expirations: tuple[OffsetsExpired, ...]
    highest_node_id: int = 0  # that there ever was; 0 in older files: of those that there are
    credentials: CredentialsState = CredentialsState()
    features: FeaturesState = FeaturesState()
    client_quotas: tuple[QuotaState, ...] = ()
    acls: tuple[AclState, ...] = ()


class Durable(NamedTuple):
    """How a class takes part: the class of its state, and why some of its attributes are not in it."""

    state: type[Any]
    not_saved: Mapping[str, str]


_KNOWN = "the object around it, given when it is made"
_STORED = "what keeps it in a data directory"
_DERIVED = "follows from what is saved"

DURABLE: Final[Mapping[type, Durable]] = {
    Cluster: Durable(
        ClusterState,
        {
            "settings": "the options of the broker, and `nodes` and `dynamic`",
            "release": "an option of the broker",
            "behaviours": "of the release",
            "storage": _STORED,
            "disk_faults": "no disk has a fault after a restore",
            "timers": "each is armed again by what it belongs to",
            "outbox": "events on their way to the journal",
            "pending_batch_memory": "pending batches are stored",
            "log_jobs": "`jobs`",
            "listener_settings": "of the server that the brokers listen with",
            "check_listeners": "a callback of the server",
            "holds": "of a test, not of the broker",
            "_hold_count": "of a test, not of the broker",
            "_highest_node_id": "`highest_node_id`",
            "_client_quotas": "`client_quotas`",
            "on_quotas_changed": "a callback of the engine",
            "client_metrics_changes": "compared for clients that are connected, and all are disconnected",
            "_telemetry": "what clients pushed is handed on in Kafka, not kept",
            "seed": "an option of the broker",
            "decoded_batches": "only there while the groups are loaded",
            "authorizer": "the options of the broker, and `acls`",
        },
    ),
    Topics: Durable(
        ClusterState,
        {
            "_cluster": _KNOWN,
            "changes": "compared while a client is connected, and all are disconnected",
            "last_creation": "compared by groups, which are reloaded",
            "_by_name": "`topics`",
            "_by_id": _DERIVED,
            "_alike": _DERIVED,
            "unforgotten": "`being_deleted`",
            "_clearing": "`being_deleted`",
            "_sorted": _DERIVED,
            "on_deleted": "callbacks of the cluster's other parts",
            "on_leader_changed": "callbacks of the cluster's other parts",
        },
    ),
    Topic: Durable(TopicState, {"cluster": _KNOWN, "is_internal": _DERIVED}),
    TopicConfig: Durable(
        TopicState, {"own": "`config`", "_settings": _KNOWN, "_generation": _DERIVED, "_log": _DERIVED}
    ),
    Partition: Durable(
        PartitionState,
        {
            "topic": _KNOWN,
            "index": "the place in the topic's partitions",
            "changes": "counted for fetch sessions, which end",
            "stale_views": "of brokers that have not learned of the leader: all have after a restore",
            "offline": "no log directory is offline after a restore",
        },
    ),
    PartitionLog: Durable(
        LogState,
        {
            "partition": _KNOWN,
            "store": _STORED,
            "disk_guard": "no disk has a fault after a restore",
            "name": _DERIVED,
            "waiters": "fetches of clients, which are disconnected",
            "_active": "the last segment",
            "_times": "an index, made when it is needed",
            "_pending": "pending batches are stored",
            "_jobs": _KNOWN,
            "is_size_watched": "set by the next look of the retention job, which is woken",
        },
    ),
    Segment: Durable(SegmentState, {}),
    LeaderEpochs: Durable(LogState, {"_entries": "`epochs`", "latest": _DERIVED}),
    AbortedTransactions: Durable(LogState, {"entries": "`aborted`"}),
    Producers: Durable(
        LogState,
        {
            "_states": "`producers`",
            "_open": _DERIVED,
            "first_unstable_offset": _DERIVED,
            "_verifications": "of requests of clients, which are disconnected",
            "_outlive_records": "of the release",
        },
    ),
    ProducerState: Durable(ProducerValues, {}),
    Node: Durable(
        NodeValues,
        {
            "cluster": _KNOWN,
            "settings": "`own` and `dynamic`, and the options of the broker",
            "coordinator": "its groups are loaded from the log",
            "transactions": "loaded from the log",
            "_log_directories": "which replica is where is not saved; no disk has a fault after a restore",
            "_share_coordinator": "its states are loaded from the log when they are asked for",
            "_fetch_sessions": "of clients, which are disconnected",
            "_share_partitions": "what was acquired is not stored in Kafka either; the rest is loaded from the log",
            "state": "`alive`: stopped, or running and reached by all",
            "incarnation": "its process is another after a restore",
            "is_cut_off": "no broker is after a restore",
            "is_unaware": "no broker is after a restore",
            "session": "begins at the restore",
            "learns": "nothing is left to be heard after a restore",
            "stopped_timers": "no broker is frozen after a restore",
            "log_ends": "replicas that did not fetch have everything after a restore",
        },
    ),
    LogJobs: Durable(
        JobsState,
        {
            "_cluster": _KNOWN,
            "_logs": "those that have batches",
            "_unwritten": "verifications are not saved: their requests are gone",
            "retention": "`retention_ms`",
            "cleaner": "`cleaner_ms`",
            "expiry": "`expiry_ms`",
        },
    ),
}


# -- reading ---------------------------------------------------------------------------------------------------------


def cluster_state(cluster: Cluster) -> ClusterState:
    """The durable state of a cluster as it is now. Pending batches of its logs are stored, as by any reader of them."""
    return read_fields(
        ClusterState,
        cluster,
        next_producer_id=cluster._next_producer_id,
        random=RandomState(*cluster.random.getstate()),
        nodes=tuple(map(_node_values, cluster.nodes.values())),
        dynamic=cluster.settings.dynamic(cluster=True),
        topics=tuple(map(_topic_state, cluster.topics)),
        being_deleted=_being_deleted(cluster.topics),
        jobs=JobsState(*[job.start_ms for job in cluster.log_jobs.all()]),
        expirations=tuple(cluster.expirations),
        highest_node_id=cluster._highest_node_id,
        credentials=cluster.credentials.state(),
        features=cluster.features.state(),
        client_quotas=_quotas(cluster),
        acls=cluster.authorizer.acls.state() if cluster.authorizer is not None else (),
    )


def _being_deleted(topics: Topics) -> tuple[str, ...]:
    """The deleted topics that a coordinator has to forget yet, unless they exist anew."""
    waiting = [topic for topics_of_one in topics.unforgotten.values() for topic in topics_of_one]
    return tuple(dict.fromkeys([topic.name for topic in [*topics.being_deleted, *waiting] if topic.name not in topics]))


def _quotas(cluster: Cluster) -> tuple[QuotaState, ...]:
    if not cluster.has_client_quotas:
        return ()
    found = [(tuple(zip(*entity, strict=True)), values) for entity, values in cluster.client_quotas]
    return tuple(QuotaState(types, names, dict(values)) for (types, names), values in found)


def _node_values(node: Node) -> NodeValues:
    own, dynamic = node.settings.own(), node.settings.dynamic(cluster=False)
    is_replicating = node.is_replicating and not node.has_offline_directory
    return read_fields(
        NodeValues, node, alive=node.has_process, own=own, dynamic=dynamic, is_replicating=is_replicating
    )


def _topic_state(topic: Topic) -> TopicState:
    partitions = tuple([_partition_state(each) for each in topic.partitions])
    return read_fields(TopicState, topic, config=dict(topic.config.own), partitions=partitions)


def _partition_state(partition: Partition) -> PartitionState:
    return read_fields(PartitionState, partition, log=_log_state(partition.used_log) if partition.used_log else None)


def _log_state(log: PartitionLog) -> LogState | None:
    """None for a log as it is when it is made, because making one is no more than a look at it."""
    if not log.log_end_offset and not log.cleaned_until and not any(True for _ in log.producers):
        return None
    log.materialize_pending()
    return read_fields(
        LogState,
        log,
        epochs=tuple(log.epochs.entries()),
        producers=tuple([read_fields(ProducerValues, each) for each in log.producers]),
        segments=tuple([segment_state(each) for each in log.segments.values()]),
        aborted=tuple(log.aborted.entries),
        unreplicated=tuple(log.producers.unreplicated),
    )


def segment_state(segment: Segment) -> SegmentState:
    """The state of one segment."""
    return read_fields(
        SegmentState,
        segment,
        batches=tuple(segment.batches),
        offsets=segment.offsets[:],
        ends=segment.ends[:],
        times=segment.times.maxima[:],
    )


# -- building --------------------------------------------------------------------------------------------------------


def build_cluster(state: ClusterState, settings: Settings, release: Release, now: Instant, seed: int = 0) -> Cluster:
    """A cluster with that state at `now`, under these static settings and this release. No group is loaded yet.

    `seed` is what chance of other kinds begins with, such as that of faults; ids go on as the state says.
    Settings that the release does not know are left out. Raises ValueError or another exception of a wrong value for a
    state that no cluster can have.
    """
    cluster = Cluster(settings, release, seed, tuple(node.id for node in state.nodes))
    cluster.cluster_id = state.cluster_id
    for node_state in state.nodes:
        _set_up_node(cluster.nodes[node_state.id], node_state)
    settings.replace_dynamic(settings.dynamic(cluster=True) | state.dynamic, cluster=True)
    for topic_state in state.topics:
        _add_topic(cluster, topic_state)
    no_config = TopicConfig(settings, None)
    cluster.topics.being_deleted = [Topic(cluster, name, no_config, []) for name in state.being_deleted]
    cluster.group_configs = thawed(state.group_configs)
    cluster.client_metrics = thawed(state.client_metrics)
    for expiration in state.expirations:
        cluster.expirations.add(expiration)
    for job, start_ms in zip(cluster.log_jobs.all(), state.jobs, strict=True):
        job.start(now.wall_ms if start_ms is None else start_ms)
    cluster.log_jobs.settings_changed(now)
    settle(cluster, [node.id for node in state.nodes if node.alive and not node.is_replicating], now)
    cluster._highest_node_id = max(cluster._highest_node_id, state.highest_node_id)
    cluster.credentials.restore(state.credentials)
    cluster.features.restore(state.features)
    for types, names, values in state.client_quotas:
        cluster.client_quotas.alter(tuple(zip(types, names, strict=True)), values)
    if cluster.authorizer is not None:
        cluster.authorizer.acls.restore(state.acls)
    cluster._next_producer_id = state.next_producer_id
    cluster.random.setstate(tuple(state.random))  # last: making the parts took ids
    return cluster


def load_coordinators(cluster: Cluster, now: Instant, decoded: dict[bytes, DecodedBatch] | None = None) -> None:
    """Load the groups and transactions of every partition that has a leader and a log (LD-1).

    Deletions of topics that were under way are completed: their offsets are deleted by the loads. `decoded` keeps what
    batches say from one load of the same log to the next: decoding is nearly all of its cost.
    """
    cluster.decoded_batches = decoded
    for name in (CONSUMER_OFFSETS, TRANSACTION_STATE):
        topic = cluster.topics.get(name)
        for partition in topic.partitions if topic is not None else ():
            if partition.has_log and partition.leader in cluster.nodes:
                node = cluster.nodes[partition.leader]
                (node.coordinator if name == CONSUMER_OFFSETS else node.transactions).load(partition.index, now)
    cluster.topics.being_deleted.clear()
    cluster.decoded_batches = None


def random_state(seed: int) -> RandomState:
    """The source of random ids at the beginning of a broker with that seed."""
    return RandomState(*Random(seed).getstate())


def _set_up_node(node: Node, state: NodeValues) -> None:
    node.state = NodeState.RUNNING if state.alive else NodeState.STOPPED
    node.is_fenced = state.is_fenced
    for name, text in state.own.items():
        if node.settings.own().get(name) != text:
            node.settings.set_own(name, text)
    if state.dynamic:
        node.settings.replace_dynamic(state.dynamic, cluster=False)


def _add_topic(cluster: Cluster, state: TopicState) -> None:
    cluster.topics.check_new(state.name)  # of a file that somebody made up: the name becomes that of a folder
    own = {name: text for name, text in state.config.items() if name in cluster.settings.topic_table}
    topic = Topic(cluster, state.name, TopicConfig(cluster.settings, own), [each.replicas for each in state.partitions])
    topic.id = state.id
    cluster.topics.add(topic)
    for partition, partition_state in zip(topic.partitions, state.partitions, strict=True):
        write_fields(partition_state, partition, "log")
        if not cluster.behaviours.has_eligible_leader_replicas:
            partition.elr, partition.last_known_elr = [], []
        if partition_state.log is not None:
            _fill_log(partition.log, partition_state.log)


def _fill_log(log: PartitionLog, state: LogState) -> None:
    write_fields(state, log, "epochs", "producers", "segments", "aborted", "unreplicated")
    log.fill([_segment(each) for each in state.segments], state.epochs)
    for values in state.producers:
        producer = ProducerState(values.producer_id, values.epoch)
        write_fields(values, producer)
        log.producers.put(producer)
    log.aborted.entries = list(state.aborted)
    for first_offset, marker_offset in state.unreplicated:
        log.producers.hold_until_replicated(first_offset, marker_offset)


def _segment(state: SegmentState) -> Segment:
    segment = Segment(state.base_offset, state.created_ms)
    write_fields(state, segment, "offsets", "ends", "times")
    segment.offsets, segment.ends, segment.times.maxima = state.offsets[:], state.ends[:], state.times[:]
    return segment

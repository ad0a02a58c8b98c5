"""Topics and their partitions: names, ids (KIP-516), replicas, leaders."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from fakebroker.broker.core.stale_view import StaleView, epoch_error
from fakebroker.broker.core.topic_config import TopicConfig, check_config
from fakebroker.broker.core.topic_rules import check_counts, check_most_partitions, check_name, collision_key
from fakebroker.broker.core.topics_host import TopicsHost
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.instant import Instant

if TYPE_CHECKING:
    from fakebroker.broker.core.logs.empty_range import EmptyRange
    from fakebroker.broker.core.logs.log import PartitionLog

CONSUMER_OFFSETS = "__consumer_offsets"
TRANSACTION_STATE = "__transaction_state"
SHARE_GROUP_STATE = "__share_group_state"
INTERNAL_TOPICS = frozenset({CONSUMER_OFFSETS, TRANSACTION_STATE, SHARE_GROUP_STATE})
AskForPartitions = Callable[[int], None]
"""Whether so many partitions may be made: raises KafkaError if not."""
_NONE = ErrorCode.NONE  # each read and write asks for it: read from the class it costs as much as a call
METADATA_TOPIC = "__cluster_metadata"  # the controller's own log; clients can neither make nor read it (NT-3)


class Partition:
    """One partition: its replicas, leader and log. `elections` changes leader and in-sync set.

    `stale_views` are those of brokers that do not know the present leader, by their ids; nearly always empty.

    `isr` are the replicas in sync; `elr` those that were when the set became too small, and may lead as well, and
    `last_known_elr` the leader that left it empty (KIP-966).

    `offline` are the brokers whose log directory with their replica has failed (`LogDirectories`); nearly always empty.

    `changes` counts what waiting fetches are woken for: changes of the log, the leader, the replicas and the topic.

    `empty_range` is for a log that was not used yet and has offsets without records; None if it begins at offset 0.
    """

    __slots__ = (
        "_log",
        "changes",
        "elr",
        "empty_range",
        "index",
        "isr",
        "last_known_elr",
        "leader",
        "leader_epoch",
        "offline",
        "out_of_sync",
        "replicas",
        "stale_views",
        "topic",
    )

    def __init__(self, topic: "Topic", index: int, replicas: Sequence[int]) -> None:
        self.topic = topic
        self.index = index
        self.replicas = list(replicas)
        self.isr = topic.cluster.live(replicas)
        self.elr: list[int] = []
        self.last_known_elr: list[int] = []
        self.leader = self.isr[0] if self.isr else -1  # a node id, -1 for none
        self.leader_epoch = 0
        self.out_of_sync: list[int] = []  # replicas that a test keeps out of the in-sync set
        self.stale_views: dict[int, StaleView] = {}
        self.offline: list[int] = []
        self.changes = 0
        self.empty_range: EmptyRange | None = None
        self._log: PartitionLog | None = None

    @property
    def log(self) -> "PartitionLog":
        """The records; made on first use (FC-5).

        What still has a partition when its topic is deleted may ask for its log: that one is stored nowhere. Its folder
        may be that of a topic made anew under the name.
        """
        if self._log is None:
            self._log = log = _new_log(self)
            if self.empty_range is not None:
                self.empty_range.fill(log, self.leader_epoch)
                self.empty_range = None
            log.high_watermark_limit = None if self.is_replicating else log.log_end_offset
            if self.topic.exists:
                storage = self.topic.cluster.storage
                if storage is not None:
                    storage.log_made(log)
                self.topic.cluster.watch_disks(self)
        return self._log

    @property
    def has_log(self) -> bool:
        """Whether its log was used yet, or has offsets without records."""
        return self._log is not None or self.empty_range is not None

    @property
    def used_log(self) -> "PartitionLog | None":
        """Its log if it was used yet; a look does not make one."""
        return self._log

    @property
    def end_offset(self) -> int:
        """The log end offset. A look does not make the log."""
        if self._log is not None:
            return self._log.log_end_offset
        return 0 if self.empty_range is None else self.empty_range.end

    @property
    def live_replicas(self) -> list[int]:
        """The brokers of its replicas that are not fenced and can use their log directory, in their order."""
        live = self.topic.cluster.live(self.replicas)
        return [node_id for node_id in live if node_id not in self.offline] if self.offline else live

    @property
    def min_isr(self) -> int:
        """How many replicas have to be in sync (`min.insync.replicas`): never more than there are."""
        return min(self.topic.config.log.min_insync_replicas, len(self.replicas))

    def forget_log(self) -> None:
        """The topic is deleted: its records go."""
        self._log = self.empty_range = None

    def lead(self, node_id: int, now: Instant) -> None:
        """Make a node the leader, or -1 for none. Each change is a new leader epoch (CLU-24)."""
        if node_id != self.leader:
            self.begin_epoch(node_id)
            for callback in self.topic.cluster.topics.on_leader_changed:
                callback(self, now)
            self.wake(now)

    def begin_epoch(self, leader: int) -> None:
        """A new leader epoch, of another leader or the same. Brokers that do not hear of it keep their view."""
        for node in self.topic.cluster.nodes.values():
            if node.is_unaware and node.id in self.replicas and node.id not in self.stale_views:
                self.stale_views[node.id] = StaleView(self.leader, self.leader_epoch, self.isr, self._log)
        self.leader = leader
        self.leader_epoch += 1
        self.topic.cluster.metadata_changed(self)

    def seen_by(self, node_id: int) -> "Partition | StaleView":
        """Leader, epoch and in-sync set as a broker knows them: what is so, unless it is a zombie (CLU-45)."""
        return self.stale_views.get(node_id, self) if self.stale_views else self

    def forget_view(self, node_id: int, now: Instant) -> None:
        """A broker hears what has changed: its coordinator unloads or loads, parked requests look again."""
        if self.stale_views.pop(node_id, None) is not None:
            for coordinator in self.topic.cluster.nodes[node_id].coordinators:
                coordinator.leader_changed(self, now)
            self.wake(now)

    @property
    def is_lagging(self) -> bool:
        """Whether replicas may not have everything, or brokers do not know who leads; nearly never."""
        log = self._log or self.log  # nearly always there: a property costs a call
        return log.high_watermark_limit is not None or bool(self.stale_views)

    @property
    def is_replicating(self) -> bool:
        """Whether what is appended reaches all replicas in sync, and they are enough (CLU-61, CLU-62)."""
        cluster = self.topic.cluster
        if len(self.isr) < self.min_isr and cluster.behaviours.high_watermark_needs_min_isr:
            return False
        return all(node_id not in cluster.nodes or cluster.nodes[node_id].is_replicating for node_id in self.isr)

    def update_high_watermark(self, now: Instant) -> None:
        """After a change of who is in sync or of who fetches: hold the high watermark, or let it go to the end."""
        if self._log is not None:
            is_held = self._log.high_watermark_limit is not None
            if self.is_replicating == is_held:
                self._log.limit_high_watermark(None if is_held else self._log.high_watermark, now)

    def error_for_access(self, node_id: int, leader_epoch: int = -1, *, only_leader: bool = True) -> ErrorCode:
        """Why broker `node_id` may not serve this partition, or NONE. For every API that reads or writes records.

        `leader_epoch` is the one that the client believes in, -1 if it does not say; with `only_leader` false followers
        serve as well. Checked in the order of Kafka's `Partition.getLocalLog`: NOT_LEADER_OR_FOLLOWER without a replica
        here, KAFKA_STORAGE_ERROR with its log directory offline (LR-4), FENCED_LEADER_EPOCH or UNKNOWN_LEADER_EPOCH,
        NOT_LEADER_OR_FOLLOWER for followers (KIP-320, LO-5, CLU-53).
        """
        if node_id not in self.replicas:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if self.offline and node_id in self.offline:
            return ErrorCode.KAFKA_STORAGE_ERROR
        seen = self.stale_views.get(node_id, self) if self.stale_views else self
        if leader_epoch != -1 and leader_epoch != seen.leader_epoch:
            return epoch_error(leader_epoch, seen.leader_epoch)
        if only_leader and node_id != seen.leader:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return _NONE

    def wake(self, now: Instant) -> None:
        """Let delayed fetches check again: leader or topic have changed (CLU-55)."""
        if self._log is not None:
            self._log.wake(now)

    def __repr__(self) -> str:
        return f"<Partition {self.topic.name}-{self.index} leader={self.leader}>"


def _new_log(partition: Partition) -> "PartitionLog":
    """An empty log, of a kind that knows old message formats where the release keeps them (LO-7)."""
    topic = partition.topic
    if topic.cluster.behaviours.keeps_message_formats and not topic.is_internal:
        from fakebroker.broker.core.logs.old_formats_log import OldFormatsLog

        return OldFormatsLog(partition)
    from fakebroker.broker.core.logs.log import PartitionLog

    return PartitionLog(partition)


class Topic:
    """A topic under one id; one made again under the name is another object with another id (XT-6)."""

    __slots__ = ("cluster", "config", "id", "is_internal", "name", "partitions")

    def __init__(self, cluster: TopicsHost, name: str, config: TopicConfig, replicas: Sequence[Sequence[int]]) -> None:
        self.cluster = cluster
        self.name = name
        self.id = cluster.new_uuid()
        self.config = config
        self.is_internal = name in INTERNAL_TOPICS
        self.partitions = [Partition(self, index, nodes) for index, nodes in enumerate(replicas)]

    @property
    def exists(self) -> bool:
        """Whether it was made and is not deleted."""
        return self.cluster.topics.by_id(self.id) is self

    @property
    def records_count(self) -> int:
        """How many records Kafka's controller writes to make it."""
        return 1 + len(self.partitions) + len(self.config.own)

    @property
    def replication_factor(self) -> int:
        """How many replicas the first partition has."""
        return len(self.partitions[0].replicas)

    def partition(self, index: int) -> Partition | None:
        """The partition of that index, or None."""
        return self.partitions[index] if 0 <= index < len(self.partitions) else None

    def add_partitions(self, replicas: Sequence[Sequence[int]]) -> None:
        """Add empty partitions at leader epoch 0 with these replicas (NP-4)."""
        self.cluster.topics.changes += 1
        first = len(self.partitions)
        self.partitions += [Partition(self, first + i, nodes) for i, nodes in enumerate(replicas)]
        self.cluster.metadata_changed(self)

    def ask(self, ask: AskForPartitions) -> None:
        """A topic that is planned asks whether it may have its partitions, and ends if `ask` raises KafkaError."""
        try:
            ask(len(self.partitions))
        except KafkaError:
            self.end()
            raise

    def end(self) -> None:
        """It is deleted, or will never exist. Topic, partitions and logs know each other: without this the memory of
        the records would wait for the cycle collector.
        """
        for partition in self.partitions:
            partition.forget_log()
        self.partitions.clear()

    def __repr__(self) -> str:
        return f"<Topic {self.name} of {len(self.partitions)} partitions>"


class Topics:
    """All topics, in the order in which they were made.

    `on_deleted` is called with each deleted topic, after it is gone from here: committed offsets go (EX-12). What takes
    long is done in steps (`delete_in_steps`).
    `on_leader_changed` is called with each partition that has a new leader, or none.
    `changes` counts: while it is the same, the same names, ids and partitions exist, as the same objects.
    `last_creation` is what it was when the newest topic was made, 0 before the first.
    `unforgotten` has the deleted topics that the next load of a coordinator's partition has to forget at its end.
    """

    def __init__(self, cluster: TopicsHost) -> None:
        self._cluster = cluster
        self.changes = self.last_creation = 0
        self._sorted: tuple[int, list[str]] = (0, [])  # what `changes` was, and the names then
        self._by_name: dict[str, Topic] = {}
        self._by_id: dict[bytes, Topic] = {}
        self._alike: dict[str, dict[str, None]] = {}  # collision key -> names in the order of their creation
        self.being_deleted: list[Topic] = []  # gone, with clearing away still under way
        self._clearing: dict[str, Iterator[int]] = {}  # the steps of that by the topics' names
        self.unforgotten: dict[Partition, list[Topic]] = {}
        self.on_deleted: list[Callable[[Topic, Instant], Iterable[int] | None]] = []
        self.on_leader_changed: list[Callable[[Partition, Instant], None]] = []

    def __iter__(self) -> Iterator[Topic]:
        return iter(self._by_name.values())

    def __len__(self) -> int:
        return len(self._by_name)

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def sorted_names(self) -> list[str]:
        """The names of all topics in their order; the list is not to be changed."""
        if self._sorted[0] != self.changes:
            self._sorted = self.changes, sorted(self._by_name)
        return self._sorted[1]

    def get(self, name: str) -> Topic | None:
        """The topic of that name, or None."""
        return self._by_name.get(name)

    def partition(self, name: str, index: int) -> Partition | None:
        """The partition of that topic and index, or None."""
        topic = self._by_name.get(name)
        return None if topic is None else topic.partition(index)

    def by_id(self, topic_id: bytes) -> Topic | None:
        """The topic of that id, or None."""
        return self._by_id.get(topic_id)

    def create(
        self,
        name: str,
        partitions: int | None = None,
        replication_factor: int | None = None,
        config: Mapping[str, str] | None = None,
        assignments: Sequence[Sequence[int]] | None = None,
        ask: AskForPartitions | None = None,
    ) -> Topic:
        """Make a topic; None for a count means the broker's default. Raises KafkaError as NT-3 orders the checks, and
        as `ask` does, which comes last.
        """
        topic = self.plan(name, partitions, replication_factor, config, assignments)
        if ask is not None:
            topic.ask(ask)
        self.add(topic)
        return topic

    def add(self, topic: Topic) -> None:
        """Let a planned topic exist.

        What is left of a deleted one of that name is cleared away first, at once: offsets are known by names. So
        nothing that clears away (`on_deleted`) may make a topic.
        """
        for _ in self._clearing.get(topic.name, ()):
            pass
        self.changes += 1
        self.last_creation = self.changes
        self._by_name[topic.name] = self._by_id[topic.id] = topic
        self._alike.setdefault(collision_key(topic.name), {})[topic.name] = None
        self._cluster.metadata_changed(topic)

    def plan(
        self,
        name: str,
        partitions: int | None = None,
        replication_factor: int | None = None,
        config: Mapping[str, str] | None = None,
        assignments: Sequence[Sequence[int]] | None = None,
    ) -> Topic:
        """Check and make a topic as `create` does, but do not let it exist yet (NT-9). Raises KafkaError."""
        self.check_new(name)
        settings = self._cluster.settings
        check_config(settings, config or {})
        if assignments is None:
            assignments = self._assign_replicas(partitions, replication_factor, len(config or {}))
        else:
            check_most_partitions(len(assignments), len(config or {}))
            self._cluster.check_new_partitions(assignments, len(assignments[0]))
        return Topic(self._cluster, name, TopicConfig(settings, config), assignments)

    def delete(self, name: str, now: Instant) -> None:
        """Forget a topic and tell `on_deleted`. KeyError if there is none."""
        for _ in self.delete_in_steps(name, now):
            pass

    def delete_in_steps(self, name: str, now: Instant) -> Iterator[int]:
        """The same in steps; each tells how many groups it looked at. The topic is gone at the first.

        The caller takes all of them, with pauses if they are many.
        """
        topic = self._by_name.pop(name)
        self.changes += 1
        del self._by_id[topic.id]
        key = collision_key(name)
        del self._alike[key][name]
        if not self._alike[key]:
            del self._alike[key]
        for partition in topic.partitions:
            partition.wake(now)
        self._cluster.metadata_changed(topic)
        self.being_deleted.append(topic)
        self._clearing[name] = steps = self._clear_away(topic, now)
        yield 0
        yield from steps

    def _clear_away(self, topic: Topic, now: Instant) -> Iterator[int]:
        for clear_away in self.on_deleted:
            yield from clear_away(topic, now) or ()
        del self._clearing[topic.name]
        self.being_deleted.remove(topic)
        for partition in topic.partitions:
            self.unforgotten.pop(partition, None)
        topic.end()

    def load_begins(self, partition: Partition) -> None:
        """A coordinator begins to load a partition: when it has, it forgets what is being deleted now."""
        for topic in self.being_deleted:
            self.forget_after_load(topic, partition)

    def forget_after_load(self, topic: Topic, partition: Partition) -> None:
        """A topic is deleted while a coordinator loads a partition: it will forget the topic when it has."""
        self.unforgotten.setdefault(partition, []).append(topic)

    def internal(self, name: str, ask: AskForPartitions | None = None) -> Topic:
        """An internal topic, made when it is first needed (FC-5).

        MOCK: with fewer brokers than its replication factor it gets as many replicas as there are brokers; Kafka
        would not make it. Raises KafkaError(COORDINATOR_NOT_AVAILABLE) if its settings, or `ask`, allow none.
        """
        topic = self._by_name.get(name)
        if topic is None:
            partitions, replication_factor, config = _internal_shape(self._cluster, name)
            try:
                replicas = min(replication_factor, len(self._cluster.nodes))
                topic = self.create(name, partitions, replicas, config, ask=ask)
            except KafkaError as error:
                raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{name}: {error.message}") from None
        return topic

    def check_new(self, name: str) -> None:
        """Raises KafkaError if no topic of that name can be made: a bad name, or one that is taken (NT-4)."""
        if name == METADATA_TOPIC:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{name} is reserved")
        check_name(name)
        if name in self._by_name:
            raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"topic {name!r} already exists")
        for other in self._alike.get(collision_key(name), ()):
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{name!r} collides with the topic {other!r}")

    def _assign_replicas(self, partitions: int | None, replication_factor: int | None, configs: int) -> list[list[int]]:
        settings = self._cluster.settings
        if replication_factor is None:
            replication_factor = settings.get_int("default.replication.factor")
        if partitions is None:
            partitions = settings.get_int("num.partitions")
        check_counts(partitions, replication_factor, len(self._cluster.nodes))
        check_most_partitions(partitions, configs)
        return self._cluster.assign_replicas(0, partitions, replication_factor)


def _internal_shape(cluster: TopicsHost, name: str) -> tuple[int, int, dict[str, str]]:
    """Partitions, replication factor and own settings of an internal topic (CR-1, TS-1)."""
    settings = cluster.settings
    if name == CONSUMER_OFFSETS:
        prefix, config = "offsets.topic", {"cleanup.policy": "compact", "compression.type": "producer"}
    elif name == TRANSACTION_STATE:
        prefix, config = "transaction.state.log", {"cleanup.policy": "compact", "compression.type": "uncompressed"}
        config["min.insync.replicas"] = str(settings.get_int("transaction.state.log.min.isr"))
        config["unclean.leader.election.enable"] = "false"
    else:
        prefix, config = "share.coordinator.state.topic", {"cleanup.policy": "delete", "retention.ms": "-1"}
    config["segment.bytes"] = str(settings.get_int(f"{prefix}.segment.bytes"))
    return settings.get_int(f"{prefix}.num.partitions"), settings.get_int(f"{prefix}.replication.factor"), config

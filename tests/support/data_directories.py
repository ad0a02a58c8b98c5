"""Brokers on data directories: random lives of them, copies of the directory as a kill leaves it, and what is kept."""

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from fakebroker import VirtualBroker
from fakebroker.broker.core.cluster import Cluster
from fakebroker.broker.core.logs.log import PartitionLog
from fakebroker.protocol.errors import FakebrokerError, WaitTimeout
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from fakebroker.serve.storage.partition_files import producer_entry

Step = tuple[str, int]
DAY_MS = 86_400_000
TOPICS = ("a", "b", "c")
GROUPS = ("g", "h", "billing")
SMALL = {"offsets.topic.num.partitions": 3, "transaction.state.log.num.partitions": 3}
SETTINGS = {"segment.bytes": 1_048_576, "index.interval.bytes": 100}


class Life:
    """A broker in virtual time on a data directory, and a client that does what random steps say."""

    def __init__(self, path: Path, *, is_new: bool = True, **options: Any) -> None:
        """`is_new`: the directory is empty, and gets the topics."""
        self.path = path
        self.options: dict[str, Any] = {"config": SMALL, **options}
        self.broker = VirtualBroker(data=path, **self.options)
        self.client = self.broker.client("client")
        self._copies = 0
        for name in TOPICS if is_new else ():
            self.broker.create_topic(name, partitions=2, replication_factor=len(self.broker.nodes), config=SETTINGS)

    @property
    def cluster(self) -> Cluster:
        """The cluster in memory."""
        return self.broker._engine.cluster

    def take(self, step: Step) -> None:
        """Take a step; what is refused changes nothing."""
        kind, n = step
        with suppress(FakebrokerError):
            STEPS[kind](self, n)
        self.broker.pass_time(ms=1)  # markers of transactions are written after the answer

    def copy(self) -> Path:
        """The directory as it would be after a kill at this moment."""
        self._copies += 1
        copied = self.path.with_name(f"{self.path.name}-{self._copies}")
        shutil.copytree(self.path, copied)
        return copied

    def after_kill(self) -> VirtualBroker:
        """A broker that starts on such a copy."""
        return VirtualBroker(data=self.copy(), start_wall_ms=self.broker._broker_clock.now().wall_ms, **self.options)

    def abandon(self) -> None:
        """Let go of the directory as a kill does: nothing more is written."""
        storage = self.broker._storage
        assert storage is not None
        storage._data.close()
        storage.forget()


def kept(broker: VirtualBroker) -> dict[str, Any]:
    """What a data directory has to keep of a cluster, in a form that can be compared."""
    cluster, now_ms = broker._engine.cluster, broker._broker_clock.now().wall_ms
    return {
        "configs": (
            cluster.settings.dynamic(cluster=True),
            {node.id: node.settings.dynamic(cluster=False) for node in cluster.nodes.values()},
            cluster.group_configs,
            cluster.client_metrics,
        ),
        "credentials": sorted(cluster.credentials.state().scram),
        "quotas": sorted(map(repr, cluster.client_quotas)),
        "acls": sorted(cluster.authorizer.acls.state()) if cluster.authorizer is not None else [],
        "features": cluster.features.finalized(),
        "topics": {topic.name: (topic.id, topic.config.own) for topic in cluster.topics},
        "partitions": {
            repr(each): (each.replicas, sorted(each.isr), each.leader, each.leader_epoch)
            for topic in cluster.topics
            for each in topic.partitions
        },
        "logs": {
            each.log.name: kept_log(each.log, now_ms)
            for topic in cluster.topics
            for each in topic.partitions
            if each.has_log
        },
    }


def kept_log(log: PartitionLog, now_ms: int) -> dict[str, Any]:
    """The same of one log: of producers that have not expired the last batch, as in Kafka."""
    entries = [producer_entry(each) for each in log.producers]
    fresh = [each for each in entries if each.timestamp_ms > now_ms - DAY_MS or each.transaction_first_offset >= 0]
    return {
        "offsets": (log.log_start_offset, log.last_stable_offset, log.high_watermark, log.log_end_offset),
        "segments": [(each.base_offset, list(each.batches)) for each in log.segments.values() if not each.is_empty],
        "epochs": log.epochs.entries(),
        "producers": sorted(fresh),
        "aborted": list(log.aborted.entries),
    }


def _produce(life: Life, n: int) -> None:
    topic, size = TOPICS[n % 3], (n * 37) % 400
    life.client.produce(topic, n % 2, [(b"k%d" % (n % 5), b"v" * size)] * (n % 4 + 1))


def _produce_in_transaction(life: Life, n: int) -> None:
    """Without a coordinator, in the log itself: markers come in any order."""
    partition = life.cluster.topics.partition(TOPICS[n % 3], n % 2)
    now = life.broker._broker_clock.now()
    records = [Record(0, now.wall_ms, b"k", b"v" * n)]
    batch = build_batch(records, producer_id=n, producer_epoch=0, base_sequence=0, transactional=n % 2 == 0)
    if partition is not None:
        life.broker._call(lambda: partition.log.append(batch, now))


def _end_transaction(life: Life, n: int) -> None:
    partition = life.cluster.topics.partition(TOPICS[n % 3], n % 2)
    now = life.broker._broker_clock.now()
    if partition is not None:
        life.broker._call(lambda: partition.log.append_marker(n, 0, now, commit=n % 3 == 0, coordinator_epoch=1))


def _transaction(life: Life, n: int) -> None:
    """One that is committed, aborted or stays open; its producer is fenced by the next one of its id."""
    client = life.broker.client(f"producer {n}")
    client.init_producer_id(f"t{n % 3}")
    client.produce(TOPICS[n % 3], n % 2, [(b"k", b"in transaction")] * 3, transactional=True)
    if n % 4 == 0:
        client.abort_transaction()
    elif n % 4 != 1:
        client.commit_transaction()
    client.close()


def _delete_and_make(life: Life, n: int) -> None:
    topic = life.broker.topic(TOPICS[n % 3])
    if topic.exists:
        topic.delete()
    else:
        life.broker.create_topic(topic.name, partitions=2, config=SETTINGS)


def _join(life: Life, n: int) -> None:
    """A member that may have to wait for others, which are gone."""
    with suppress(WaitTimeout):
        life.broker.client(f"member {n}").join(GROUPS[n % 3], [TOPICS[n % 3]])


def _fill(life: Life, n: int) -> None:
    """Enough for a segment or two."""
    for each in range(n % 4 + 1):
        life.client.produce(TOPICS[n % 3], n % 2, [(b"k%d" % (each % 2), b"v" * 400_000)])


def _configs(life: Life, n: int) -> None:
    policy = ("delete", "compact", "compact,delete")[n % 3]
    life.client.alter_configs(TOPICS[n % 3], {"cleanup.policy": policy, "min.cleanable.dirty.ratio": "0.01"})


def _delete_records(life: Life, n: int) -> None:
    partition = life.cluster.topics.partition(TOPICS[n % 3], n % 2)
    if partition is not None:
        life.client.delete_records(TOPICS[n % 3], n % 2, partition.log.log_end_offset * n // 20)


def _truncate(life: Life, n: int) -> None:
    partition = life.cluster.topics.partition(TOPICS[n % 3], n % 2)
    if partition is not None:
        life.broker.topic(TOPICS[n % 3]).truncate(partition.log.log_end_offset * n // 20, n % 2)


def _users(life: Life, n: int) -> None:
    name = f"user{n % 3}"
    if name in life.broker.users.names:
        life.broker.users.remove(name)
    else:
        life.broker.users.add(name, f"password {n}")


STEPS: dict[str, Callable[[Life, int], Any]] = {
    "produce": _produce,
    "produce in transaction": _produce_in_transaction,
    "end transaction": _end_transaction,
    "transaction": _transaction,
    "commit": lambda life, n: life.client.commit({(TOPICS[n % 2], n % 2): n}, group_id=GROUPS[n % 3]),
    "join": _join,
    "fill": _fill,
    "configs": _configs,
    "delete records": _delete_records,
    "truncate": _truncate,
    "users": _users,
    "delete and make": _delete_and_make,
    "partitions": lambda life, n: life.client.create_partitions(TOPICS[n % 3], n % 4 + 1),
    "hours": lambda life, n: life.broker.clock.advance(hours=n, minutes=7),
}

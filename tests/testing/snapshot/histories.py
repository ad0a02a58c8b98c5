"""Histories of a broker that is not started: each step is a kind and a number, and does something durable."""

from collections.abc import Callable
from typing import Any

from fakebroker import FakeBroker, KafkaError
from fakebroker.broker.core.groups.classic.messages import JoinRequest, SyncRequest
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.offsets_topic import stored_offset
from fakebroker.protocol.records.record_codec import Record

Step = tuple[str, int]
TOPICS = ("a", "b", "c")
GROUPS = ("g", "h", "billing")
SETTINGS = {"segment.bytes": 1_048_576, "retention.ms": 86_400_000}


def new_broker(**options: Any) -> FakeBroker:
    """Two brokers of a cluster, three topics, and a clock that stands still."""
    broker = FakeBroker(nodes=2, **options)
    broker.clock.freeze()
    for name in TOPICS:
        broker.create_topic(name, partitions=2, replication_factor=2, config=SETTINGS)
    return broker


def play(broker: FakeBroker, steps: list[Step]) -> None:
    """Take the steps; what cannot be done as things stand is refused, and changes nothing."""
    for kind, n in steps:
        try:
            STEPS[kind](broker, n)
        except KafkaError:
            continue


def commit(broker: FakeBroker, group_id: str, offset: int, topic: str = "a", partition: int = 0) -> None:
    """A commit of a simple consumer."""

    def act() -> None:
        shard, now = shard_of(broker, group_id)
        group = shard.group(group_id) or shard.create_group(group_id, now, for_commit=True)
        shard.commit(group, [stored_offset(topic, partition, offset, commit_ms=now.wall_ms)], now)

    broker._call(act)


def commit_in_transaction(
    broker: FakeBroker, group_id: str, offset: int, *, commits: bool | None, producer_id: int = 7, partition: int = 0
) -> None:
    """A commit of topic "a" in a transaction that is committed or aborted then, or stays open with None."""

    def act() -> None:
        shard, now = shard_of(broker, group_id)
        group = shard.group(group_id) or shard.create_group(group_id, now)
        stored = stored_offset("a", partition, offset, commit_ms=now.wall_ms)
        shard.commit_pending(group, (producer_id, 0), [stored], now)
        if commits is not None:
            shard.partition.log.append_marker(producer_id, 0, now, commit=commits, coordinator_epoch=1)
            shard.replay_end_transaction_marker(producer_id, commits, now)

    broker._call(act)


def join(broker: FakeBroker, group_id: str) -> str:
    """A consumer joins and is assigned something; its member id."""
    answers: list[Any] = []

    def act() -> None:
        shard, now = shard_of(broker, group_id)
        group = shard.group(group_id) or shard.create_group(group_id, now)
        asked = JoinRequest(
            "", None, "c", "/127.0.0.1", 10_000, 60_000, "consumer", (("range", b"r"),), False, True, ""
        )
        group.join(asked, answers.append, now)
        broker._engine.advance_to(now.plus(1))
        if answers:
            entries = [(answers[0].member_id, b"assigned")]
            synced = SyncRequest(answers[0].member_id, None, answers[0].generation, None, None, entries)
            group.sync(synced, lambda _: None, now)

    broker._call(act)
    return str(answers[0].member_id) if answers else ""


def shard_of(broker: FakeBroker, group_id: str) -> tuple[Any, Instant]:
    cluster, now = broker._engine.cluster, broker._broker_clock.now()
    leader = cluster.group_partition(group_id).leader
    node = cluster.nodes[leader if leader in cluster.nodes else 1]
    return node.coordinator.shard(group_id, now), now


def _produce(broker: FakeBroker, n: int) -> None:
    """Plain batches, and ones of an idempotent or a transactional producer."""
    topic, now = TOPICS[n % 3], broker._broker_clock.now()
    records = [Record(each, now.wall_ms - n, b"k", b"v" * n) for each in range(n % 4 + 1)]
    log = broker._engine.cluster.topics.get(topic)
    producer: dict[str, Any] = (
        {"producer_id": n, "producer_epoch": 0, "base_sequence": 0, "transactional": n % 2 == 0} if n > 10 else {}
    )
    if log is not None:
        broker._call(lambda: log.partitions[n % 2].log.append(build_batch(records, **producer), now))


def _end_transaction(broker: FakeBroker, n: int) -> None:
    topic = broker._engine.cluster.topics.get(TOPICS[n % 3])
    if topic is not None:
        now = broker._broker_clock.now()
        topic.partitions[n % 2].log.append_marker(n, 0, now, commit=n % 2 == 0, coordinator_epoch=1)


def _alter(broker: FakeBroker, n: int) -> None:
    cluster = broker._engine.cluster
    cluster.nodes[n % 2 + 1].settings.replace_dynamic({"log.cleaner.threads": str(n + 1)}, cluster=False)
    cluster.group_configs[GROUPS[n % 3]] = {"consumer.session.timeout.ms": str(50_000 + n)}
    cluster.client_metrics["metrics"] = {"interval.ms": str(1000 + n)}


def _toggle(broker: FakeBroker, n: int) -> None:
    node = broker.node(n % 2 + 1)
    if node.is_alive:
        node.stop()
    else:
        node.start()


def _delete_and_make(broker: FakeBroker, n: int) -> None:
    topic = broker.topic(TOPICS[n % 3])
    if topic.exists:
        topic.delete()
    else:
        broker.create_topic(topic.name, partitions=2)


STEPS: dict[str, Callable[[FakeBroker, int], Any]] = {
    "produce": _produce,
    "end transaction": _end_transaction,
    "commit": lambda broker, n: commit(broker, GROUPS[n % 3], n, TOPICS[n % 2], n % 2),
    "join": lambda broker, n: join(broker, GROUPS[n % 3]),
    "hours": lambda broker, n: broker.clock.advance(hours=n, minutes=7),
    "start at": lambda broker, n: broker.topic(TOPICS[n % 3]).advance_log_start(n % 3, n % 2),
    "truncate": lambda broker, n: broker.topic(TOPICS[n % 3]).truncate(n % 5, n % 2),
    "node": _toggle,
    "alter": _alter,
    "topic": _delete_and_make,
    "producer id": lambda broker, _: broker._engine.cluster.new_producer_id(),
    "member id": lambda broker, _: broker._engine.cluster.new_member_id("m"),
}

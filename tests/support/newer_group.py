"""Journals of brokers with groups of the newer types (KIP-848, KIP-1071), whose offsets expire."""

from functools import cache
from typing import Any, NamedTuple

from fakebroker.broker.core.topics import CONSUMER_OFFSETS
from fakebroker.client.scripted.scripted_client import ScriptedClients
from fakebroker.testing.virtual_broker import VirtualBroker
from tests.group_histories.consumer_history import SETTINGS as CONSUMER_SETTINGS
from tests.group_histories.consumer_history import ConsumerHistory
from tests.group_histories.history import GroupHistory, TopicIds
from tests.group_histories.migration_history import MigrationHistory
from tests.group_histories.share_history import SETTINGS as SHARE_SETTINGS
from tests.group_histories.share_history import ShareHistory
from tests.group_histories.streams_history import SETTINGS as STREAMS_SETTINGS
from tests.group_histories.streams_history import StreamsHistory
from tests.support.histories import KEEPS_ALL, LogRecord, records_of

Row = dict[str, Any]

KINDS: tuple[type[GroupHistory], ...] = (ConsumerHistory, MigrationHistory, StreamsHistory, ShareHistory)
SETTINGS = {**CONSUMER_SETTINGS, **STREAMS_SETTINGS, **SHARE_SETTINGS, **KEEPS_ALL}
RETENTION = {"offsets.retention.minutes": 1, "offsets.retention.check.interval.ms": 2_000}


def journal_of_newer_group() -> list[Row]:
    """A member reads orders and commits for payments, too, which expires first; it leaves, and the other one does."""
    with VirtualBroker(config=RETENTION) as broker:
        for topic in ("orders", "payments"):
            broker.create_topic(topic)
        client = broker.client("a")
        client.join_consumer_group("modern", ["orders"])
        client.commit({("orders", 0): 5, ("payments", 0): 7})
        for _ in range(15):
            broker.pass_time(s=6)
            client.consumer_group_heartbeat()
        client.leave_consumer_group()
        broker.pass_time(s=120)
        return [row | {"run": "newer"} for row in broker.journal.rows()]


def journal_of_a_loaded_group() -> list[Row]:
    """A consumer group without members comes from a snapshot; its offset expires."""
    with VirtualBroker(config=RETENTION) as broker:
        broker.create_topic("orders")
        client = broker.client("a")
        client.join_consumer_group("modern", ["orders"])
        client.commit({("orders", 0): 5})
        client.leave_consumer_group()
        broker.restore(broker.snapshot())
        broker.client("b").commit({("orders", 0): 6}, group_id="modern")
        broker.pass_time(s=120)
        return [row | {"run": "loaded"} for row in broker.journal.rows()]


def journal_of_a_held_offset() -> list[Row]:
    """A transaction holds an offset of a simple group, which then is a consumer group that commits another one."""
    with VirtualBroker(config=RETENTION) as broker:
        broker.create_topic("orders")
        producer = broker.client("p")
        producer.init_producer_id("tx-1", transaction_timeout_ms=600_000)
        producer.txn_offset_commit({("orders", 0): 3}, "g")
        client = broker.client("a")
        client.join_consumer_group("g", ["orders"])
        client.commit({("orders", 0): 5})
        client.leave_consumer_group()
        broker.pass_time(s=100)
        broker.client("b").commit({("orders", 0): 6}, group_id="other")
        return [row | {"run": "held"} for row in broker.journal.rows()]


def journal_of_a_downgrade() -> list[Row]:
    """A classic static member takes the place of the only consumer member, without a rebalance (CGM-11)."""
    with VirtualBroker(config=RETENTION) as broker:
        for topic in ("orders", "payments"):
            broker.create_topic(topic)
        modern = broker.client("a")
        modern.join_consumer_group("g", ["orders"], group_instance_id="i")
        modern.commit({("orders", 0): 5, ("payments", 0): 7})
        modern.leave_consumer_group(is_temporary=True)
        classic = broker.client("b")
        classic.join("g", ["orders"], group_instance_id="i")
        for _ in range(15):
            broker.pass_time(s=6)
            classic.heartbeat()
        return [row | {"run": "downgraded"} for row in broker.journal.rows()]


JOURNALS = (journal_of_newer_group, journal_of_a_loaded_group, journal_of_a_held_offset, journal_of_a_downgrade)


class NewerHistory(NamedTuple):
    """The journal of a history, the kind and state of each group that is there in the end, and all that was written."""

    rows: list[Row]
    groups: dict[str, tuple[str | None, str]]
    records: list[LogRecord]


@cache
def random_history(seed: int) -> NewerHistory:
    """Of consumer, changing, streams or share groups by turns, and of the time after that, in which offsets expire.

    The run is called after the seed.
    """
    kind = KINDS[seed % len(KINDS)]
    with VirtualBroker(config={**SETTINGS, **RETENTION}) as broker:
        kind(ScriptedClients(broker.driver), seed, TopicIds()).play()
        broker.pass_time(s=180 if seed % 2 else 30)
        rows = [row | {"run": f"{kind.kind}-{seed}"} for row in broker.journal.rows()]
        groups = {each.group_id: (each.kind, each.state) for each in broker.groups}
        return NewerHistory(rows, groups, broker._call(lambda: _written(broker)))


def _written(broker: VirtualBroker) -> list[LogRecord]:
    topic = broker._engine.cluster.topics.get(CONSUMER_OFFSETS)
    assert topic is not None
    found = [records_of(each.index, each.log.batches()) for each in topic.partitions if each.has_log]
    return [record for records in found for record in records]

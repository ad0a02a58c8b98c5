"""Journals of brokers with groups of the newer types (KIP-848, KIP-1071), whose offsets expire."""

from typing import Any, NamedTuple

from fakebroker.testclient.scripted_client import ScriptedClients
from fakebroker.virtual_broker import VirtualBroker
from tests.group_histories.consumer_history import SETTINGS as CONSUMER_SETTINGS
from tests.group_histories.consumer_history import ConsumerHistory
from tests.group_histories.history import GroupHistory, TopicIds
from tests.group_histories.migration_history import MigrationHistory
from tests.group_histories.streams_history import SETTINGS as STREAMS_SETTINGS
from tests.group_histories.streams_history import StreamsHistory

Row = dict[str, Any]

KINDS: tuple[type[GroupHistory], ...] = (ConsumerHistory, MigrationHistory, StreamsHistory)
RETENTION = {"offsets.retention.minutes": 1, "offsets.retention.check.interval.ms": 2_000}


def journal_of_newer_group(*, run: str = "newer") -> list[Row]:
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
        return [row | {"run": run} for row in broker.journal.rows()]


class NewerHistory(NamedTuple):
    """The journal of a history, and the kind and state of each group that is there in the end."""

    rows: list[Row]
    groups: dict[str, tuple[str | None, str]]


def random_history(seed: int) -> NewerHistory:
    """Of consumer, changing or streams groups by turns, and of the time after that, in which offsets expire.

    The run is called after the seed.
    """
    kind = KINDS[seed % len(KINDS)]
    with VirtualBroker(config={**CONSUMER_SETTINGS, **STREAMS_SETTINGS, **RETENTION}) as broker:
        kind(ScriptedClients(broker.driver), seed, TopicIds()).play()
        broker.pass_time(s=180 if seed % 2 else 30)
        rows = [row | {"run": f"{kind.kind}-{seed}"} for row in broker.journal.rows()]
        return NewerHistory(rows, {each.group_id: (each.kind, each.state) for each in broker.groups})

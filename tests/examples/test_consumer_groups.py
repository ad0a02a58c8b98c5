"""The new group protocols: a service that grows and shrinks, a pod that restarts, a worker that hangs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from fakebroker import FakeBroker
from tests.support.librdkafka import close

# A real consumer beats as often as the group tells it, every 5 s at Kafka's defaults.
QUICK_GROUPS = {"group.consumer.min.heartbeat.interval.ms": 100, "group.consumer.heartbeat.interval.ms": 100}


class Totals:
    """A service under test: it keeps a total for each partition that it has, and forgets those that it gives up."""

    def __init__(self) -> None:
        self.totals: dict[int, int] = {}
        self.given_up: list[int] = []

    def follow(self, source: Any) -> None:
        """A consumer reports partitions here."""
        source.subscribe(["orders"], on_assign=self._assigned, on_revoke=self._revoked)

    def poll(self, source: Any) -> None:
        """Count a message, if there is one."""
        message = source.poll(0.05)
        if message is not None and message.error() is None:
            self.totals[message.partition()] += 1

    def _assigned(self, source: Any, partitions: list[Any]) -> None:
        self.totals |= {each.partition: 0 for each in partitions}
        source.incremental_assign(partitions)

    def _revoked(self, source: Any, partitions: list[Any]) -> None:
        for each in partitions:
            self.given_up.append(each.partition)
            del self.totals[each.partition]
        source.incremental_unassign(partitions)


@pytest.mark.clients
def test_a_service_forgets_only_what_moves(fakebroker_factory: Callable[..., FakeBroker]) -> None:
    """A second instance takes two of four partitions over; the first never stops counting the other two."""
    broker = fakebroker_factory(config=QUICK_GROUPS)
    broker.create_topic("orders", partitions=4)
    first, second = Totals(), Totals()
    group = broker.group("totals")
    with _consumer(broker, "first") as one, _consumer(broker, "second") as two:
        first.follow(one)
        while not group.is_reconciled:
            first.poll(one)
        second.follow(two)
        while len(second.totals) < 2 or not group.is_reconciled:
            first.poll(one)
            second.poll(two)

        assert first.given_up == sorted(second.totals)
        assert sorted([*first.totals, *second.totals]) == [0, 1, 2, 3]
        states = [each.after for each in group.member_transitions]
        assert "UnrevokedPartitions" in states
        assert states[-1] == "Stable"


@contextmanager
def _consumer(broker: FakeBroker, client_id: str) -> Iterator[Any]:
    """A consumer of the new protocol, which has neither a session timeout nor a heartbeat interval of its own."""
    import confluent_kafka

    settings = {
        "bootstrap.servers": broker.bootstrap,
        "group.id": "totals",
        "client.id": client_id,
        "group.protocol": "consumer",
        "auto.offset.reset": "earliest",
    }
    found = confluent_kafka.Consumer(settings)
    try:
        yield found
    finally:
        close(found)


def test_a_pod_that_restarts_in_time_keeps_its_partitions(fakebroker: FakeBroker) -> None:
    """Static membership: nobody else gets them while it is away, and the group epoch stays; after 45 s it is over."""
    fakebroker.create_topic("orders", partitions=4)
    pod, other = fakebroker.client("pod"), fakebroker.client("other")
    pod.join_consumer_group("billing", ["orders"], group_instance_id="pod-0")
    fakebroker.clock.advance(seconds=2)
    other.join_consumer_group("billing", ["orders"])
    pod.consumer_group_heartbeat()
    pod.reconcile()
    other.consumer_group_heartbeat()
    mine = pod.assignment

    pod.leave_consumer_group(is_temporary=True)
    fakebroker.clock.advance(seconds=30, timers=True)
    assert other.consumer_group_heartbeat().assignment is None
    restarted = fakebroker.client("pod")
    restarted.join_consumer_group("billing", ["orders"], group_instance_id="pod-0")
    assert (restarted.assignment, fakebroker.group("billing").epoch) == (mine, 3)

    restarted.leave_consumer_group(is_temporary=True)
    for _ in range(2):
        fakebroker.clock.advance(seconds=30, timers=True)
        other.consumer_group_heartbeat()
    assert other.assignment == {"orders": [0, 1, 2, 3]}


def test_a_poisoned_message_is_given_up_after_five_deliveries(fakebroker: FakeBroker) -> None:
    """Each worker that takes it crashes; then the queue goes on without it."""
    fakebroker.create_topic("jobs").produce("poison")
    admin = fakebroker.client("admin")
    admin.alter_configs("workers", {"share.auto.offset.reset": "earliest"}, kind="group")
    admin.join_share_group("workers", ["jobs"])

    deliveries = []
    for number in range(6):
        worker = fakebroker.client(f"worker-{number}")
        records = worker.share_fetch([("jobs", 0)], group_id="workers")
        deliveries += [record.delivery_count for record in records]
        fakebroker.clock.advance(seconds=31, timers=True)

    assert deliveries == [1, 2, 3, 4, 5]
    fakebroker.topic("jobs").produce("good")
    worker = fakebroker.client("last")
    assert [record.value for record in worker.share_fetch([("jobs", 0)], group_id="workers")] == [b"good"]

"""Exactly once: a service that copies records with a transactional producer, crashes, and starts again."""

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from fakebroker import FakeBroker
from tests.examples.consumers import consumer


class Copier:
    """A service under test: it copies orders to bills, each with the offset of its order in one transaction."""

    def __init__(self, bootstrap: str) -> None:
        from confluent_kafka import Producer

        self._bootstrap = bootstrap
        self._producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "copier"})
        self._producer.init_transactions()

    def copy(self, orders: Any, count: int, *, crashes: bool = False) -> None:
        """Copy so many orders, one transaction each; `crashes` before the commit of the last."""
        from confluent_kafka import TopicPartition

        for number in range(1, count + 1):
            order = orders.poll(10)
            self._producer.begin_transaction()
            self._producer.produce("bills", order.value().upper())
            self._producer.send_offsets_to_transaction(
                [TopicPartition("orders", order.partition(), order.offset() + 1)], orders.consumer_group_metadata()
            )
            if crashes and number == count:
                self._producer.flush()
                return
            self._producer.commit_transaction()


@contextlib.contextmanager
def orders_of(broker: FakeBroker) -> Iterator[Any]:
    """A consumer of the topic "orders" in the group "copiers"."""
    with consumer(broker.bootstrap, "copiers", "orders") as found:
        yield found


@pytest.mark.clients
def test_a_crash_in_a_transaction_copies_nothing_twice(fakebroker: FakeBroker) -> None:
    """What the crashed service left open is aborted when it starts again, and its order is copied by the next one."""
    fakebroker.create_topic("orders").produce("a", "b", "c")
    fakebroker.create_topic("bills")
    with orders_of(fakebroker) as orders:
        Copier(fakebroker.bootstrap).copy(orders, 2, crashes=True)

    copier = fakebroker.transaction("copier")
    assert copier.state == "Ongoing"
    (pending,) = fakebroker.group("copiers").explain().pending
    assert (pending.offset, pending.transactional_id) == (2, "copier")
    restarted = Copier(fakebroker.bootstrap)
    assert fakebroker.group("copiers").offsets == {("orders", 0): 1}
    with orders_of(fakebroker) as orders:
        restarted.copy(orders, 2)

    committed = fakebroker.client("reader").fetch("bills", 0, 0, isolation_level=1)
    assert [record.value for record in committed] == [b"A", b"B", b"C"]
    assert [record.value for record in fakebroker.topic("bills").records()] == [b"A", b"B", b"B", b"C"]
    assert fakebroker.group("copiers").offsets == {("orders", 0): 3}


@pytest.mark.clients
def test_a_service_that_never_comes_back_holds_up_readers_until_its_timeout(fakebroker: FakeBroker) -> None:
    """The clock of the test lets the coordinator abort what is left open."""
    fakebroker.create_topic("orders").produce("a")
    fakebroker.create_topic("bills")
    with orders_of(fakebroker) as orders:
        Copier(fakebroker.bootstrap).copy(orders, 1, crashes=True)
    fakebroker.topic("bills").produce("plain")
    reader = fakebroker.client("reader")
    assert reader.fetch("bills", 0, 0, isolation_level=1) == []

    fakebroker.clock.advance(minutes=2)

    assert fakebroker.transaction("copier").state == "CompleteAbort"
    assert [record.value for record in reader.fetch("bills", 0, 0, isolation_level=1)] == [b"plain"]

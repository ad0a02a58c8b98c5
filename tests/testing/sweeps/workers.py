"""An application as teams write them: it sums up orders, three to a row of a table. Two ways to write it are wrong."""

import importlib
import time
from contextlib import suppress
from typing import Any

from fakebroker import FakeBroker
from tests.support.librdkafka import close

AMOUNTS = [1, 2, 4, 8, 16, 32, 64, 128, 256]
PER_ROW = 3
PATIENCE_S = 20.0
IDLE_S = 0.5  # after the last order, which ends a row: what is not in the table by then was lost
QUICK: dict[str, Any] = {
    "heartbeat.interval.ms": 5,
    "fetch.wait.max.ms": 20,
    "max.partition.fetch.bytes": 1,  # one batch with each Fetch
    "queued.min.messages": 1,
    "fetch.queue.backoff.ms": 0,
    "reconnect.backoff.ms": 10,
    "reconnect.backoff.max.ms": 50,
    "retry.backoff.ms": 10,
    "retry.backoff.max.ms": 50,
    "fetch.error.backoff.ms": 10,
    "topic.metadata.refresh.fast.interval.ms": 10,
    "log_level": 0,
}


class Worker:
    """Reads orders, writes the sum of every three to `table` by the offset of the first, and commits after each order.

    It commits where the row begins that is not in the table yet. `commits_first`: it commits what it has read, in the
    table or not. `keeps_rows`: it keeps the row that it has begun when a rebalance takes its partitions away, although
    it is given those orders again.
    """

    def __init__(self, bootstrap: str, table: dict[int, int], *, commits_first: bool = False, keeps_rows: bool = False):
        self._kafka = importlib.import_module("confluent_kafka")
        self._table = table
        self._commits_first = commits_first
        self._keeps_rows = keeps_rows
        self._row: list[Any] = []
        self.last_order_s: float | None = None  # when it last had the last of all orders
        self._consumer = self._kafka.Consumer(
            {"bootstrap.servers": bootstrap, "group.id": "billing", "client.id": "worker", "enable.auto.commit": False,
             "auto.offset.reset": "earliest", **QUICK}
        )  # fmt: skip
        self._consumer.subscribe(["orders"], on_revoke=self._on_revoke, on_lost=self._on_revoke)

    def work(self) -> None:
        """Take one order, if there is one."""
        order = self._consumer.poll(0.05)
        if order is None or order.error() is not None:
            return
        if order.offset() == len(AMOUNTS) - 1:
            self.last_order_s = time.monotonic()
        self._row.append(order)
        if len(self._row) == PER_ROW:
            self._table[self._row[0].offset()] = sum(int(each.value()) for each in self._row)
            self._row.clear()
        is_done = self._commits_first or not self._row
        self._commit(order.offset() + 1 if is_done else self._row[0].offset())

    @property
    def is_idle(self) -> bool:
        """Whether nothing has come for a time after the last of all orders."""
        return self.last_order_s is not None and time.monotonic() > self.last_order_s + IDLE_S

    def close(self) -> None:
        close(self._consumer)

    def _commit(self, offset: int) -> None:
        """A commit that fails is no harm by itself: the orders since the last one come again."""
        with suppress(self._kafka.KafkaException):
            self._consumer.commit(offsets=[self._kafka.TopicPartition("orders", 0, offset)], asynchronous=False)

    def _on_revoke(self, _consumer: Any, _partitions: Any) -> None:
        if not self._keeps_rows:
            self._row.clear()


def every_order_is_summed_up(broker: FakeBroker, **bugs: bool) -> None:
    """The test that is swept: all orders are in the table, each once."""
    orders = broker.create_topic("orders")
    for amount in AMOUNTS:
        orders.produce(str(amount).encode())
    table: dict[int, int] = {}
    worker = Worker(broker.bootstrap, table, **bugs)
    try:
        deadline = time.monotonic() + PATIENCE_S
        while sum(table.values()) < sum(AMOUNTS) and not worker.is_idle and time.monotonic() < deadline:
            worker.work()
    finally:
        worker.close()
    assert table == {0: 7, 3: 56, 6: 448}

"""An application as teams write them: it sums up orders, three to a row of a table. Two ways to write it are wrong."""

import importlib
import time
from contextlib import suppress
from typing import Any

from fakebroker import FakeBroker

AMOUNTS = [1, 2, 4, 8, 16, 32, 64, 128, 256]
PER_ROW = 3
ORDER_S = 0.01  # how long the work for one order takes: time for a rebalance to come in between
PATIENCE_S = 10.0
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
    """Reads orders, writes the sum of every three to `table` by the offset of the first, and commits.

    `commits_first`: it commits what it has read before it is in the table. `keeps_rows`: it keeps a row that it has
    begun when a rebalance takes its partitions away, although it is given those orders again.
    """

    def __init__(self, bootstrap: str, table: dict[int, int], *, commits_first: bool = False, keeps_rows: bool = False):
        self._kafka = importlib.import_module("confluent_kafka")
        self._table = table
        self._commits_first = commits_first
        self._keeps_rows = keeps_rows
        self._row: list[Any] = []
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
        time.sleep(ORDER_S)
        self._row.append(order)
        if self._commits_first:
            self._commit(order)
        if len(self._row) == PER_ROW:
            row, self._row = self._row, []
            self._table[row[0].offset()] = sum(int(each.value()) for each in row)
            if not self._commits_first:
                self._commit(order)

    def close(self) -> None:
        self._consumer.close()

    def _commit(self, order: Any) -> None:
        """A commit that fails is no harm by itself: the orders since the last one come again."""
        with suppress(self._kafka.KafkaException):
            self._consumer.commit(message=order, asynchronous=False)

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
        while sum(table.values()) < sum(AMOUNTS) and time.monotonic() < deadline:
            worker.work()
    finally:
        worker.close()
    assert table == {0: 7, 3: 56, 6: 448}

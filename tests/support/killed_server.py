"""`fakebroker serve --data` in a process that is killed and started again on the same port, and what a client got."""

import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import confluent_kafka

PATIENCE_S = 60
TRY_S = 3  # librdkafka may wait for a connection that a kill has ended, unless it is asked again
QUICK = {"reconnect.backoff.ms": 10, "reconnect.backoff.max.ms": 50, "retry.backoff.ms": 10}
TOPIC, GROUP = "orders", "billing"


class KilledServer:
    """A broker process on one data directory; `kill` ends it with SIGKILL, `start` brings it back."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.port = 0
        self.log = ""
        self._process: subprocess.Popen[str] | None = None

    @property
    def bootstrap(self) -> str:
        """What clients connect to."""
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, on the port that it had before."""
        listen, topic = f"127.0.0.1:{self.port}", f"{TOPIC}:2:segment.bytes=1048576"
        command = [sys.executable, "-m", "fakebroker", "serve", "--listen", listen, "--data", str(self.data)]
        settings = ["--config", "group.initial.rebalance.delay.ms=0", "--config", "offsets.topic.num.partitions=3"]
        self._process = subprocess.Popen(
            [*command, "--topic", topic, *settings], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise AssertionError(f"the broker did not start: {self._process.communicate()[1]}")
        self.port = int(line.rpartition(":")[2])

    def kill(self) -> None:
        """End it at once."""
        self.end(signal.SIGKILL)

    def end(self, number: int = signal.SIGTERM) -> int:
        """End it by a signal; its exit status."""
        assert self._process is not None
        self._process.send_signal(number)
        self.log += self._process.communicate(timeout=PATIENCE_S)[1] or ""
        return self._process.returncode


def _retried(call: Callable[[], object]) -> None:
    """Call again while the error is one that may go away, for PATIENCE_S."""
    for _ in range(PATIENCE_S // TRY_S):
        try:
            call()
        except confluent_kafka.KafkaException as error:
            if not error.args[0].retriable():
                raise
        else:
            return
    raise AssertionError("the broker does not answer")


class Load:
    """A client whose transactions write two records, each followed by a commit of a group; it goes on after a kill.

    `committed` has the numbers of the transactions that were acknowledged, `refused` those that were aborted; of the
    others it is not known. `delivered` are the values of single records that were acknowledged.
    """

    def __init__(self, server: KilledServer) -> None:
        self.committed: list[int] = []
        self.refused: list[int] = []
        self.delivered: list[bytes] = []
        self.offset = -1001  # of the group, that was acknowledged last
        self._server = server
        self._next = 0
        self._transactional = self._new_transactional()
        self._single = confluent_kafka.Producer(
            {"bootstrap.servers": server.bootstrap, "enable.idempotence": True, "linger.ms": 0, **QUICK}
        )
        self._consumer = confluent_kafka.Consumer(
            {"bootstrap.servers": server.bootstrap, "group.id": GROUP, "enable.auto.commit": False, **QUICK}
        )

    def _new_transactional(self) -> confluent_kafka.Producer:
        settings = {"bootstrap.servers": self._server.bootstrap, "transactional.id": "load", "linger.ms": 0}
        producer = confluent_kafka.Producer({**settings, "transaction.timeout.ms": 60_000, **QUICK})
        _retried(lambda: producer.init_transactions(TRY_S))
        return producer

    def run(self, transactions: int, before: Callable[[int], object]) -> None:
        """Do so many transactions; `before` is called with the number of each when it has begun."""
        for _ in range(transactions):
            self._next += 1
            self._single.produce(TOPIC, b"single %d" % self._next, partition=self._next % 2, on_delivery=self._report)
            try:
                self._transaction(self._next, before)
            except confluent_kafka.KafkaException as error:
                self._recover(error)
        assert self._single.flush(PATIENCE_S) == 0

    def _transaction(self, number: int, before: Callable[[int], object]) -> None:
        producer = self._transactional
        producer.begin_transaction()
        for partition in (0, 1):
            producer.produce(TOPIC, b"transaction %d" % number, partition=partition)
        before(number)
        _retried(lambda: producer.commit_transaction(TRY_S))
        self.committed.append(number)
        offsets = [confluent_kafka.TopicPartition(TOPIC, 0, number)]
        _retried(lambda: self._consumer.commit(offsets=offsets, asynchronous=False))
        self.offset = number

    def _recover(self, error: confluent_kafka.KafkaException) -> None:
        """Abort if that is possible, else begin anew, which aborts what was open."""
        if error.args[0].txn_requires_abort():
            try:
                _retried(lambda: self._transactional.abort_transaction(TRY_S))
                self.refused.append(self._next)
                return
            except confluent_kafka.KafkaException:
                pass
        self._transactional = self._new_transactional()

    def _report(self, error: Any, message: Any) -> None:
        if error is None:
            self.delivered.append(message.value())

    def check(self) -> None:
        """Everything acknowledged is there once, nothing that was aborted is."""
        values = Counter(self._read())
        assert [value for value in self.delivered if values[value] != 1] == []
        counts = {number: values[b"transaction %d" % number] for number in range(1, self._next + 1)}
        assert [number for number in self.committed if counts[number] != 2] == []
        assert [number for number in self.refused if counts[number] != 0] == []
        assert set(counts.values()) <= {0, 2}
        (committed,) = self._consumer.committed([confluent_kafka.TopicPartition(TOPIC, 0)], PATIENCE_S)
        assert committed.offset == self.offset

    def _read(self) -> list[bytes]:
        """The values of all committed records."""
        settings = {"bootstrap.servers": self._server.bootstrap, "group.id": "reader", "enable.partition.eof": True}
        reader = confluent_kafka.Consumer({**settings, "isolation.level": "read_committed", **QUICK})
        reader.assign([confluent_kafka.TopicPartition(TOPIC, partition, 0) for partition in (0, 1)])
        values: list[bytes] = []
        ended: set[int | None] = set()
        while len(ended) < 2:
            message = reader.poll(PATIENCE_S)
            assert message is not None
            error = message.error()
            if error is None:
                values.append(message.value() or b"")
            elif error.code() == confluent_kafka.KafkaError._PARTITION_EOF:
                ended.add(message.partition())
        reader.close()
        return values

    def close(self) -> None:
        """Leave."""
        self._consumer.close()

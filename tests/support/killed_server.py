"""`fakebroker serve --data` in a process that is killed and started again on the same port, and what a client got."""

import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import confluent_kafka
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

PATIENCE_S = 120
TRY_S = 3  # librdkafka may wait for a connection that a kill has ended, unless it is asked again
QUICK: dict[str, str | int | float] = {
    "reconnect.backoff.ms": 10,
    "reconnect.backoff.max.ms": 50,
    "retry.backoff.ms": 10,
    # When all brokers are gone librdkafka 2.16 begins with the bootstrap servers anew, but still waits for the broker
    # that it had before to commit offsets in a transaction, for ever.
    "metadata.recovery.strategy": "none",
}
TOPIC, LATEST, RECENT = "orders", "latest", "recent"
GROUP, STREAM = "billing", "stream"
SEGMENT = "segment.bytes=1048576"
TOPICS = (
    f"{TOPIC}:2:{SEGMENT}",
    f"{LATEST}:1:{SEGMENT},cleanup.policy=compact,min.cleanable.dirty.ratio=0.01",
    f"{RECENT}:1:{SEGMENT},retention.bytes=2097152",
)
SETTINGS = {
    "group.initial.rebalance.delay.ms": 0,
    "offsets.topic.num.partitions": 3,
    "transaction.state.log.num.partitions": 3,
    "log.cleaner.backoff.ms": 200,
    "log.retention.check.interval.ms": 200,
    "log.initial.task.delay.ms": 100,
    "log.flush.offset.checkpoint.interval.ms": 300,
}
MANY_BYTES = 150_000  # of the records that fill segments
KEYS = 5


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
        command = [sys.executable, "-m", "fakebroker", "serve", "--data", str(self.data)]
        command += ["--listen", f"127.0.0.1:{self.port}"]
        for topic in TOPICS:
            command += ["--topic", topic]
        for name, value in SETTINGS.items():
            command += ["--config", f"{name}={value}"]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
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


class Stage(Enum):
    """Where a round of the load is when the server may be killed: something was asked for and is not answered."""

    RECORDS = "records of a transaction"
    OFFSETS = "offsets of a transaction"
    COMMIT = "the end of a transaction"
    TOPICS = "a new topic, and the end of another"
    LARGE = "records that fill segments"
    GROUP = "the commit of a group"


class Load:
    """A client whose rounds do everything that has to outlive a kill. It goes on after one.

    A round is a transaction of two records and of the offset of a group, which is its number; a commit of another
    group; single records; large ones to a compacted topic and to one with a small retention; and a topic that comes
    while the one before goes.

    Of transactions `committed` has the numbers of those that were acknowledged, `refused` of those that were aborted;
    of the others it is not known. What else was acknowledged: `delivered`, values of single records; `latest`, the
    newest number of each key; `recent`, the newest number; `topics`, whether they are there.
    """

    def __init__(self, server: KilledServer) -> None:
        self.committed: list[int] = []
        self.refused: list[int] = []
        self.delivered: list[bytes] = []
        self.offset = -1001  # of the group, that was acknowledged last
        self.latest: dict[int, int] = {}
        self.recent = 0
        self.topics: dict[str, bool] = {}
        self._server = server
        self._next = 0
        common = {"bootstrap.servers": server.bootstrap, "linger.ms": 0, **QUICK}
        self._transactional = self._new_transactional()
        self._single = confluent_kafka.Producer({**common, "enable.idempotence": True})
        self._plain = confluent_kafka.Producer({**common, "acks": "all", "retries": 1000})
        self._consumer = self._new_consumer(GROUP)
        self._stream = self._new_consumer(STREAM)
        self._admin = AdminClient({"bootstrap.servers": server.bootstrap, **QUICK})

    def _new_transactional(self) -> confluent_kafka.Producer:
        settings = {"bootstrap.servers": self._server.bootstrap, "transactional.id": "load", "linger.ms": 0}
        producer = confluent_kafka.Producer({**settings, "transaction.timeout.ms": 60_000, **QUICK})
        _retried(lambda: producer.init_transactions(TRY_S))
        return producer

    def _new_consumer(self, group_id: str) -> confluent_kafka.Consumer:
        settings = {"bootstrap.servers": self._server.bootstrap, "group.id": group_id, **QUICK}
        return confluent_kafka.Consumer({**settings, "enable.auto.commit": False})

    def run(self, rounds: int, at: Callable[[int, Stage], object]) -> None:
        """Do so many rounds; `at` is called with the number of a round and each of its stages."""
        for _ in range(rounds):
            self._next += 1
            number = self._next
            self._produce_large(number)
            at(number, Stage.LARGE)
            topics = self._change_topics(number)
            at(number, Stage.TOPICS)
            try:
                self._transaction(number, at)
            except confluent_kafka.KafkaException as error:
                self._recover(error)
            self._commit(number, at)
            self._see_topics(topics)
        for producer in (self._single, self._plain):
            assert producer.flush(PATIENCE_S) == 0

    def _produce_large(self, number: int) -> None:
        self._single.produce(TOPIC, b"single %d" % number, partition=number % 2, on_delivery=self._report)
        self._single.produce(TOPIC, b"filling" + bytes(MANY_BYTES), partition=number % 2)
        key, value = number % KEYS, b"%d " % number + bytes(MANY_BYTES)
        self._plain.produce(LATEST, value, key=str(key), partition=0, on_delivery=self._report_latest)
        self._plain.produce(RECENT, value, partition=0, on_delivery=self._report_recent)

    def _transaction(self, number: int, at: Callable[[int, Stage], object]) -> None:
        producer = self._transactional
        producer.begin_transaction()
        for partition in (0, 1):
            producer.produce(TOPIC, b"transaction %d" % number, partition=partition)
        at(number, Stage.RECORDS)
        offsets, group = [confluent_kafka.TopicPartition(TOPIC, 0, number)], self._stream.consumer_group_metadata()
        at(number, Stage.OFFSETS)
        _retried(lambda: producer.send_offsets_to_transaction(offsets, group, TRY_S))
        at(number, Stage.COMMIT)
        _retried(lambda: producer.commit_transaction(TRY_S))
        self.committed.append(number)

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

    def _commit(self, number: int, at: Callable[[int, Stage], object]) -> None:
        offsets = [confluent_kafka.TopicPartition(TOPIC, 0, number)]
        at(number, Stage.GROUP)
        _retried(lambda: self._consumer.commit(offsets=offsets, asynchronous=False))
        self.offset = number

    def _change_topics(self, number: int) -> dict[str, tuple[bool, Any]]:
        """Ask for a topic, and for the end of the one before: by name whether it is to be there, and the answer."""
        new, old = f"t{number}", f"t{number - 1}"
        changes = {new: (True, self._admin.create_topics([NewTopic(new, 2)], request_timeout=TRY_S)[new])}
        if self.topics.get(old):
            changes[old] = False, self._admin.delete_topics([old], request_timeout=TRY_S)[old]
        return changes

    def _see_topics(self, changes: dict[str, tuple[bool, Any]]) -> None:
        for name, (is_there, answer) in changes.items():
            try:
                answer.result(PATIENCE_S)
                self.topics[name] = is_there
            except confluent_kafka.KafkaException:
                self.topics.pop(name, None)  # it is not known

    def _report(self, error: Any, message: Any) -> None:
        if error is None:
            self.delivered.append(message.value())

    def _report_latest(self, error: Any, message: Any) -> None:
        if error is None:
            number = _number(message)
            self.latest[number % KEYS] = max(number, self.latest.get(number % KEYS, 0))

    def _report_recent(self, error: Any, message: Any) -> None:
        if error is None:
            self.recent = max(_number(message), self.recent)

    def check(self) -> None:
        """Everything acknowledged is there once, nothing that was aborted or deleted is."""
        values = Counter(message.value() for message in self._read(TOPIC, 2))
        assert [value for value in self.delivered if values[value] != 1] == []
        counts = {number: values[b"transaction %d" % number] for number in range(1, self._next + 1)}
        assert [number for number in self.committed if counts[number] != 2] == []
        assert [number for number in self.refused if counts[number] != 0] == []
        assert set(counts.values()) <= {0, 2}
        assert self._committed_offset(self._consumer) == self.offset
        assert self._committed_offset(self._stream) == max(number for number in counts if counts[number] == 2)
        newest = {int(message.key()): _number(message) for message in self._read(LATEST, 1)}
        assert [key for key, number in self.latest.items() if newest.get(key, 0) < number] == []
        assert self.recent in [_number(message) for message in self._read(RECENT, 1)]
        present = set(self._admin.list_topics(timeout=PATIENCE_S).topics)
        assert [name for name, is_there in self.topics.items() if is_there != (name in present)] == []

    @staticmethod
    def _committed_offset(consumer: confluent_kafka.Consumer) -> int:
        (committed,) = consumer.committed([confluent_kafka.TopicPartition(TOPIC, 0)], PATIENCE_S)
        return int(committed.offset)

    def _read(self, topic: str, partitions: int) -> Iterator[Any]:
        """All committed records."""
        settings = {"bootstrap.servers": self._server.bootstrap, "group.id": "reader", "enable.partition.eof": True}
        reader = confluent_kafka.Consumer(
            {**settings, "isolation.level": "read_committed", "auto.offset.reset": "earliest", **QUICK}
        )
        beginning = confluent_kafka.OFFSET_BEGINNING
        reader.assign([confluent_kafka.TopicPartition(topic, each, beginning) for each in range(partitions)])
        ended: set[int | None] = set()
        while len(ended) < partitions:
            message = reader.poll(PATIENCE_S)
            assert message is not None
            error = message.error()
            if error is None:
                yield message
            elif error.code() == confluent_kafka.KafkaError._PARTITION_EOF:
                ended.add(message.partition())
        reader.close()

    def close(self) -> None:
        """Leave."""
        self._consumer.close()
        self._stream.close()


def _number(message: Any) -> int:
    return int(bytes(message.value()).partition(b" ")[0])

"""Show that Kafka answers a transactional Produce by the version of another producer's Produce.

    python -m tools.found.mixed_produce_versions HOST:PORT

Two producers write outside of a transaction, one with Produce v10 and one with v11, each after an InitProducerId. The
answer to v11 is TRANSACTION_ABORTABLE (120), that to v10 INVALID_TXN_STATE (48). When both ask the transaction
coordinator at the same moment, the broker verifies both partitions in one request to it, and answers both by the
version that came first.
"""

import sys
import time
import uuid
from collections import Counter
from threading import Barrier, Thread

from fakebroker.client.connection import ClientConnection
from fakebroker.client.requesting import Requesting
from fakebroker.client.scripted.tcp_driver import TcpDriver
from fakebroker.scenarios.dialogue.batches import build_unchecked_batch

ROUNDS = 400
VERSIONS = (10, 11)
TOPIC = f"mixed-{uuid.uuid4().hex[:8]}"
_ANSWER_MS = 20_000


class Producer(Requesting):
    """A transactional producer on a connection of its own."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__("mixed-produce-versions")
        self._driver = TcpDriver(host, port)
        self.connection = ClientConnection("mixed-produce-versions")
        self._driver.open(self.connection)
        self.transactional_id = f"{TOPIC}-{uuid.uuid4().hex[:8]}"

    def get(self, name: str, version: int, **fields: object):  # type: ignore[no-untyped-def]
        """Ask, and wait for the answer."""
        flow = self.request(name, version, **fields)
        pending = next(flow)
        self._driver.flush(self.connection)
        self._driver.pass_time(_ANSWER_MS, lambda: pending.is_done)
        return pending.result()

    def producer_id(self) -> tuple[int, int]:
        """A producer id with its epoch."""
        while True:
            made = self.get("InitProducerId", 4, transactional_id=self.transactional_id, transaction_timeout_ms=60_000)
            if not made.error_code:
                return made.producer_id, made.producer_epoch
            time.sleep(0.1)

    def produce(self, version: int, pid: int, epoch: int, partition: int) -> int:
        """The error code of a transactional batch outside of a transaction."""
        now_ms = time.time_ns() // 1_000_000
        batch = build_unchecked_batch(now_ms, pid=pid, epoch=epoch, seq=0, attributes=16, timestamp="now")
        topic = {"name": TOPIC, "partition_data": [{"index": partition, "records": batch}]}
        answer = self.get(
            "Produce", version, transactional_id=self.transactional_id, acks=-1, timeout_ms=5000, topic_data=[topic]
        )
        return int(answer.responses[0].partition_responses[0].error_code)


def main(address: str) -> None:
    """Write at the same moment from both, ROUNDS times; print the error codes by version."""
    host, _, port = address.rpartition(":")
    owner = Producer(host, int(port))
    owner.get(
        "CreateTopics", 4, topics=[{"name": TOPIC, "num_partitions": 2, "replication_factor": 1}], timeout_ms=9000
    )
    owner.get("FindCoordinator", 2, key=TOPIC, key_type=1)
    barrier = Barrier(len(VERSIONS))
    codes: dict[int, Counter[int]] = {version: Counter() for version in VERSIONS}

    def write(version: int, partition: int) -> None:
        producer = Producer(host, int(port))
        pid, epoch = producer.producer_id()
        for _ in range(ROUNDS):
            barrier.wait()
            codes[version][producer.produce(version, pid, epoch, partition)] += 1

    threads = [Thread(target=write, args=(version, partition)) for partition, version in enumerate(VERSIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for version, counted in codes.items():
        print(f"Produce v{version}: {dict(counted)}")


if __name__ == "__main__":
    main(sys.argv[1])

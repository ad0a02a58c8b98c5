"""A directory that fakebroker has written, in the hands of Kafka 4.3.1: its tools read it, and it starts on it."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from time import time
from typing import Any

from fakebroker import VirtualBroker
from fakebroker.client.scripted.scripted_client import ScriptedClient, ScriptedClients
from fakebroker.client.scripted.tcp_driver import TcpDriver
from tests.support.data_directories import Life
from tests.support.real_kafka import JAVA, kafka_on, needs_real_kafka

pytestmark = needs_real_kafka

COMPLAINTS = re.compile(
    r"mismatch|isvalid: false|out of order|not found|unexpected|exception|corrupt|invalid", re.IGNORECASE
)
SETTINGS = {"segment.bytes": 1_048_576, "index.interval.bytes": 4096}


def lived(path: Path) -> Life:
    """A directory with several segments, transactions, groups, a compacted topic and deleted records."""
    now_ms = int(time() * 1000)  # Kafka's retention goes by the machine's time
    life = Life(path, start_wall_ms=now_ms)
    life.broker.create_topic("orders", config=SETTINGS)
    life.broker.create_topic("compacted", config={**SETTINGS, "cleanup.policy": "compact"})
    client = life.client
    for n in range(7):
        client.produce("orders", 0, [(b"k%d" % n, b"v" * 300_000)], now_ms + n)
        client.produce("compacted", 0, [(b"k%d" % (n % 2), b"v" * 300_000)], now_ms + n)
    producer = life.broker.client("producer")
    producer.init_producer_id("t")
    for commits in (False, True, False):
        producer.produce("orders", 0, [b"in transaction"] * 2, now_ms, transactional=True)
        producer.commit_transaction() if commits else producer.abort_transaction()
    life.broker.client("idempotent").init_producer_id()
    client.commit({("orders", 0): 5, ("compacted", 0): 2}, group_id="billing")
    life.broker.client("member").join("workers", ["orders"])
    client.delete_records("orders", 0, 2)
    life.broker.clock.advance(minutes=1)
    return life


def test_every_file_is_read_by_its_tool(tmp_path: Path) -> None:
    """kafka-dump-log reads logs, indexes and snapshots of producers, and finds nothing wrong."""
    life = lived(tmp_path / "data")
    life.broker.stop()
    suffixes = ("log", "index", "timeindex", "txnindex", "snapshot")
    files = [str(path) for suffix in suffixes for path in sorted(life.path.glob(f"*/*.{suffix}"))]
    command = [*JAVA, "org.apache.kafka.tools.DumpLogSegments", "--deep-iteration", "--files", ",".join(files)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120)
    metadata = life.path / "__cluster_metadata-0" / "00000000000000000000.log"
    decoded = subprocess.run(
        [*command[:-3], "--cluster-metadata-decoder", "--files", str(metadata)], capture_output=True, text=True
    )

    assert run.returncode == decoded.returncode == 0, run.stderr + decoded.stderr
    assert len(files) > 20
    assert [line for line in run.stdout.splitlines() if COMPLAINTS.search(line)] == []
    assert run.stdout.count("Dumping ") == len(files)
    assert '"type":"TOPIC_RECORD","version":0,"data":{"name":"orders"' in decoded.stdout
    assert COMPLAINTS.search(decoded.stdout) is None


def test_kafka_starts_on_it(tmp_path: Path) -> None:
    """A Kafka answers for topics, records and offsets as the broker did; when it was killed, the broker goes on."""
    life = lived(tmp_path / "data")
    expected = answers(life.broker.client("reader"))
    life.broker.stop()

    with kafka_on(tmp_path, life.path) as kafka:
        clients = ScriptedClients(TcpDriver(kafka.host, kafka.port))
        client = clients.client("reader")
        assert answers(client) == expected
        client.produce("orders", 0, [(b"k", b"by Kafka")], int(time() * 1000))
        client.commit({("orders", 0): 6}, group_id="billing")
        of_kafka = answers(client)
        clients.close()

    with VirtualBroker(data=life.path, **life.options) as broker:
        assert answers(broker.client("reader")) == of_kafka
        assert [record.value for record in broker.topic("orders").records()][-1] == b"by Kafka"


def answers(client: ScriptedClient) -> dict[str, Any]:
    """What a client reads of topics, records, offsets by kind, and groups."""
    found: dict[str, Any] = {}
    for name in ("orders", "compacted"):
        (topic,) = client.metadata(topics=[name]).topics
        found[name] = topic.topic_id, len(topic.partitions)
        for at in ("earliest", "latest"):
            found[f"{name} {at}"] = offset_of(client, name, at)
        found[f"{name} records"] = list(records_of(client, name))
    found["by time"] = offset_of(client, "orders", 0)  # of a compacted topic Kafka misses some (LO-12)
    found["committed"] = sorted(map(repr, client.committed("billing").topics))
    return found


def offset_of(client: ScriptedClient, topic: str, at: str | int) -> int:
    """The offset that ListOffsets finds."""
    return int(client.list_offsets(topic, 0, at).topics[0].partitions[0][4])


def records_of(client: ScriptedClient, topic: str) -> Iterator[tuple[int, bytes | None, bytes | None]]:
    """Offset, key and value of all committed records of a partition."""
    offset, end = offset_of(client, topic, "earliest"), offset_of(client, topic, "latest")
    while offset < end:
        records = client.fetch(topic, 0, offset, isolation_level=1)
        yield from ((each.offset, each.key, each.value) for each in records)
        offset = records[-1].offset + 1 if records else offset + 1

"""Real clients that want what is not served: the log says so, where the client itself says little or nothing."""

import asyncio
import importlib
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from fakebroker import FakeBroker

pytestmark = [
    pytest.mark.clients,
    pytest.mark.filterwarnings("ignore"),  # what the libraries warn of at import is not ours to mend
]

JARS = Path(__file__).resolve().parents[2] / ".java" / "lib"
TRANSACTIONAL = [
    'client "svc-1" asked for FindCoordinator of a transactional id: transactions are not served yet',
    'client "svc-1" asked for InitProducerId with a transactional id: transactions are not served yet',
]


def warnings(broker: FakeBroker) -> list[str]:
    """What the broker warned of, without addresses and from the second clause on."""
    lines = []
    for line in broker.call(lambda: list(broker.engine.unserved.lines)):
        who, _, rest = line.partition(" (127.0.0.1:")
        lines.append(f"{who} {rest.partition(') ')[2].partition(';')[0]}")
    return lines


def wait_for_warnings(broker: FakeBroker, count: int) -> list[str]:
    broker.wait(lambda: len(broker.engine.unserved.lines) >= count or None, 20, lambda: "no warning")
    return warnings(broker)


def confluent_producer(bootstrap: str) -> None:
    kafka = importlib.import_module("confluent_kafka")
    producer = kafka.Producer(
        {"bootstrap.servers": bootstrap, "client.id": "svc-1", "transactional.id": "tx", "log_level": 0}
    )
    with pytest.raises(kafka.KafkaException):
        producer.init_transactions(1)


def kafka_python_producer(bootstrap: str) -> None:
    kafka = importlib.import_module("kafka")
    producer = kafka.KafkaProducer(
        bootstrap_servers=bootstrap, client_id="svc-1", transactional_id="tx", max_block_ms=1_000
    )
    with pytest.raises(kafka.errors.KafkaTimeoutError):
        producer.init_transactions()
    producer.close(timeout=0)


def aiokafka_producer(bootstrap: str) -> None:
    async def start() -> None:
        kafka = importlib.import_module("aiokafka")
        producer = kafka.AIOKafkaProducer(bootstrap_servers=bootstrap, client_id="svc-1", transactional_id="tx")
        starting = asyncio.create_task(producer.start())
        done, _ = await asyncio.wait([starting], timeout=1)
        assert not done
        starting.cancel()
        await asyncio.wait([starting])
        await producer.stop()

    asyncio.run(start())


@pytest.mark.parametrize("producer", [confluent_producer, kafka_python_producer, aiokafka_producer])
def test_a_transactional_producer(
    producer: Callable[[str], None], fakebroker: FakeBroker, caplog: pytest.LogCaptureFixture
) -> None:
    """Each tries over and over, with errors that say nothing of transactions; the broker's log does, twice."""
    producer(fakebroker.bootstrap)
    assert wait_for_warnings(fakebroker, 2) == TRANSACTIONAL
    assert len([m for m in caplog.messages if "docs/not-implemented.md" in m]) == 2


@pytest.mark.timeout(90)
@pytest.mark.java
@pytest.mark.skipif(
    shutil.which("java") is None or not list(JARS.glob("kafka-clients-*.jar")),
    reason="needs java on the PATH and the jars that `make setup-java` fetches",
)
def test_a_transactional_java_producer(fakebroker: FakeBroker) -> None:
    """Kafka's own, by way of its performance tool."""
    command = ["java", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off", "-cp", f"{JARS}/*"]
    command += [
        "org.apache.kafka.tools.ProducerPerformance",
        "--topic",
        "t",
        "--num-records",
        "1",
        "--record-size",
        "1",
    ]
    command += ["--throughput", "-1", "--transactional-id", "tx", "--producer-props", "client.id=svc-1"]
    command += ["max.block.ms=5000", f"bootstrap.servers={fakebroker.bootstrap}"]
    subprocess.run(command, capture_output=True, timeout=80, check=False)
    assert wait_for_warnings(fakebroker, 2) == TRANSACTIONAL


def test_a_librdkafka_consumer_of_the_new_protocol(fakebroker: FakeBroker) -> None:
    """It waits for ever without an error; a consumer that assigns its partitions itself is not suspected."""
    kafka = importlib.import_module("confluent_kafka")
    fakebroker.create_topic("t")
    options = {"bootstrap.servers": fakebroker.bootstrap, "group.id": "g", "log_level": 0}
    ordinary = kafka.Consumer({**options, "client.id": "ordinary"})
    ordinary.assign([kafka.TopicPartition("t", 0, 0)])
    stuck = kafka.Consumer({**options, "client.id": "svc-1", "group.protocol": "consumer"})
    stuck.subscribe(["t"])
    (line,) = wait_for_warnings(fakebroker, 1)
    assert line.startswith('client "svc-1" asked for FindCoordinator of group "g" several times')
    assert "KIP-848 is not served yet" in line
    for consumer in (ordinary, stuck):
        consumer.close()
    assert len(warnings(fakebroker)) == 1

"""Kafka's own console tools print against us what they print against Kafka (transcripts recorded from 4.3.1).

And its formatters read our `__consumer_offsets`.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable

import pytest

from fakebroker import FakeBroker
from tests.clients.console import (
    GROUP_STEPS,
    JARS,
    ROOT,
    TOPIC_STEPS,
    TRANSACTION_STEPS,
    Step,
    begin_transactions,
    transcript,
)

MakeBroker = Callable[..., FakeBroker]

pytestmark = [
    pytest.mark.clients,
    pytest.mark.java,
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.skipif(
        shutil.which("java") is None or not list(JARS.glob("kafka-tools-*.jar")),
        reason="KAFKA'S CONSOLE TOOLS ARE NOT TESTED: they need java and the jars that `make setup-java` fetches",
    ),
]


@pytest.mark.parametrize(("name", "steps"), [("groups", GROUP_STEPS), ("topics", TOPIC_STEPS)])
def test_the_tools_print_what_they_print_against_kafka(
    fakebroker_factory: MakeBroker, name: str, steps: list[Step]
) -> None:
    """Listing, describing, resetting and deleting, topics, configs, offsets and records: the same words."""
    broker: FakeBroker = fakebroker_factory()
    expected = (ROOT / "tests" / "data" / "console" / f"{name}.txt").read_text()

    assert "".join(part + "\n" for part in transcript(steps, broker.bootstrap)) == expected


@pytest.mark.rules("DX-1", "DX-2", "DX-3", "DP-1", "WM-4")
def test_the_tool_for_transactions_prints_what_it_prints_against_kafka(
    fakebroker_factory: MakeBroker,
) -> None:
    """Listing, describing, producers, hanging ones, aborting by marker and by the coordinator: the same words."""
    broker: FakeBroker = fakebroker_factory()
    begin_transactions(broker.bootstrap)
    expected = (ROOT / "tests" / "data" / "console" / "transactions.txt").read_text()

    assert "".join(part + "\n" for part in transcript(TRANSACTION_STEPS, broker.bootstrap)) == expected


def test_kafkas_formatter_reads_our_offsets_topic(fakebroker: FakeBroker) -> None:
    """What the Java tools' formatters decode from `__consumer_offsets` is what OffsetFetch answers (CR-4, CR-7)."""
    import confluent_kafka as kafka

    fakebroker.create_topic("orders", partitions=3)
    fakebroker.topic("orders").produce(b"x", partition=1)
    consumer = kafka.Consumer(
        {
            "bootstrap.servers": fakebroker.bootstrap,
            "group.id": "billing",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe(["orders"])
    message = consumer.poll(10)
    assert message is not None
    assert message.value() == b"x"
    consumer.commit(
        offsets=[kafka.TopicPartition("orders", p, 10 + p, metadata=f"note {p}") for p in range(3)], asynchronous=False
    )
    consumer.close()

    offsets = decoded(fakebroker, "org.apache.kafka.tools.consumer.OffsetsMessageFormatter")
    groups = decoded(fakebroker, "org.apache.kafka.tools.consumer.GroupMetadataMessageFormatter")

    seen = {
        (t, int(p)): int(o) for t, p, o in re.findall(r'"topic":"(\w+)","partition":(\d+).*?"offset":(\d+)', offsets)
    }
    assert seen == fakebroker.group("billing").offsets
    # confluent-kafka sends metadata with a zero byte at its end, which we keep as Kafka does
    assert re.findall(r'"metadata":"(note \d)', offsets) == ["note 0", "note 1", "note 2"]
    assert '"group":"billing"' in groups
    assert '"protocolType":"consumer"' in groups


def decoded(broker: FakeBroker, formatter: str) -> str:
    """The whole offsets topic through one of Kafka's formatters."""
    java = ["java", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off", "-cp", f"{JARS}/*"]
    command = [*java, "org.apache.kafka.tools.consumer.ConsoleConsumer", "--bootstrap-server", broker.bootstrap]
    command += ["--topic", "__consumer_offsets", "--from-beginning", "--formatter", formatter, "--timeout-ms", "4000"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    print(done.stderr, file=sys.stderr)
    return done.stdout

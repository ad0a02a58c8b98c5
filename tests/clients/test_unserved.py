"""Real clients that want what is not served: the log says so, where the client itself says little or nothing."""

import importlib

import pytest

from fakebroker import FakeBroker

pytestmark = [
    pytest.mark.clients,
    pytest.mark.filterwarnings("ignore"),  # what the libraries warn of at import is not ours to mend
]


def warnings(broker: FakeBroker) -> list[str]:
    """What the broker warned of, without addresses and from the second clause on."""
    lines = []
    for line in broker._call(lambda: list(broker._engine.unserved.lines)):
        who, _, rest = line.partition(" (127.0.0.1:")
        lines.append(f"{who} {rest.partition(') ')[2].partition(';')[0]}")
    return lines


def wait_for_warnings(broker: FakeBroker, count: int) -> list[str]:
    broker.wait(lambda: len(broker._engine.unserved.lines) >= count or None, 20, lambda: "no warning")
    return warnings(broker)


@pytest.mark.fakebroker(as_release="2.1")
def test_a_librdkafka_consumer_of_the_new_protocol(fakebroker: FakeBroker) -> None:
    """With a release before KIP-848 it waits for ever without an error.

    A consumer that assigns its partitions itself is not suspected.
    """
    kafka = importlib.import_module("confluent_kafka")
    fakebroker.create_topic("t")
    options = {"bootstrap.servers": fakebroker.bootstrap, "group.id": "g", "log_level": 0}
    ordinary = kafka.Consumer({**options, "client.id": "ordinary"})
    ordinary.assign([kafka.TopicPartition("t", 0, 0)])
    stuck = kafka.Consumer({**options, "client.id": "svc-1", "group.protocol": "consumer"})
    stuck.subscribe(["t"])
    (line,) = wait_for_warnings(fakebroker, 1)
    assert line.startswith('client "svc-1" asked for FindCoordinator of group "g" several times')
    assert "does not support KIP-848" in line
    for consumer in (ordinary, stuck):
        consumer.close()
    assert len(warnings(fakebroker)) == 1

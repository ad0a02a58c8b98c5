"""A disk that takes long to flush: which answers wait for it, and which do not."""

from collections.abc import Iterator

import pytest

from fakebroker import VirtualBroker
from fakebroker.client.scripted.scripted_client import ScriptedClient
from fakebroker.protocol.errors import InvalidArgument


@pytest.fixture
def broker() -> Iterator[VirtualBroker]:
    """The disk of its node takes two seconds."""
    with VirtualBroker() as running:
        running.create_topic("flushed", config={"flush.messages": 1})
        running.create_topic("each_third", config={"flush.messages": 3})
        running.create_topic("never")
        running.node(1).slow_disk(2)
        yield running


def took(broker: VirtualBroker, *requests: object) -> float:
    """How long all of some requests wait, in the broker's seconds."""
    before = broker.clock.now_ms / 1000
    for each in requests:
        each.result()  # type: ignore[attr-defined]
    return round(broker.clock.now_ms / 1000 - before, 3)


def produce(client: ScriptedClient, topic: str, count: int = 1, acks: int = -1) -> object:
    return client.start(client.steps.produce(topic, 0, [b"x"] * count, acks=acks))


@pytest.mark.rules("LR-7")
@pytest.mark.parametrize("acks", [-1, 1])
def test_an_append_that_flushes(broker: VirtualBroker, acks: int) -> None:
    """It is answered when the flush has ended; one that does not flush at once."""
    client = broker.client("client")
    assert took(broker, produce(client, "flushed", acks=acks)) == 2
    assert took(broker, produce(client, "never", acks=acks)) == 0
    assert [took(broker, produce(client, "each_third", acks=acks)) for _ in range(6)] == [0, 0, 2, 0, 0, 2]


@pytest.mark.rules("LR-7")
def test_one_after_the_other(broker: VirtualBroker) -> None:
    """Two producers to one log wait for two flushes; those of two logs go on side by side."""
    first, second = broker.client("first"), broker.client("second")
    assert took(broker, produce(first, "flushed"), produce(second, "flushed")) == 4
    assert took(broker, produce(first, "flushed"), produce(second, "each_third", 3)) == 2


@pytest.mark.rules("LR-7")
def test_a_consumer_that_waits(broker: VirtualBroker) -> None:
    """It gets the record when it is flushed."""
    consumer, producer = broker.client("consumer"), broker.client("producer")
    fetch = consumer.start(consumer.steps.fetch("flushed", 0, 0, max_wait_ms=10_000))
    produce(producer, "flushed")
    assert took(broker, fetch) == 2


@pytest.mark.rules("LR-7")
def test_commits() -> None:
    """A commit waits if the broker flushes after each record."""
    with VirtualBroker(config={"log.flush.interval.messages": 1}) as broker:
        broker.create_topic("orders")
        client = broker.client("client")
        client.join("billing", ["orders"])
        client.sync({client.member_id: {"orders": [0]}})
        with broker.node(1).slow_disk(2):
            assert took(broker, client.start(client.steps.commit({("orders", 0): 1}))) == 2
            assert took(broker, client.start(client.steps.heartbeat())) == 0
        assert took(broker, client.start(client.steps.commit({("orders", 0): 2}))) == 0


@pytest.mark.rules("LR-7")
def test_metadata(broker: VirtualBroker) -> None:
    """The controller flushes each change: a topic takes as long to be created."""
    client = broker.client("client")
    before = broker.clock.now_ms / 1000
    topics = [{"name": "new", "num_partitions": 1, "replication_factor": 1}]
    assert client.request("CreateTopics", 7, topics=topics).topics[0].error_code == 0
    assert round(broker.clock.now_ms / 1000 - before, 3) == 2


@pytest.mark.rules("LR-7")
def test_another_directory() -> None:
    """Logs in another directory are not held up."""
    with VirtualBroker(config={"log.dirs": "/a,/b", "log.flush.interval.messages": 1}) as broker:
        broker.create_topic("orders", partitions=2)
        broker.node(1).slow_disk(2, directory="/b")
        client = broker.client("client")
        steps = [client.start(client.steps.produce("orders", partition, [b"x"])) for partition in (0,)]
        assert took(broker, *steps) == 0
        assert took(broker, client.start(client.steps.produce("orders", 1, [b"x"]))) == 2


@pytest.mark.rules("LR-7")
def test_behind_an_authorizer() -> None:
    """The answer waits although the client's rights are judged first."""
    acls = [{"allow": "User:*", "topic": "*", "operation": "ALL"}]
    with VirtualBroker(acls=acls, config={"log.flush.interval.messages": 1}) as broker:
        broker.create_topic("orders")
        client = broker.client("client")
        with broker.node(1).slow_disk(2):
            assert took(broker, produce(client, "orders")) == 2
        assert took(broker, produce(client, "orders")) == 0


def test_a_wrong_time(broker: VirtualBroker) -> None:
    """It is a number of seconds."""
    with pytest.raises(InvalidArgument, match="flush_s"):
        broker.node(1).slow_disk(-1)

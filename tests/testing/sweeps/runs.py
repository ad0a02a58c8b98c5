"""Tests that are swept, with scripted clients: they take milliseconds, and notice every fault."""

from fakebroker import FakeBroker, KafkaError
from fakebroker.client.connection import ConnectionLost


def commit_once(broker: FakeBroker) -> None:
    """A client that trusts its first commit to arrive, and does not look at the answer."""
    broker.create_topic("orders")
    client = broker.client("svc")
    client.join("billing", ["orders"])
    client.sync({client.member_id: {"orders": [0]}})
    client.commit({("orders", 0): 42})
    assert broker.group("billing").offsets == {("orders", 0): 42}


def commit_stubbornly(broker: FakeBroker) -> None:
    """A client that connects anew and commits again until it knows that it is done. It is in no group."""
    broker.create_topic("orders")
    for _ in range(5):
        try:
            answer = broker.client("svc").commit({("orders", 0): 42}, group_id="billing")
        except (ConnectionLost, KafkaError):
            continue
        if answer.topics[0].partitions == [(0, 0)]:
            break
    assert broker.group("billing").offsets == {("orders", 0): 42}

"""What a Python team does with sweeps: a mark on a test, and a function that is swept."""

import pytest

import fakebroker as package
from fakebroker import FakeBroker
from tests.examples.consumers import consumer, read

pytestmark = pytest.mark.clients


@pytest.mark.fakebroker_sweep(
    apis="OffsetCommit|Heartbeat|Fetch", faults="lost-answer|not-coordinator|disconnect|rebalance", budget=8
)
def test_orders_are_processed_once(fakebroker: FakeBroker) -> None:
    """Whatever goes wrong, once: the orders come, and the commit is there."""
    orders_are_processed(fakebroker)


def test_the_same_from_python() -> None:
    """A function that is given a broker; what it says of a break repeats it."""
    report = package.sweep(orders_are_processed, apis="OffsetCommit", faults="lost-answer|disconnect")

    assert (report.requests, report.runs, report.held) == (1, 2, 2)
    assert report.text == "orders_are_processed: 1 request, 2 runs, 2 held"


def orders_are_processed(broker: FakeBroker) -> None:
    """A test as any: orders in, a consumer that commits what it has read."""
    broker.create_topic("orders").produce(*(f"order {n}" for n in range(5)))

    with consumer(broker.bootstrap, "billing", "orders", client_id="consumer-1") as billing:
        assert read(billing, 5) == [b"order %d" % n for n in range(5)]
        billing.commit(asynchronous=False)

    assert broker.group("billing").offsets == {("orders", 0): 5}

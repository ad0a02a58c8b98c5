"""What a Python team does with fakebroker in pytest: the fixture, waiting, stories, resets, the scripted client."""

from typing import Any

import pytest

from fakebroker import FakeBroker, WaitTimeout
from tests.examples.consumers import consumer, read

pytestmark = pytest.mark.clients


def test_orders_are_processed_once(fakebroker: FakeBroker) -> None:
    """A test takes one argument, uses any client, waits for the group and looks at its offsets."""
    fakebroker.create_topic("orders", partitions=3).produce(*(f"order {n}" for n in range(42)))

    with consumer(fakebroker.bootstrap, "billing", "orders") as billing:
        assert read(billing, 42) == [b"order %d" % n for n in range(42)]
        fakebroker.group("billing").wait(state="Stable", members=1, timeout_s=5)
        billing.commit(asynchronous=False)

    assert fakebroker.group("billing").offsets == {("orders", 0): 42}


def test_a_wait_that_gives_up_says_what_it_saw(fakebroker: FakeBroker) -> None:
    """The message names what was wanted and what was there."""
    with pytest.raises(WaitTimeout, match="for group billing to be Stable") as refused:
        fakebroker.group("billing").wait(state="Stable", members=1, timeout_s=0.05)

    assert "the group does not exist" in str(refused.value)


@pytest.mark.fakebroker(nodes=3, config={"num.partitions": 5}, seed=7)
def test_what_one_argument_cannot_say(fakebroker: FakeBroker) -> None:
    """The marker makes another broker: three nodes, a setting, a seed."""
    assert fakebroker.bootstrap.count(",") == 2
    assert fakebroker._engine.cluster.settings.get_int("num.partitions") == 5


def test_several_brokers(fakebroker_factory: Any) -> None:
    """The factory makes as many as a test likes, isolated from one another."""
    one, other = fakebroker_factory(), fakebroker_factory(nodes=3, profile="kafka")
    one.create_topic("orders")

    assert not other.topic("orders").exists


def test_reset_stop_and_start(fakebroker: FakeBroker) -> None:
    """`reset` empties the broker; `stop` and `start` keep port and data."""
    fakebroker.create_topic("orders")
    bootstrap = fakebroker.bootstrap

    fakebroker.stop()
    fakebroker.start()
    assert (fakebroker.bootstrap, fakebroker.topic("orders").exists) == (bootstrap, True)

    fakebroker.reset()
    assert not fakebroker.topic("orders").exists


def test_no_client_at_hand(fakebroker: FakeBroker) -> None:
    """The scripted client joins, commits, and sends any request in any version."""
    fakebroker.create_topic("orders")
    a = fakebroker.client("a")
    a.join("billing", ["orders"])
    a.sync()
    a.commit({("orders", 0): 7})

    answer = a.request("DescribeGroups", 1, groups=["billing"])

    assert answer.groups[0].group_state == "Stable"
    assert fakebroker.group("billing").offsets == {("orders", 0): 7}
    a.leave()

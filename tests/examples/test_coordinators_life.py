"""The coordinator's life: it moves, loads, becomes a zombie; rebalances are stepped; nodes stop and are cut off."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from fakebroker import FakeBroker
from fakebroker.protocol.errors import ErrorCode
from tests.examples.consumers import consumer, read

pytestmark = pytest.mark.clients


def poll_until(what: Callable[[], Any], *consumers: Any, timeout_s: float = 20) -> Any:
    """Let consumers work until `what` is true."""
    until = time.monotonic() + timeout_s
    while time.monotonic() < until:
        for each in consumers:
            each.poll(0.05)
        if found := what():
            return found
    raise AssertionError("it did not come true")


@pytest.mark.fakebroker(nodes=3)
def test_a_coordinator_moves_under_a_live_consumer(fakebroker: FakeBroker) -> None:
    """The group is loaded where it went to; the consumer finds it, keeps its generation and commits there."""
    fakebroker.create_topic("orders").produce("first")
    with consumer(fakebroker.bootstrap, "billing", "orders") as billing:
        read(billing, 1)
        generation = fakebroker.group("billing").generation
        other = next(n for n in (1, 2, 3) if n != fakebroker.coordinator("billing").node_id)

        fakebroker.coordinator("billing").move(to=other)

        moved = fakebroker.journal.expect("Heartbeat", error="NONE", node=other)
        poll_until(lambda: fakebroker.journal.requests("Heartbeat", error="NONE", node=other), billing)
        moved.within(s=1)
        billing.commit(asynchronous=False)
        assert fakebroker.group("billing").offsets == {("orders", 0): 1}
        assert (fakebroker.group("billing").state, fakebroker.group("billing").generation) == ("Stable", generation)


def test_a_coordinator_that_loads(fakebroker: FakeBroker) -> None:
    """While it loads, requests are answered with COORDINATOR_LOAD_IN_PROGRESS; a consumer that starts waits for it."""
    fakebroker.create_topic("orders").produce("first")

    fakebroker.coordinator("billing").load(for_s=0.5)

    with consumer(fakebroker.bootstrap, "billing", "orders") as billing:
        assert read(billing, 1) == [b"first"]
    fakebroker.journal.expect(error="COORDINATOR_LOAD_IN_PROGRESS").then("JoinGroup", error="NONE").within(s=1)


@pytest.mark.fakebroker(nodes=3)
def test_a_zombie_answers_from_old_state(fakebroker: FakeBroker) -> None:
    """For three seconds the former coordinator does not know that it was replaced; then it does."""
    fakebroker.create_topic("orders")
    old = fakebroker.coordinator("billing").node_id
    client = fakebroker.client("a", node_id=old)
    client.join("billing", ["orders"])
    client.sync()

    fakebroker.coordinator("billing").zombie(for_s=3)

    assert fakebroker.coordinator("billing").node_id != old
    assert client.heartbeat().error_code == 0
    fakebroker.clock.advance(seconds=3, timers=True)
    assert client.heartbeat().error_code == ErrorCode.NOT_COORDINATOR


def test_stepping_a_rebalance(fakebroker: FakeBroker) -> None:
    """The join phase waits for three members; the test says who leads."""
    fakebroker.create_topic("orders", partitions=3)
    fakebroker.group("billing").hold_joins(until_members=3, leader="c")

    with (
        consumer(fakebroker.bootstrap, "billing", "orders", client_id="a") as a,
        consumer(fakebroker.bootstrap, "billing", "orders", client_id="b") as b,
        consumer(fakebroker.bootstrap, "billing", "orders", client_id="c") as c,
    ):
        poll_until(lambda: fakebroker.group("billing").state == "Stable", a, b, c)

        group = fakebroker.group("billing")
        assert (group.generation, len(group.members)) == (1, 3)
        assert group.leader is not None
        assert group.leader.startswith("c-")


@pytest.mark.fakebroker(nodes=3)
def test_nodes_stop_start_and_are_cut_off(fakebroker: FakeBroker) -> None:
    """A consumer and a producer's records survive a node that stops and another that nobody reaches any more."""
    topic = fakebroker.create_topic("orders", replication_factor=3)
    topic.produce("first")
    with consumer(fakebroker.bootstrap, "billing", "orders") as billing:
        read(billing, 1)

        fakebroker.node(2).stop()
        topic.produce("second")
        assert read(billing, 1) == [b"second"]
        fakebroker.node(2).start()

        with fakebroker.node(3).isolate():
            fakebroker.clock.advance(seconds=10, timers=True)
            topic.produce("third")
            assert read(billing, 1) == [b"third"]

"""explain of a group: what holds its pending offsets, and what ends that."""

from collections.abc import Iterator

import pytest

from fakebroker.broker.core.explain.pending_offsets import PendingExplanation
from fakebroker.client.scripted.scripted_client import ScriptedClient
from fakebroker.testing.virtual_broker import START_WALL_MS, VirtualBroker

HELD = "transaction tx-1 (producer 0) is Ongoing; aborted 2026-01-01 00:01:10 unless it ends before (TX-23)"


@pytest.fixture
def broker() -> Iterator[VirtualBroker]:
    """Markers come half a second after the end of a transaction, so that a test sees what is between."""
    with VirtualBroker(config={"fakebroker.transaction.markers.delay.ms": 500}) as running:
        running.create_topic("orders", partitions=2)
        yield running


@pytest.fixture
def producer(broker: VirtualBroker) -> ScriptedClient:
    """The producer of "tx-1", with offset 7 of orders-0 pending in the group "billing"."""
    client = broker.client("producer")
    client.find_coordinator("tx-1", key_type="transaction")
    client.init_producer_id("tx-1")
    client.txn_offset_commit({("orders", 0): 7}, "billing")
    return client


@pytest.mark.rules("TX-23", "EX-4")
def test_an_open_transaction_holds_an_offset(broker: VirtualBroker, producer: ScriptedClient) -> None:
    """Its transactional id is named, and when it is aborted at the latest; and then it is so."""
    assert producer.steps.producer_epoch == 0
    [pending] = broker.group("billing").explain().pending

    assert pending == PendingExplanation("orders", 0, 7, 0, "tx-1", "Ongoing", START_WALL_MS + 60_001, pending.pass_ms)
    assert pending.pass_ms is not None
    assert str(broker.group("billing").explain()).splitlines()[1:] == [
        "  no committed offsets",
        f"  orders-0: offset 7 is pending: {HELD}",
    ]
    broker.clock.set(pending.pass_ms - 1)
    assert len(broker.group("billing").explain().pending) == 1
    broker.clock.set(pending.pass_ms)
    broker.transaction("tx-1").wait("CompleteAbort")
    assert broker.group("billing").explain().pending == ()


@pytest.mark.rules("TO-3", "TX-2")
def test_an_offset_waits_for_the_marker(broker: VirtualBroker, producer: ScriptedClient) -> None:
    """Once the transaction is decided nothing times out any more: the marker is on its way."""
    producer.commit_transaction()
    [pending] = broker.group("billing").explain().pending

    assert (pending.state, pending.due_ms, pending.pass_ms) == ("PrepareCommit", None, None)
    assert str(pending).endswith("transaction tx-1 (producer 0) is PrepareCommit, the marker is on its way")
    broker.transaction("tx-1").wait("CompleteCommit")
    explained = broker.group("billing").explain()
    assert (explained.pending, explained.offsets[0].offset) == ((), 7)


@pytest.mark.rules("TO-4", "OF-9")
def test_an_offset_that_was_replaced_is_reported_as_such(broker: VirtualBroker, producer: ScriptedClient) -> None:
    """A later commit counts, and the partition is unstable all the same."""
    producer.commit({("orders", 0): 9}, group_id="billing")
    explained = broker.group("billing").explain()

    assert [each.offset for each in explained.offsets] == [9]
    assert [each.offset for each in explained.pending] == [None]
    assert "orders-0: an offset replaced by a later commit is pending" in str(explained)


def test_a_producer_without_a_transaction(broker: VirtualBroker, producer: ScriptedClient) -> None:
    """When no coordinator knows the transaction, only a marker that somebody writes ends it."""
    broker.topic("__transaction_state").delete()
    [pending] = broker.group("billing").explain().pending

    assert (pending.transactional_id, pending.state, pending.producer_id) == (None, "Dead", 0)
    assert str(pending).endswith("no coordinator has an open transaction of producer 0: only a marker ends it")
    assert producer.steps.transactional_id == "tx-1"

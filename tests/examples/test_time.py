"""Time in the hands of the test: eight days pass under a connected client."""

from datetime import timedelta

import pytest

from fakebroker import FakeBroker
from tests.examples.consumers import consumer, read


@pytest.mark.clients
def test_eight_days_under_a_connected_client(fakebroker: FakeBroker) -> None:
    """The offsets of a group that became Empty expire; a consumer of another group stays connected and goes on."""
    fakebroker.create_topic("orders").produce("first")
    fakebroker.create_topic("audit").produce("a")
    with consumer(fakebroker.bootstrap, "billing", "orders") as billing:
        read(billing, 1)
        billing.commit(asynchronous=False)

    with consumer(fakebroker.bootstrap, "audit", "audit") as audit:
        read(audit, 1)
        audit.commit(asynchronous=False)
        members = fakebroker.group("audit").members

        fakebroker.clock.advance(days=8)

        assert fakebroker.group("billing").offsets == {}
        assert fakebroker.group("audit").offsets == {("audit", 0): 1}
        assert fakebroker.group("audit").members == members
        fakebroker.topic("audit").produce("b")
        assert read(audit, 1) == [b"b"]


def test_why_an_offset_expired(fakebroker: FakeBroker) -> None:
    """`explain` names the moment the group became Empty, each decision and its rule."""
    fakebroker.create_topic("orders")
    client = fakebroker.client("consumer-1")
    client.join("billing", ["orders"])
    client.sync()
    client.commit({("orders", 0): 42})
    client.leave()

    fakebroker.clock.advance(days=8)

    explanation = str(fakebroker.group("billing").explain())
    assert "orders" in explanation
    assert "expired" in explanation
    assert "EX-3" in explanation


def test_freeze_resume_rate_and_run_until(fakebroker: FakeBroker) -> None:
    """The time of day stands still, goes on, goes faster, jumps to a moment and back."""
    clock = fakebroker.clock
    clock.freeze()
    before = clock.now
    clock.run_until(before + timedelta(days=2))
    assert clock.now == before + timedelta(days=2)

    clock.set(before)
    assert clock.now == before

    clock.resume()
    clock.rate = 60
    assert clock.rate == 60

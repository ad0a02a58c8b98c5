"""One journal entry in full, and the requests that wait for an answer."""

import pytest

from fakebroker import FakeBroker
from fakebroker.protocol.errors import ErrorCode, UnknownThing
from fakebroker.testing.virtual_broker import VirtualBroker

V3 = {"JoinGroup": 3}


def heartbeat(broker: VirtualBroker) -> None:
    """A request of no member."""
    broker.client("a").request("Heartbeat", 4, group_id="billing", generation_id=1, member_id="m")


def test_an_error_leads_to_its_rules_and_to_the_fault() -> None:
    """What the client is told to do, the rules that speak of the error, and the fault that made it."""
    with VirtualBroker() as broker:
        fault = broker.fault(api="Heartbeat", error="NOT_COORDINATOR", times=1)
        heartbeat(broker)
        (request,) = broker.journal.requests(api="Heartbeat")
        found = broker.journal.entry(request.seq)

    assert found.text.startswith("Heartbeat v4 of group billing -> told to look up the coordinator again")
    (error,) = found.errors
    assert (error.error, error.code, error.places) == ("NOT_COORDINATOR", ErrorCode.NOT_COORDINATOR, [])
    assert error.step.startswith("to look up the coordinator")
    assert [rule.id for rule in error.rules] == ["HB-1"]
    assert [(each.fault_id, each.description) for each in found.faults] == [(fault.fault_id, fault.description)]
    assert found.lines[0]["request"]["GroupId"] == "billing"
    assert found.lines[0]["response"]["ErrorCode"] == ErrorCode.NOT_COORDINATOR


def test_an_error_stands_at_places() -> None:
    """Each error once, with the partitions that it stands at."""
    with VirtualBroker() as broker:
        broker.create_topic("orders")
        broker.client("a").produce("orders", 5, [b"v"])
        (request,) = broker.journal.requests(api="Produce")
        (error,) = broker.journal.entry(request.seq).errors

    assert (error.error, error.places) == ("UNKNOWN_TOPIC_OR_PARTITION", ["orders-5"])


def test_what_happened_while_it_waited() -> None:
    """Of a JoinGroup that was parked: the transitions of its group and a move of the clock, not another group's."""
    with VirtualBroker() as broker:
        broker.create_topic("orders")
        hold = broker.group("billing").hold_joins()
        client = broker.client("a", V3)
        step = client.start(client.steps.join("billing", ["orders"]))
        broker.group("billing").wait(joined=1)
        broker.client("b", V3).join("other", ["orders"])
        broker.clock.advance(hours=1)
        hold.release()
        step.result()
        (request,) = broker.journal.requests(api="JoinGroup", client_id="a")
        found = broker.journal.entry(request.seq)

    assert [each.kind for each in found.events if each.kind != "group_stored"] == [
        "transition", "clock_moved", "transition"
    ]  # fmt: skip
    assert not any("other" in each.text for each in found.events)


def test_an_event_has_all_its_lines() -> None:
    """It is reported in words, and line by line."""
    with VirtualBroker() as broker:
        broker.create_topic("orders", partitions=2)
        broker.group("old").commit({("orders", 0): 1, ("orders", 1): 1})
        broker.clock.advance(days=9)
        (expired,) = broker.journal.events("offset_expired")
        found = broker.journal.entry(expired.seq)

    assert [(line["kind"], line["partition"]) for line in found.lines] == [("offset_expired", 0), ("offset_expired", 1)]
    assert "old: offsets expired" in found.text
    assert (found.errors, found.faults, found.events) == ([], [], [])


def test_an_entry_that_is_not_there() -> None:
    """One of the future, and one that is forgotten."""
    with VirtualBroker() as broker:
        heartbeat(broker)
        with pytest.raises(UnknownThing, match="there is no entry 1000 in memory: entries 0 to"):
            broker.journal.entry(1000)
        broker.journal.clear()
        with pytest.raises(UnknownThing, match="none are"):
            broker.journal.entry(0)


def test_requests_that_wait() -> None:
    """Who waits for what, and for how long; nobody once it is answered."""
    with FakeBroker() as broker:
        broker.create_topic("orders")
        hold = broker.group("billing").hold_joins()
        client = broker.client("a", V3)
        step = client.start(client.steps.join("billing", ["orders"]))
        broker.group("billing").wait(joined=1)
        (waiting,) = broker.journal.waiting
        hold.release()
        step.result()
        (answered,) = broker.journal.requests(api="JoinGroup")
        after = broker.journal.waiting

    assert (waiting.client, waiting.api, waiting.version, waiting.groups) == ("a", "JoinGroup", 3, ("billing",))
    assert (waiting.connection, waiting.correlation_id) == (answered.connection_id, answered.header.correlation_id)
    assert waiting.received_mono_ms == answered.received.mono_ms
    assert waiting.waits_ms >= 0
    assert after == []

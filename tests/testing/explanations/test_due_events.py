"""What falls due next, in words: it happens at that moment, by the time that it says."""

from collections.abc import Iterator

import pytest

from fakebroker.client.streams_group_steps import Subtopology
from fakebroker.protocol.errors import InvalidArgument
from fakebroker.testing.explanations.due_events import DueEvent
from fakebroker.testing.virtual_broker import VirtualBroker

V3 = {"JoinGroup": 3}


@pytest.fixture
def broker() -> Iterator[VirtualBroker]:
    """A broker with a topic."""
    with VirtualBroker() as broker:
        broker.create_topic("orders", partitions=2)
        yield broker


def due(broker: VirtualBroker, words: str, limit: int = 10) -> DueEvent:
    """The only event whose text has these words."""
    (found,) = [each for each in broker.clock.due(limit).due if words in each.what]
    return found


def test_nothing_is_due_in_a_new_broker(broker: VirtualBroker) -> None:
    """Both readings are shown all the same."""
    seen = broker.clock.due()

    assert (seen.due, seen.now_ms, seen.rate, seen.is_frozen) == ([], broker.clock.now_ms, 1.0, False)


def test_a_cleanup_by_the_clock(broker: VirtualBroker) -> None:
    """It names the groups; going to its moment, and no further, expires what it said."""
    broker.group("billing").commit({("orders", 0): 1})
    event = due(broker, "cleaned up")
    assert (event.by, event.what) == ("clock", "expired offsets of billing are cleaned up")

    broker.clock.run_until(event.due_ms - 1)
    assert broker.group("billing").exists
    broker.clock.run_until(event.due_ms)
    assert not broker.group("billing").exists


def test_a_session_by_timers(broker: VirtualBroker) -> None:
    """It names the member; moving timers by what is left ends the session."""
    client = broker.client("a", V3)
    client.join("billing", ["orders"])
    client.sync({client.member_id: {"orders": [0]}})
    event = due(broker, "session")
    assert (event.by, event.left_ms) == ("timers", 45_000)
    assert event.what == f"the session of member {client.member_id} of group billing ends"
    assert event.due_ms == broker.clock.now_ms + 45_000

    broker.clock.advance(ms=event.left_ms - 1, timers=True)
    assert len(broker.group("billing").members) == 1
    broker.clock.advance(ms=1, timers=True)
    assert broker.group("billing").members == []


def test_phases_of_a_rebalance(broker: VirtualBroker) -> None:
    """The time to join again, and the time to send SyncGroup."""
    client = broker.client("a", V3)
    client.join("billing", ["orders"])
    assert due(broker, "stops waiting for SyncGroup").left_ms == 300_000
    client.sync({client.member_id: {"orders": [0]}})
    second = broker.client("b", V3)
    second.start(second.steps.join("billing", ["orders"]))
    broker.group("billing").wait(joined=1)
    assert due(broker, "the time to rejoin of group billing ends").left_ms == 300_000


def test_groups_of_other_kinds(broker: VirtualBroker) -> None:
    """Sessions of members, what they have to give up, and the first assignment of a streams group."""
    a = broker.client("a")
    a.join_consumer_group("modern", ["orders"])
    broker.clock.advance(seconds=2, timers=True)
    broker.client("b").join_consumer_group("modern", ["orders"])
    a.consumer_group_heartbeat()
    broker.client("s").join_share_group("shared", ["orders"])
    broker.client("t").join_streams_group("app", [Subtopology("0", ["orders"])])
    shown = {each.what for each in broker.clock.due(100).due}

    assert "the session of member a-member-1 of group modern ends" in shown
    assert "member a-member-1 of group modern is removed unless it gives up its revoked partitions" in shown
    assert any(each.startswith("the session of member s-") for each in shown)


def test_jobs_on_logs_and_transactions(broker: VirtualBroker) -> None:
    """Retention, the cleaner, and what is done about transactions that are open for too long."""
    broker.create_topic("compacted", config={"cleanup.policy": "compact"})
    broker.topic("orders").produce("a")
    broker.topic("compacted").produce("a", key="k")
    client = broker.client("p")
    client.init_producer_id("tx")
    client.add_partitions_to_txn([("orders", 0)])
    shown = [each.what for each in broker.clock.due().due if each.by == "clock"]

    assert "retention checks for old segments" in shown
    assert "transactions past their timeout are aborted" in shown


def test_a_killed_node(broker: VirtualBroker) -> None:
    """It is fenced when the controller has not heard of it for long enough."""
    broker.add_node()
    broker.node(2).kill()
    event = due(broker, "node 2 is fenced")
    broker.clock.advance(ms=event.left_ms, timers=True)

    assert broker.node(2).is_fenced


def test_only_so_many(broker: VirtualBroker) -> None:
    """The first of each time, in the order of what is left."""
    for number in range(20):
        client = broker.client(f"c{number}", V3)
        client.join(f"group-{number}", ["orders"])
        client.sync({client.member_id: {"orders": [0]}})
    found = broker.clock.due(5).due

    assert len([each for each in found if each.by == "timers"]) == 5
    assert [each.left_ms for each in found] == sorted(each.left_ms for each in found)
    for limit in (0, 101):
        with pytest.raises(InvalidArgument, match="limit"):
            broker.clock.due(limit)

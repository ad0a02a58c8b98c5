"""One group in one look: timers that come true, who is awaited in a rebalance and what ends it, what offsets become."""

from collections.abc import Iterator

import pytest

from fakebroker.client.scripted.scripted_client import ScriptedClient
from fakebroker.client.streams_group_steps import Subtopology
from fakebroker.protocol.errors import UnknownThing
from fakebroker.protocol.wire.messages.join_group import JoinGroupRequestProtocol
from fakebroker.testing.handles.group_view import GroupView
from fakebroker.testing.handles.rebalance_view import RebalanceView
from fakebroker.testing.virtual_broker import VirtualBroker

V3 = {"JoinGroup": 3}  # joins without a handshake: one request
BY_KAFKA = {"group.initial.rebalance.delay.ms": 3000}
SESSION_MS = 45_000


@pytest.fixture
def broker() -> Iterator[VirtualBroker]:
    """A broker in virtual time with a topic."""
    with VirtualBroker() as broker:
        broker.create_topic("orders", partitions=4)
        yield broker


def view(broker: VirtualBroker, group_id: str = "billing") -> GroupView:
    """What the group is now."""
    return broker.group(group_id).view()


def rebalance(broker: VirtualBroker) -> RebalanceView:
    """The rebalance that is under way."""
    found = view(broker).rebalance
    assert found is not None
    return found


def pass_time(broker: VirtualBroker, ms: int) -> None:
    """Let time pass, timers too."""
    broker.clock.advance(ms=ms, timers=True)


def member(broker: VirtualBroker, name: str = "a") -> ScriptedClient:
    """The only member of a Stable group."""
    client = broker.client(name, V3)
    client.join("billing", ["orders"])
    client.sync({client.member_id: {"orders": [0, 1, 2, 3]}})
    return client


def joining(broker: VirtualBroker, name: str, waiting: int) -> ScriptedClient:
    """A client whose JoinGroup waits, as the last of so many."""
    client = broker.client(name, V3)
    client.start(client.steps.join("billing", ["orders"]))
    broker.group("billing").wait(joined=waiting)
    return client


@pytest.mark.rules("TM-1", "TM-2")
def test_a_member_is_removed_when_it_says(broker: VirtualBroker) -> None:
    """The session counts down from what was heard last, and the member goes at its end, not a moment before."""
    client = member(broker)
    pass_time(broker, 10_000)
    (seen,) = view(broker).members
    assert (seen.client_id, seen.is_leader, seen.assignment) == ("a", True, {"orders": [0, 1, 2, 3]})
    assert (seen.heard_ago_ms, seen.session_left_ms) == (10_000, SESSION_MS - 10_000)
    assert (seen.removed_left_ms, seen.removed_rule) == (seen.session_left_ms, "TM-2")

    client.heartbeat()
    assert view(broker).members[0].heard_ago_ms == 0
    pass_time(broker, SESSION_MS - 1)
    assert [each.session_left_ms for each in view(broker).members] == [1]
    pass_time(broker, 1)
    assert view(broker).members == []


@pytest.mark.rules("TM-5", "JG-17")
def test_a_join_phase_says_who_is_awaited_and_until_when(broker: VirtualBroker) -> None:
    """The member that has not joined again is awaited; it is removed when the time is up, as announced."""
    a = member(broker)
    b = joining(broker, "b", 1)
    seen = rebalance(broker)
    assert (seen.phase, seen.rule, seen.left_ms) == ("join", "TM-5", 300_000)
    assert seen.awaited == [a.member_id]
    assert len(seen.joined) == 1
    by_client = {each.client_id: each for each in view(broker).members}
    assert (by_client["b"].waiting_request, by_client["a"].waiting_request) == ("JoinGroup", None)
    assert by_client["b"].removed_rule == "TM-3"
    assert by_client["a"].doing == "has not rejoined"
    assert {"TM-5", "TM-3", "TM-2"} <= view(broker).rules.keys()

    while (left_ms := rebalance(broker).left_ms) and left_ms > 30_000:
        a.heartbeat()
        pass_time(broker, 30_000)
    pass_time(broker, rebalance(broker).left_ms or 0)
    assert [each.client_id for each in view(broker).members] == ["b"]
    assert view(broker).epoch == 2
    b.close()


@pytest.mark.rules("JG-30")
def test_the_initial_delay(broker: VirtualBroker) -> None:
    """A group that was Empty waits for further members; nobody in particular is awaited."""
    with VirtualBroker(config=BY_KAFKA) as slow:
        slow.create_topic("orders")
        joining(slow, "a", 1)
        seen = rebalance(slow)
        assert (seen.phase, seen.rule, seen.left_ms, seen.awaited) == ("join", "JG-30", 3000, [])
        pass_time(slow, 3000)
        assert view(slow).state == "CompletingRebalance"


@pytest.mark.rules("TM-6")
def test_a_sync_phase_waits_for_the_leader(broker: VirtualBroker) -> None:
    """Until the leader has sent the assignment it is awaited, with the others whose SyncGroup has not come."""
    client = broker.client("a", V3)
    client.join("billing", ["orders"])
    seen = rebalance(broker)
    assert (seen.phase, seen.awaited, seen.rule, seen.left_ms) == ("sync", [client.member_id], "TM-6", 300_000)
    assert f"the leader {client.member_id}" in seen.text

    client.sync({client.member_id: {"orders": [0]}})
    assert view(broker).rebalance is None


def test_a_hold_is_what_ends_the_wait(broker: VirtualBroker) -> None:
    """A join phase that a test holds ends when it is released, not by a timer."""
    hold = broker.group("billing").hold_joins()
    joining(broker, "a", 1)
    seen = rebalance(broker)
    assert (seen.left_ms, seen.hold) == (None, "held by a test: its joins wait for release()")
    assert [(each.hold_id, each.phase) for each in view(broker).holds] == [(hold.hold_id, "join")]

    hold.release()
    assert view(broker).state == "CompletingRebalance"
    assert view(broker).holds == []


@pytest.mark.rules("TM-4", "JG-16")
def test_a_member_id_that_was_handed_out(broker: VirtualBroker) -> None:
    """It is listed with the time after which it is forgotten."""
    protocols = [JoinGroupRequestProtocol(name="range", metadata=b"")]
    fields = {"group_id": "billing", "session_timeout_ms": 10_000, "rebalance_timeout_ms": 10_000}
    answer = broker.client("a").request("JoinGroup", 4, **fields, protocol_type="consumer", protocols=protocols)
    pass_time(broker, 4000)
    assert view(broker).pending_members == [(answer.member_id, 6000)]

    pass_time(broker, 6000)
    assert view(broker).pending_members == []


@pytest.mark.rules("CGT-3", "CGR-3")
def test_a_consumer_group_says_who_has_to_give_up_what(broker: VirtualBroker) -> None:
    """The one with something to give up, and the one that waits for it, are awaited until the rebalance timer."""
    a, b = broker.client("a"), broker.client("b")
    a.join_consumer_group("billing", ["orders"])
    pass_time(broker, 2000)
    b.join_consumer_group("billing", ["orders"])
    a.consumer_group_heartbeat()
    seen = view(broker)
    assert seen.rebalance is not None
    assert (seen.kind, seen.state, seen.epoch, seen.assignment_epoch) == ("consumer", "Reconciling", 3, 3)
    assert (seen.rebalance.phase, seen.rebalance.rule) == ("reconciliation", "CGT-3")
    assert sorted(seen.rebalance.awaited) == [a.member_id, b.member_id]
    by_client = {each.client_id: each for each in seen.members}
    assert "must give up" in by_client["a"].doing
    assert f"which {a.member_id} has not given up" in by_client["b"].doing
    assert by_client["a"].removed_left_ms == seen.rebalance.left_ms
    assert (by_client["b"].session_left_ms, by_client["b"].removed_rule) == (SESSION_MS, "CGT-1")

    a.reconcile()
    b.consumer_group_heartbeat()
    assert view(broker).rebalance is None


@pytest.mark.rules("CGE-10")
def test_a_target_that_was_not_computed(broker: VirtualBroker) -> None:
    """A second member within a second: the next heartbeat after that computes the assignment."""
    broker.client("a").join_consumer_group("billing", ["orders"])
    broker.client("b").join_consumer_group("billing", ["orders"])
    seen = rebalance(broker)

    assert (seen.phase, seen.left_ms, seen.awaited) == ("assignment", None, [])
    assert "computes the assignment of epoch 3" in seen.text


def test_share_and_streams_groups(broker: VirtualBroker) -> None:
    """Their members have sessions; a streams group without its topics says what is missing."""
    broker.client("s").join_share_group("billing", ["orders"])
    (shared,) = view(broker).members
    assert (view(broker).kind, shared.protocol, shared.session_timeout_ms) == ("share", "share", SESSION_MS)
    assert shared.session_left_ms == SESSION_MS
    broker.client("t").join_streams_group("app", [Subtopology("0", ["missing"])])
    app = broker.group("app").view()
    assert app.kind == "streams"
    assert app.members[0].tasks is not None
    assert "missing" in app.next


@pytest.mark.rules("EX-1", "EX-3")
def test_what_becomes_of_offsets(broker: VirtualBroker) -> None:
    """Kept while a member reads them, then ageing with the time of the cleanup, then expired at it."""
    client = member(broker)
    client.commit({("orders", 1): 3}, "mine")
    broker.topic("orders").produce(*"abcde", partition=1)
    (kept,) = view(broker).offsets
    assert (kept.status, kept.offset, kept.end_offset, kept.lag, kept.metadata) == ("kept", 3, 5, 2, "mine")
    assert (kept.due_ms, kept.pass_ms) == (None, None)

    client.leave()
    seen = view(broker)
    (ages,) = seen.offsets
    assert (ages.status, ages.base_ms, ages.due_ms) == ("ages", seen.now_ms, seen.now_ms + seen.expiry.retention_ms)
    assert ages.pass_ms is not None
    assert seen.rules[ages.rule].startswith("The start of an offset's retention depends on its group")
    assert seen.state_for_ms == 0

    broker.clock.run_until(ages.pass_ms - 1)
    assert view(broker).offsets[0].status == "ages"
    broker.clock.run_until(ages.pass_ms)
    seen = view(broker)
    (lost,) = seen.offsets
    assert (seen.state, lost.status, lost.offset, lost.pass_ms) == ("Dead", "expired", 3, ages.pass_ms)


def test_an_offset_of_a_partition_that_is_gone(broker: VirtualBroker) -> None:
    """What expired stays reported when its topic is deleted; there is no lag then."""
    broker.group("billing").commit({("orders", 1): 3})
    broker.clock.advance(days=9)
    broker.topic("orders").delete()

    (lost,) = view(broker).offsets

    assert (lost.status, lost.end_offset, lost.lag) == ("expired", None, None)


def test_a_group_that_never_was(broker: VirtualBroker) -> None:
    """It is an error that names it."""
    with pytest.raises(UnknownThing, match="there is no group 'billing'"):
        view(broker)

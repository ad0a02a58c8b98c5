"""Groups of the newer protocols as a test sees them: members, epochs, targets, what is waited for, and why."""

from collections.abc import Iterator

import pytest

from fakebroker.broker.core.explain.members import Reconciliation
from fakebroker.client.scripted.scripted_client import ScriptedClient
from fakebroker.client.streams_group_steps import Subtopology
from fakebroker.protocol.errors import ErrorCode, InvalidArgument, UnknownThing, WaitTimeout
from fakebroker.testing.handles.group import GroupHandle
from fakebroker.testing.virtual_broker import VirtualBroker

SOON_S = 0.01
TOPOLOGY = [Subtopology("0", ["orders"], changelog_topics=["app-store-changelog"])]


@pytest.fixture
def broker() -> Iterator[VirtualBroker]:
    """A broker in virtual time with a topic of four partitions."""
    with VirtualBroker() as broker:
        broker.create_topic("orders", partitions=4)
        yield broker


def two_members(broker: VirtualBroker) -> tuple[ScriptedClient, ScriptedClient]:
    """A consumer group whose first member has to give up half of what it has, for the second."""
    a, b = broker.client("a"), broker.client("b")
    a.join_consumer_group("billing", ["orders"], rack_id="r", server_assignor="uniform")
    broker.clock.advance(seconds=2, timers=True)
    b.join_consumer_group("billing", ["orders"])
    a.consumer_group_heartbeat()
    return a, b


def way_of(group: GroupHandle) -> Reconciliation:
    """How far a group is, as `explain` tells it."""
    way = group.explain().reconciliation
    assert way is not None
    return way


@pytest.mark.rules("CGE-20", "CGR-3", "CGR-6")
def test_a_consumer_group_shows_who_has_what_and_what_it_shall_have(broker: VirtualBroker) -> None:
    """Members with their states and epochs; what they have to give up; then all that they shall have."""
    a, b = two_members(broker)
    group = broker.group("billing")
    assert (group.kind, group.state, group.epoch, group.assignment_epoch) == ("consumer", "Reconciling", 3, 3)
    assert (group.generation, group.protocol, group.leader, group.is_reconciled) == (-1, None, None, False)
    views = {each.member_id: each for each in group.members}
    first, second = views[a.member_id], views[b.member_id]
    assert (first.state, first.member_epoch, first.assignor, first.rack_id) == (
        "UnrevokedPartitions",
        2,
        "uniform",
        "r",
    )
    assert first.assignment == first.target
    assert {*first.revoking["orders"], *first.assignment["orders"]} == {0, 1, 2, 3}
    assert (second.state, second.member_epoch, second.assignment) == ("UnreleasedPartitions", 3, {})
    assert second.target == first.revoking
    assert {each.protocol for each in views.values()} == {"consumer"}

    a.reconcile()
    b.consumer_group_heartbeat()
    assert (group.state, group.is_reconciled) == ("Stable", True)
    assert all(each.assignment == each.target and not each.revoking for each in group.members)


@pytest.mark.rules("CGE-2", "CGR-3", "CGR-4")
def test_the_way_of_each_member_is_reported_with_reasons(broker: VirtualBroker) -> None:
    """Changes of the group's state, and of its members'."""
    a, b = two_members(broker)
    a.reconcile()
    b.consumer_group_heartbeat()
    group = broker.group("billing")

    assert [(each.before, each.after, each.generation) for each in group.transitions] == [
        ("Empty", "Stable", 2),
        ("Stable", "Reconciling", 3),
        ("Reconciling", "Stable", 3),
    ]
    assert group.transitions[1].reason == "member b-member-1 joined"
    of_a = [each for each in group.member_transitions if each.member_id == a.member_id]
    assert [(each.before, each.after, each.epoch) for each in of_a] == [
        ("Absent", "Stable", 2),
        ("Stable", "UnrevokedPartitions", 2),
        ("UnrevokedPartitions", "Stable", 3),
    ]


@pytest.mark.rules("CGT-1", "CGT-3", "CGR-6")
def test_explain_says_who_waits_for_whom_and_until_when(broker: VirtualBroker) -> None:
    """The member with something to give up goes by its rebalance timer; the other names who holds it up."""
    two_members(broker)
    explanation = broker.group("billing").explain()
    way = explanation.reconciliation
    assert way is not None
    by_id = {each.member_id: each for each in way.members}
    first, second = by_id["a-member-1"], by_id["b-member-1"]

    assert (explanation.kind, way.group_epoch, way.assignment_epoch, way.next) == ("consumer", 3, 3, "")
    assert first.gives_up == tuple(second.waits_for)
    assert set(second.waits_for.values()) == {"a-member-1"}
    assert (first.rule, second.rule) == ("CGT-3", "CGT-1")
    assert first.removed_ms == broker.clock.now_ms + 300_000
    assert second.removed_ms == broker.clock.now_ms + 45_000
    assert "waits for" in str(explanation)
    assert "which a-member-1 has not given up" in str(explanation)


@pytest.mark.rules("CGT-3")
def test_what_explain_announces_comes(broker: VirtualBroker) -> None:
    """The member that keeps what it has to give up is removed at that moment, and not before."""
    a, b = two_members(broker)
    group = broker.group("billing")
    (removed_ms,) = [each.removed_ms for each in way_of(group).members if each.gives_up]
    assert removed_ms is not None
    while broker.clock.now_ms < removed_ms - 30_000:
        broker.clock.advance(seconds=30, timers=True)
        assert [client.consumer_group_heartbeat().error_code for client in (a, b)] == [0, 0]
    broker.clock.advance(ms=removed_ms - broker.clock.now_ms - 1, timers=True)
    assert len(group.members) == 2
    broker.clock.advance(ms=1, timers=True)

    assert [each.member_id for each in group.members] == [b.member_id]


@pytest.mark.rules("CGE-10", "CGE-11")
def test_explain_says_when_the_assignment_is_computed(broker: VirtualBroker) -> None:
    """Not before the assignment interval is over, and by a heartbeat."""
    a, b = broker.client("a"), broker.client("b")
    a.join_consumer_group("billing", ["orders"])
    at_ms = broker.clock.now_ms
    b.join_consumer_group("billing", ["orders"])
    explanation = way_of(broker.group("billing"))

    assert (broker.group("billing").state, explanation.group_epoch, explanation.assignment_epoch) == ("Assigning", 3, 2)
    assert explanation.next.startswith("the next heartbeat from ")
    assert explanation.next.endswith(" on computes the assignment of epoch 3 (CGE-10)")
    broker.clock.set(at_ms + 1000)
    assert way_of(broker.group("billing")).next == "the next heartbeat computes the assignment of epoch 3 (CGE-10)"


def test_a_wait_for_reconciliation_says_what_is_missing(broker: VirtualBroker) -> None:
    """The text names the members, what they have to give up, and what happened."""
    two_members(broker)
    with pytest.raises(WaitTimeout) as raised:
        broker.group("billing").wait(reconciled=True, timeout_s=SOON_S)
    text = str(raised.value)

    assert "to be reconciled; it is Reconciling in epoch 3 with 2 members, a consumer group" in text
    assert "member a-member-1 of client a: UnrevokedPartitions in epoch 2" in text
    assert "before the wait: assignment of epoch 3 computed for 2 members by uniform" in text
    assert text.endswith("since then: no transition")


def test_waits_for_epochs_and_members(broker: VirtualBroker) -> None:
    """What is there already is waited for in no time; a generation there is none."""
    a, b = two_members(broker)
    a.reconcile()
    b.consumer_group_heartbeat()
    group = broker.group("billing")

    assert group.wait(state="Stable", members=2, epoch=3, assigned=True, reconciled=True) is group
    for wrong in ({"epoch": 4}, {"generation": 0}, {"protocol": "uniform"}, {"joined": 1}):
        with pytest.raises(WaitTimeout):
            group.wait(**wrong, timeout_s=SOON_S)


def test_a_classic_group_has_no_epochs(broker: VirtualBroker) -> None:
    """Its generation counts; it is reconciled when it is Stable."""
    a = broker.client("a")
    a.join("billing", ["orders"])
    group = broker.group("billing")
    assert (group.kind, group.generation, group.epoch, group.assignment_epoch) == ("classic", 1, -1, -1)
    assert not group.is_reconciled
    a.sync({a.member_id: {"orders": [0]}})
    assert group.wait(reconciled=True, timeout_s=SOON_S).is_reconciled
    assert group.member_transitions == []
    assert broker.group("nobody").kind is None


@pytest.mark.rules("CGT-2")
def test_a_member_is_evicted_by_any_of_its_names(broker: VirtualBroker) -> None:
    """As when its session has ended: what it had is free, and its next heartbeat is refused."""
    a, b = two_members(broker)
    group = broker.group("billing")
    group.evict("a")
    assert [each.member_id for each in group.members] == [b.member_id]
    assert group.transitions[-1].reason == "member a-member-1 was evicted by a test"
    assert a.consumer_group_heartbeat().error_code == ErrorCode.UNKNOWN_MEMBER_ID
    with pytest.raises(UnknownThing, match=r"it has b \(b-member-1\)"):
        group.evict("a")
    group.evict(b.member_id)
    assert group.state == "Empty"


def test_only_classic_groups_rebalance(broker: VirtualBroker) -> None:
    """The members of others go to their assignments one by one, so there is nothing to start."""
    two_members(broker)
    with pytest.raises(InvalidArgument, match="is a consumer group"):
        broker.group("billing").rebalance()


def test_what_no_member_asks_for_is_not_held(broker: VirtualBroker) -> None:
    """Holds are for JoinGroup and SyncGroup: refused while all members of a group speak other protocols."""
    group = broker.group("billing")
    group.hold_joins().release()  # of a group that is not there yet
    two_members(broker)
    for hold in (group.hold_joins, group.hold_syncs):
        with pytest.raises(InvalidArgument, match="is a consumer group: its members never send JoinGroup"):
            hold()
    old = broker.client("old", {"JoinGroup": 3})
    old.join("billing", ["orders"])
    group.hold_joins().release()


@pytest.mark.rules("CGM-3")
def test_explain_says_who_speaks_the_classic_protocol(broker: VirtualBroker) -> None:
    """Members of one consumer group may differ in that, and so in how they get their partitions."""
    broker.client("new").join_consumer_group("billing", ["orders"])
    broker.client("old", {"JoinGroup": 3}).join("billing", ["orders"])
    group = broker.group("billing")
    assert {each.client_id: each.is_classic for each in way_of(group).members} == {"new": False, "old": True}
    assert "(client old, classic protocol): " in str(group.explain())
    assert "(client new): " in str(group.explain())


@pytest.mark.rules("CGX-4")
def test_a_pattern_that_waits_for_its_turn_is_explained(broker: VirtualBroker) -> None:
    """Patterns are resolved once in ten seconds: until then the group is not reconciled, and says why."""
    first, second = broker.client("first"), broker.client("second")
    first.join_consumer_group("billing", topic_regex="or.*")
    broker.clock.advance(seconds=1, timers=True)
    second.join_consumer_group("billing", topic_regex="order.*")
    broker.clock.advance(seconds=1, timers=True)
    second.consumer_group_heartbeat()
    group = broker.group("billing")
    assert not group.is_reconciled
    assert (
        way_of(group).next == "the pattern order.* is resolved by a heartbeat, ten seconds after the last one (CGX-4)"
    )
    with pytest.raises(WaitTimeout, match=r"the pattern order\.\* is resolved by a heartbeat"):
        group.wait(reconciled=True, timeout_s=SOON_S)
    broker.clock.advance(seconds=10, timers=True)
    for step in (first.consumer_group_heartbeat, second.consumer_group_heartbeat, first.reconcile):
        step()
        broker.clock.advance(seconds=2, timers=True)
    first.reconcile()
    second.consumer_group_heartbeat()
    assert group.is_reconciled


@pytest.mark.rules("CGT-4")
def test_a_snapshot_has_members_and_their_way(broker: VirtualBroker) -> None:
    """What the records say is there again, with new timers; the group goes on as if nothing had been."""
    a, b = two_members(broker)
    before = broker.group("billing").members
    broker.restore(broker.snapshot())
    group = broker.group("billing")

    assert sorted(group.members) == sorted(before)
    assert group.epoch == 3
    for client in (a, b):
        client.reconnect()
    a.reconcile()
    b.consumer_group_heartbeat()
    assert group.is_reconciled


@pytest.mark.rules("SGH-10", "SGH-12")
def test_a_share_group_shows_its_members(broker: VirtualBroker) -> None:
    """Partitions come with a later heartbeat; it is reconciled when all of them are assigned."""
    a = broker.client("a")
    a.join_share_group("queue", ["orders"])
    group = broker.group("queue")
    assert (group.kind, group.state, group.is_reconciled) == ("share", "Stable", False)
    assert "(SGH-12)" in way_of(group).next
    with pytest.raises(WaitTimeout, match="the next heartbeat assigns the initialized partitions"):
        group.wait(reconciled=True, timeout_s=SOON_S)
    broker.clock.advance(seconds=2, timers=True)
    a.share_group_heartbeat()

    assert group.wait(reconciled=True, assigned=True, timeout_s=SOON_S).epoch == 3
    (view,) = group.members
    assert (view.protocol, view.member_epoch, view.state, view.revoking) == ("share", 3, "Stable", {})
    assert view.assignment == view.target == {"orders": [0, 1, 2, 3]}
    (explanation,) = way_of(group).members
    assert (explanation.rule, explanation.has) == ("SGH-20", ("orders-0", "orders-1", "orders-2", "orders-3"))

    group.evict("a")
    assert (group.members, group.transitions[-1].reason) == ([], "member a-member-1 was evicted by a test")
    assert a.share_group_heartbeat().error_code == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.rules("STE-3", "STT-5", "STG-1")
def test_a_streams_group_shows_its_tasks(broker: VirtualBroker) -> None:
    """Missing topics, then the initial delay, then tasks: `explain` says what is waited for at each point."""
    broker.topic("orders").delete()
    a = broker.client("a")
    a.join_streams_group("app", TOPOLOGY, process_id="p")
    group = broker.group("app")
    assert (group.kind, group.state) == ("streams", "NotReady")
    assert way_of(group).next == "no tasks are assigned while source topics are missing: orders (STT-4)"
    broker.create_topic("orders", partitions=4)
    a.streams_group_heartbeat()
    assert way_of(group).next == "the next heartbeat finds the topics of the topology complete (STT-4)"
    a.streams_group_heartbeat()
    assert (group.state, group.is_reconciled) == ("Assigning", False)
    assert way_of(group).next.endswith("an empty group waits for more members (STE-3)")
    broker.clock.advance(seconds=3, timers=True)
    a.streams_group_heartbeat()

    group.wait(reconciled=True, assigned=True, timeout_s=SOON_S)
    (view,) = group.members
    assert view.tasks is not None
    assert (view.tasks.active, view.tasks.target_active) == ({"0": [0, 1, 2, 3]}, {"0": [0, 1, 2, 3]})
    assert (view.tasks.process_id, view.tasks.endpoint, view.subscription) == ("p", None, ("orders",))
    assert way_of(group).members[0].has == ("0_0", "0_1", "0_2", "0_3")
    assert a.active_tasks == {"0": [0, 1, 2, 3]}


@pytest.mark.rules("STR-1", "STR-3")
def test_a_task_is_waited_for_until_it_is_given_up(broker: VirtualBroker) -> None:
    """The second member names the first, which has to give up half of its tasks."""
    a, b = broker.client("a"), broker.client("b")
    a.join_streams_group("app", TOPOLOGY)
    a.streams_group_heartbeat()
    broker.clock.advance(seconds=4, timers=True)
    a.streams_group_heartbeat()
    b.join_streams_group("app", TOPOLOGY, endpoint="localhost:7070")
    a.streams_group_heartbeat()
    by_id = {each.member_id: each for each in way_of(broker.group("app")).members}

    assert by_id["a-member-1"].gives_up == tuple(by_id["b-member-1"].waits_for) != ()
    assert by_id["a-member-1"].rule == "STM-2"
    a.reconcile_tasks()
    b.streams_group_heartbeat()
    assert broker.group("app").is_reconciled
    assert [each.tasks.endpoint for each in broker.group("app").members if each.tasks] == ["localhost:7070", None]


def test_the_story_tells_of_groups_that_are_on_their_way(broker: VirtualBroker) -> None:
    """Who waits for whom; nothing of groups that are where they shall be."""
    a, b = two_members(broker)
    story = broker.story()
    assert "groups that are not at their target assignment:\n  billing: Reconciling, epoch 3" in story
    assert "billing: member a-member-1: Stable -> UnrevokedPartitions, epoch 2" in story
    a.reconcile()
    b.consumer_group_heartbeat()
    assert "groups that are not where they shall be" not in broker.story()


def share_consumer(broker: VirtualBroker) -> ScriptedClient:
    """A member of a share group that has all partitions of the topic, of which the first has four records."""
    a = broker.client("a")
    a.alter_configs("queue", {"share.auto.offset.reset": "earliest"}, kind="group")
    a.join_share_group("queue", ["orders"])
    broker.clock.advance(seconds=2, timers=True)
    a.share_group_heartbeat()
    broker.topic("orders").produce("w", "x", "y", "z", partition=0)
    return a


@pytest.mark.rules("SGP-4", "SGP-5", "SGP-6")
def test_a_share_group_shows_what_is_in_delivery(broker: VirtualBroker) -> None:
    """Who has which records until when, how often they were delivered, and where the group begins."""
    a = share_consumer(broker)
    group = broker.group("queue")
    assert [each.start_offset for each in group.share_partitions] == [-1, -1, -1, -1]
    assert not any(each.is_loaded for each in group.share_partitions)
    a.share_fetch([("orders", 0)])
    lock_ms = broker.clock.now_ms + 30_000
    a.share_acknowledge("orders", 0, {0: "accept", 2: "release"})

    first = group.share_partitions[0]
    assert (first.start_offset, first.next_offset, first.is_loaded) == (1, 4, True)
    assert [tuple(each) for each in first.records] == [
        (1, 1, "Acquired", 1, a.member_id, lock_ms),
        (2, 2, "Available", 1, None, None),
        (3, 3, "Acquired", 1, a.member_id, lock_ms),
    ]
    explanation = str(group.explain())
    assert "1 Acquired, delivered once, by a-member-1 until" in explanation
    assert "committed offsets" not in explanation
    assert "records in delivery:\n  queue: orders-0: starts at 1" in broker.story()

    broker.clock.advance(seconds=31, timers=True)
    assert [tuple(each) for each in group.share_partitions[0].records] == [(1, 3, "Available", 1, None, None)]
    assert [each.delivery_count for each in a.share_fetch([("orders", 0)])] == [2, 2, 2]


@pytest.mark.rules("SGP-9", "SGB-3")
def test_what_is_stored_of_a_share_group_is_in_a_snapshot(broker: VirtualBroker) -> None:
    """What was acknowledged is; what was acquired is not, so that it is delivered again."""
    a = share_consumer(broker)
    a.share_fetch([("orders", 0)])
    a.share_acknowledge("orders", 0, {1: "accept"})
    broker.restore(broker.snapshot())
    first = broker.group("queue").share_partitions[0]

    assert (first.start_offset, first.next_offset, first.is_loaded) == (0, 2, False)
    assert [tuple(each) for each in first.records] == [(1, 1, "Acknowledged", 1, None, None)]
    a.reconnect()
    assert [each.value for each in a.share_fetch([("orders", 0)])] == [b"w", b"y", b"z"]


def test_other_groups_have_no_share_partitions(broker: VirtualBroker) -> None:
    """Nor has a group that does not exist."""
    two_members(broker)
    assert broker.group("billing").share_partitions == broker.group("nobody").share_partitions == []

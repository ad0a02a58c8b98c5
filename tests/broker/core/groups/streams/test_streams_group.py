"""A streams group over time: rebalances, leaves, timers, loading, offsets, the end."""

import pytest

from fakebroker.broker.core.events import AssignmentComputed, GroupEpochBumped
from fakebroker.broker.core.groups.streams import group_step
from fakebroker.broker.core.groups.streams.states import GroupState
from fakebroker.broker.core.groups.streams.tasks import NO_TASKS
from fakebroker.broker.core.topics import CONSUMER_OFFSETS
from fakebroker.protocol.errors import ErrorCode, KafkaError
from tests.support.streams_groups import STATEFUL, OneStreamsGroup, tasks
from tests.support.time import START


def two_members(**settings: object) -> OneStreamsGroup:
    """Members a and b with two tasks each."""
    one = OneStreamsGroup({"group.streams." + name.replace("_", "."): value for name, value in settings.items()})
    one.join("a")
    one.join("b")
    one.settle()
    one.written()
    one.events()
    return one


@pytest.mark.rules("STR-1", "STG-1", "STA-4")
def test_a_second_member_takes_over_half() -> None:
    """The first is told to keep its lowest tasks, reports that it did, and the second finds the others free."""
    one = OneStreamsGroup()
    one.join("a")
    waiting = one.join("b")
    answered = one.send("a", 2)
    nothing = one.send("b", 3)
    one.send("a", 2, tasks(0, 1))
    has = [one.has("a"), one.has("b")]
    got = one.send("b", 3)

    assert (waiting.member_epoch, waiting.tasks) == (3, NO_TASKS)
    assert (answered.member_epoch, answered.tasks) == (2, tasks(0, 1))
    assert nothing.tasks is None
    assert has == [(3, "STABLE", [0, 1], []), (3, "UNRELEASED_TASKS", [], [])]
    assert got.tasks == tasks(2, 3)
    assert one.transitions() == [("Empty", "Stable"), ("Stable", "Reconciling"), ("Reconciling", "Stable")]


@pytest.mark.rules("STG-1")
def test_events_tell_of_epochs_assignments_and_members() -> None:
    """The journal hears of each bump, each target, and each step of a member."""
    one = OneStreamsGroup()
    one.join("a")
    one.join("b")
    events = one.events()
    one.send("a", 2)
    one.send("a", 2, tasks(0, 1))

    assert [event for event in events if isinstance(event, GroupEpochBumped)] == [
        GroupEpochBumped("g", 2, "member a joined"),
        GroupEpochBumped("g", 3, "member b joined"),
    ]
    assert AssignmentComputed("g", 3, "sticky", 2) in events
    assert one.member_transitions() == [
        ("a", "Stable", "UnrevokedTasks", 2),
        ("a", "UnrevokedTasks", "Stable", 3),
    ]


@pytest.mark.rules("STH-31", "STB-1")
def test_a_member_leaves() -> None:
    """Its tombstones and the next epoch are one batch; what it had is free, and assigned with the next heartbeat."""
    one = two_members()
    epoch = one.group.group_epoch
    answer = one.leave("a")

    assert one.group.group_epoch == epoch + 1
    assert (answer.member_epoch, answer.heartbeat_interval_ms, answer.status, answer.tasks) == (-1, 0, (), None)
    assert one.types() == [["-22 a", "-21 a", "-19 a", "17"]]
    assert one.group.state is GroupState.ASSIGNING
    assert one.send("b", 3).tasks == tasks(0, 1, 2, 3)


@pytest.mark.rules("STM-1")
def test_a_silent_member_is_removed() -> None:
    """After the session timeout of the group's configuration, counted from its last heartbeat."""
    one = two_members()
    one.configure(session_timeout_ms=50_000)
    one.send("a", 3)
    one.wait(45_000)
    members = list(one.group.members)
    one.send("a", 3)
    one.wait(49_999)
    still = list(one.group.members)
    one.wait(1)

    assert (members, still, list(one.group.members)) == (["a"], ["a"], [])
    assert one.group.state is GroupState.EMPTY
    assert "member a timed out" in one.group.state_reason


@pytest.mark.rules("STM-2")
def test_a_member_that_keeps_its_tasks_is_removed() -> None:
    """After its rebalance timeout, however often it heartbeats; one that gave them up in time is not."""
    one = OneStreamsGroup()
    one.join("a", rebalance_timeout_ms=5_000)
    one.join("b")
    one.send("a", 2)
    one.wait(3_000)
    one.send("a", 2, tasks(0, 1, 2, 3))
    one.wait(1_999)
    still = list(one.group.members)
    one.wait(1)

    assert still == ["a", "b"]
    assert list(one.group.members) == ["b"]


@pytest.mark.rules("STM-2")
def test_a_member_that_gave_up_in_time_stays() -> None:
    """Its rebalance timer goes with the tasks that it had to give up."""
    one = OneStreamsGroup()
    one.join("a")
    one.join("b")
    one.send("a", 2)
    one.send("a", 2, tasks(0, 1))
    one.wait(5_000)

    assert list(one.group.members) == ["a", "b"]
    assert one.group.rebalance_timers.due_ms("a") is None


@pytest.mark.rules("STB-3", "STM-1", "STM-2")
def test_a_group_is_loaded_as_it_was() -> None:
    """Everything that is stored comes back from the log, and every timer begins anew."""
    one = OneStreamsGroup()
    one.create("c", 4)
    one.configure(num_standby_replicas=1)
    one.join("a", STATEFUL, client_tags={"zone": "z"})
    one.join("b", STATEFUL)
    one.send("a", 2)
    before = one.group
    one.wait(4_000)
    after = one.reload()

    assert after is not before
    assert after.members == before.members
    assert (after.group_epoch, after.assignment_epoch, after.metadata_hash) == (3, 3, before.metadata_hash)
    assert (after.target, after.assignment_configs) == (before.target, before.assignment_configs)
    assert (after.validated_topology_epoch, after.state) == (1, before.state)
    one.wait(4_000)
    assert list(after.members) == ["a", "b"]
    one.wait(1_000)
    assert list(after.members) == ["b"]
    one.wait(45_000)
    assert not after.members


@pytest.mark.rules("STB-1", "STL-2")
def test_a_group_is_deleted() -> None:
    """Not while it has members; then its tombstones are written, and the group is gone, also from the log."""
    one = two_members()
    code = one.shard.delete_group("g", one.now)
    one.leave("a")
    one.leave("b")
    one.written()
    deleted = one.shard.delete_group("g", one.now)

    assert (code, deleted) == (ErrorCode.NON_EMPTY_GROUP, ErrorCode.NONE)
    assert one.types() == [["-20", "-17", "-23"]]
    one.cluster.nodes[1].coordinator.unload(one.shard.partition.index, one.now)
    assert one.shard.group("g") is None


@pytest.mark.rules("STB-1")
def test_tombstones_of_members_come_with_those_of_their_group() -> None:
    """A group that is removed with members takes their records along, kind by kind."""
    one = two_members()

    types = [(record.type, getattr(record.key, "member_id", "")) for record in one.group.tombstones()]

    assert types == [
        (22, "b"), (22, "a"), (21, "b"), (21, "a"), (20, ""), (19, "b"), (19, "a"), (17, ""), (23, ""),
    ]  # fmt: skip


@pytest.mark.rules("STO-1")
def test_who_may_commit() -> None:
    """Members with their epoch or an older one, from version 9 on; anybody without an epoch while nobody is in."""
    one = two_members()
    group = one.group

    assert group.error_for_commit("a", None, 3, 9) is ErrorCode.NONE
    assert group.error_for_commit("a", None, 3, 8) is ErrorCode.UNSUPPORTED_VERSION
    assert group.error_for_commit("nobody", None, 3, 9) is ErrorCode.UNKNOWN_MEMBER_ID
    assert group.error_for_commit("", None, -1, 9) is ErrorCode.UNKNOWN_MEMBER_ID
    assert group.error_for_commit("a", None, 4, 9) is ErrorCode.STALE_MEMBER_EPOCH
    assert group.error_for_txn_commit("a", None, 4) is ErrorCode.ILLEGAL_GENERATION
    assert group.error_for_txn_commit("", None, -1) is ErrorCode.NONE
    one.leave("a")
    one.leave("b")
    assert group.error_for_commit("", None, -1, 9) is ErrorCode.NONE
    assert group.error_for_commit("a", None, 3, 9) is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.rules("STO-1")
def test_who_may_fetch_offsets() -> None:
    """Whoever names no member, and members with their very epoch."""
    group = two_members().group

    assert group.error_for_offset_fetch(None, -1) is ErrorCode.NONE
    assert group.error_for_offset_fetch("a", 3) is ErrorCode.NONE
    assert group.error_for_offset_fetch("a", 2) is ErrorCode.STALE_MEMBER_EPOCH
    assert group.error_for_offset_fetch("nobody", 3) is ErrorCode.UNKNOWN_MEMBER_ID
    assert group.error_for_offset_fetch(None, 3) is ErrorCode.UNKNOWN_SERVER_ERROR
    assert group.error_for_offset_delete() is ErrorCode.NONE


@pytest.mark.rules("STO-1", "STR-4")
def test_an_older_epoch_is_good_for_tasks_held_since_then() -> None:
    """Also for one that is being given up; not for those that came later, and not for topics that no task reads."""
    one = OneStreamsGroup()
    one.join("a")
    one.join("b")
    one.send("a", 2)
    group = one.group
    pending = group.had_at("a", 2, "t", 3)
    one.send("a", 2, tasks(0, 1))
    one.send("b", 3)

    assert pending
    assert group.error_for_commit("a", None, 2, 9) is ErrorCode.STALE_MEMBER_EPOCH
    assert group.is_late_commit("a", 2)
    assert not group.is_late_commit("a", 4)
    assert not group.is_late_commit("nobody", 2)
    assert group.had_at("a", 2, "t", 0)
    assert not group.had_at("a", 1, "t", 0)
    assert not group.had_at("a", 2, "t", 3)
    assert not group.had_at("b", 2, "t", 3)
    assert not group.had_at("a", 2, "elsewhere", 0)


@pytest.mark.rules("STO-1")
def test_the_topics_that_are_read() -> None:
    """Source topics of the topology, while somebody is in the group."""
    one = two_members()
    read = [one.group.is_subscribed("t"), one.group.is_subscribed("elsewhere")]
    one.leave("a")
    one.leave("b")

    assert read == [True, False]
    assert not one.group.is_subscribed("t")
    assert one.group.subscribed_topics == frozenset()


def test_a_member_is_evicted() -> None:
    """A test removes a member as its session timeout would; there must be one."""
    one = two_members()
    one.group.evict("a", one.now)

    assert list(one.group.members) == ["b"]
    with pytest.raises(KeyError):
        one.group.evict("a", one.now)


def test_the_end_of_a_group_ends_its_timers() -> None:
    """Nothing of a group that was unloaded runs any more."""
    one = OneStreamsGroup({"group.streams.initial.rebalance.delay.ms": 3_000})
    one.join("a")
    group = one.group
    group.unload(one.now)

    assert group.is_dead
    assert one.wait(60_000) == 0


@pytest.mark.rules("STE-3")
def test_a_first_target_that_is_too_large_is_not_tried_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each try may take a second: the pause doubles, until the group changes."""
    tried: list[int] = []

    def assign(*_: object) -> None:
        tried.append(one.now.mono_ms - START.mono_ms)
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "it is too large")

    monkeypatch.setattr(group_step, "assign", assign)
    one = OneStreamsGroup({"group.streams.initial.rebalance.delay.ms": 3_000})
    one.join("a")
    one.join("b")
    one.wait(8_000)
    assert tried == [3_000, 3_500, 4_500, 6_500]

    one.join("c")  # the next would be at 10,500
    one.wait(2_000)
    assert tried[4:] == [8_500, 9_000, 10_000]
    monkeypatch.undo()
    one.wait(2_000)
    assert not one.group.in_initial_delay
    assert {len(each) for each in one.target().values()} == {1, 2}


def test_standbys_count_for_what_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """A task is in the target of each member that has it: more than the log takes are not assigned at all."""
    one = OneStreamsGroup()
    one.configure(num_standby_replicas=2)
    one.create("c", 4)
    one.join("a", STATEFUL)
    topic = one.cluster.topics.get(CONSUMER_OFFSETS)
    assert topic is not None
    monkeypatch.setattr(group_step, "assign", lambda *_: pytest.fail("it is assigned"))
    monkeypatch.setattr(group_step, "_TASK_BYTES", topic.config.log.max_message_bytes // 7)
    with pytest.raises(KafkaError, match="the group has 8 tasks, and at most 7 fit"):
        one.join("b", STATEFUL)

"""Targets of large groups: computed after the heartbeat, in steps, for the group as it is then."""

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.core import long_passes
from fakebroker.broker.core.events import AssignmentComputed
from fakebroker.broker.core.groups.modern import long_target
from fakebroker.broker.core.groups.modern.long_target import NAMES_AT_ONCE, PARTITIONS_AT_ONCE, is_long
from fakebroker.protocol.errors import ErrorCode
from tests.support.consumer_groups import OneConsumerGroup
from tests.support.share_groups import OneShareGroup
from tests.support.streams_groups import OneStreamsGroup, tasks

HALVES = [{"t": [0, 1]}, {"t": [2, 3]}]


@pytest.fixture(autouse=True)
def _all_are_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each target of some partitions takes long: a step for each unit of it."""
    monkeypatch.setattr(long_target, "PARTITIONS_AT_ONCE", 0)
    monkeypatch.setattr(long_target, "UNITS_PER_STEP", 0)


def targets(lab: Any) -> list[dict[str, list[int]]]:
    """The target of each member."""
    return [lab.names(target) for target in lab.group.target.values()]


def test_what_is_long() -> None:
    """A target of many partitions, and one for members that name many topics, though they be the same."""
    assert not is_long(0, NAMES_AT_ONCE)
    assert is_long(0, NAMES_AT_ONCE + 1)
    assert is_long(1, 0)
    assert PARTITIONS_AT_ONCE > 1_000


@pytest.mark.rules("CGE-10")
def test_a_consumer_is_assigned_with_its_next_heartbeat() -> None:
    """Its join is answered as during the assignment interval; then the target is stored by itself."""
    lab = OneConsumerGroup()
    answer = lab.join("a")
    assert (answer.member_epoch, lab.assigned(answer)) == (1, {})
    assert lab.group.state_of_long_target == "the assignment of epoch 2 is being computed"
    joined = lab.types()
    lab.wait(0)
    assert (joined, lab.types()) == ([["5 a", "3", "8 a"]], [["7 a", "6"]])
    assert lab.group.target == lab.reload().target
    answer = lab.send("a", 1)
    assert (answer.member_epoch, lab.assigned(answer)) == (2, {"t": [0, 1, 2, 3]})


def test_the_journal_hears_of_it() -> None:
    """As of any other target."""
    lab = OneConsumerGroup()
    lab.join("a")
    lab.wait(0)
    computed = [event for event in lab.cluster.outbox if isinstance(event, AssignmentComputed)]
    assert computed == [AssignmentComputed("g", 2, "uniform", 1)]


def computing(lab: Any, meanwhile: Callable[[], object]) -> None:
    """Something happens between two steps of the computation."""
    passes = lab.cluster.timers.passes
    passes.limit()
    passes.spend(long_passes.TURN_COST - 1)  # one step is left
    lab.wait(0)
    assert passes
    passes.lift_limit()
    meanwhile()
    while (rest := passes.take()) is not None:
        rest(lab.now)
    lab.wait(0)


@pytest.mark.parametrize("is_first_reconciled", [False, True])
def test_whoever_joins_meanwhile_is_in_the_target(is_first_reconciled: bool) -> None:
    """A target of an older group epoch is not stored."""
    lab = OneConsumerGroup()
    lab.join("a")
    if is_first_reconciled:
        lab.wait(0)
        lab.send("a", 1)
    lab.send("a", lab.group.members["a"].epoch)
    lab.join("c", ["u"])
    computing(lab, lambda: lab.join("b"))
    assert lab.group.assignment_epoch == lab.group.group_epoch
    assert sorted((name, len(had)) for target in targets(lab) for name, had in target.items()) == [
        ("t", 2),
        ("t", 2),
        ("u", 2),
    ]


def test_a_static_member_that_comes_back_under_another_id_has_the_target() -> None:
    """Which changes no group epoch."""
    lab = OneConsumerGroup()
    lab.join("a", instance="i")
    lab.send("a", -2, instance="i")
    computing(lab, lambda: lab.join("b", instance="i"))
    assert {name: lab.names(target) for name, target in lab.group.target.items()} == {"b": {"t": [0, 1, 2, 3]}}


def test_the_last_one_leaves_meanwhile() -> None:
    """Nothing is computed for nobody, and the next to join is assigned again."""
    lab = OneConsumerGroup()
    lab.join("a")
    lab.send("a", -1)
    lab.wait(0)
    assert lab.group.target == {}
    lab.join("b")
    computing(lab, lambda: lab.send("b", -1))
    lab.wait(0)
    assert lab.group.target == {}
    lab.join("c")
    lab.wait(0)
    assert targets(lab) == [{"t": [0, 1, 2, 3]}]


def test_the_first_member_leaves_meanwhile() -> None:
    """By whom the computation began: it goes on for the others."""
    lab = OneConsumerGroup()
    lab.join("a")
    lab.join("b")
    computing(lab, lambda: lab.send("a", -1))
    assert {name: lab.names(target) for name, target in lab.group.target.items()} == {"b": {"t": [0, 1, 2, 3]}}


@pytest.mark.parametrize("assignor", ["uniform", "range"])
@pytest.mark.parametrize("topics", [("t", "u"), ("u", "t")])
def test_a_topic_is_deleted_meanwhile(assignor: str, topics: tuple[str, str]) -> None:
    """Whoever had its partitions gets others with the next target; nothing fails."""
    lab = OneConsumerGroup()
    lab.join("a", topics, assignor=assignor)
    lab.wait(0)
    lab.send("a", 1)
    lab.join("b", ["t"])
    computing(lab, lambda: lab.cluster.topics.delete("u", lab.now))
    lab.send("b", lab.group.members["b"].epoch)
    lab.wait(0)
    found = [lab.names(target) for target in lab.group.target.values()]
    assert sorted((name, len(had)) for target in found for name, had in target.items()) == [("t", 2), ("t", 2)]


def test_a_target_that_a_heartbeat_computed_itself_is_not_stored_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was small when the heartbeat came."""
    lab = OneConsumerGroup()
    lab.join("a", ["t", "u"])

    def heartbeat() -> None:
        monkeypatch.setattr(long_target, "PARTITIONS_AT_ONCE", 1_000)
        lab.send("a", 1, topics=["t"])
        lab.types()

    computing(lab, heartbeat)
    assert (lab.types(), targets(lab)) == ([], [{"t": [0, 1, 2, 3]}])


@pytest.mark.rules("STE-3")
def test_nothing_is_computed_in_the_initial_delay_of_a_streams_group() -> None:
    """Its members changed meanwhile, all of them: the first target of the new ones comes when their delay is over."""
    one = OneStreamsGroup({"group.streams.initial.rebalance.delay.ms": 3_000})
    epoch = one.join("a").member_epoch
    one.send("a", epoch)

    def change() -> None:
        one.leave("a")
        one.join("b")

    passes = one.cluster.timers.passes
    one.wait(2_999)
    passes.limit()
    one.wait(1)
    passes.lift_limit()
    assert one.group.target == {}
    computing(one, change)
    assert (one.group.in_initial_delay, one.group.target) == (True, {})
    epoch = one.send("b", one.group.members["b"].epoch).member_epoch
    one.wait(3_000)
    one.wait(0)
    answer = one.send("b", epoch)
    assert answer.tasks == tasks(0, 1, 2, 3)


@pytest.mark.parametrize("lab_of", [OneConsumerGroup, OneShareGroup, OneStreamsGroup])
def test_a_computation_leaves_no_cycle(lab_of: Callable[[], Any]) -> None:
    """Nothing that it made waits for the collector."""
    lab = lab_of()
    lab.join("a")
    lab.wait(0)
    gc.collect()
    gc.disable()
    try:
        lab.join("b")
        lab.wait(0)
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_a_group_that_has_ended_is_in_no_cycle_with_it() -> None:
    """A share group is in none at all."""
    lab = OneShareGroup()
    lab.join("a")
    lab.wait(0)
    group = weakref.ref(lab.group)
    gc.disable()
    try:
        lab.cluster.nodes[1].coordinator.unload(lab.shard.partition.index, lab.now)
        assert group() is None
    finally:
        gc.enable()


def test_a_group_that_is_unloaded_is_left_alone() -> None:
    """What was under way is forgotten; the group that was loaded anew computes its target itself."""
    lab = OneConsumerGroup()
    lab.join("a")
    lab.reload()
    lab.wait(0)
    assert lab.group.target == {}
    lab.send("a", 1)
    lab.wait(0)
    assert targets(lab) == [{"t": [0, 1, 2, 3]}]


def test_a_target_too_large_to_store_is_not_computed_again() -> None:
    """Heartbeats are refused as if they had computed it, until the group is another one."""
    lab = OneConsumerGroup()
    offsets_topic = lab.cluster.topics.internal("__consumer_offsets")
    lab.join("a", ["t"])
    offsets_topic.config.replace({"max.message.bytes": "80"})
    lab.wait(0)
    refused = lab.send("a", 1)
    assert (refused.code, lab.group.target) == (ErrorCode.UNKNOWN_SERVER_ERROR, {})
    assert "too large" in (refused.message or "")
    assert lab.group.state_of_long_target == "the assignment of epoch 2 is too large to be stored"
    offsets_topic.config.replace({})
    assert lab.send("a", 1).code == ErrorCode.UNKNOWN_SERVER_ERROR
    lab.join("b")
    lab.wait(0)
    assert sorted(targets(lab), key=str) == HALVES


def test_a_computation_that_fails_is_begun_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug of ours, or no memory left, does not leave the group without a target for good."""
    lab = OneConsumerGroup()
    lab.join("a")
    with monkeypatch.context() as broken:
        broken.setattr(type(lab.group), "compute_target", fail)
        with pytest.raises(MemoryError):
            lab.wait(0)
    lab.send("a", 1)
    lab.wait(0)
    assert targets(lab) == [{"t": [0, 1, 2, 3]}]


def fail(*_: object) -> Any:
    raise MemoryError


@pytest.mark.rules("SGH-13")
def test_a_share_member_is_assigned_with_its_next_heartbeat() -> None:
    """As a consumer."""
    lab = OneShareGroup()
    epoch = lab.join("a").member_epoch
    for _ in range(3):
        lab.wait(0)
        answer = lab.send("a", epoch)
        epoch = answer.member_epoch
    assert targets(lab) == [{"t": [0, 1]}]
    assert lab.names(lab.group.members["a"].current.partitions) == {"t": [0, 1]}
    assert lab.group.is_reconciled


@pytest.mark.rules("STE-4")
def test_a_streams_member_is_assigned_with_its_next_heartbeat() -> None:
    """Its answer says that the assignment is on its way."""
    one = OneStreamsGroup()
    answer = one.join("a")
    assert [status.detail for status in answer.status] == ["the assignment is being computed"]
    one.wait(0)
    assert one.send("a", answer.member_epoch).tasks == tasks(0, 1, 2, 3)


@pytest.mark.rules("STE-3")
def test_the_first_target_of_a_streams_group_comes_after_its_initial_delay() -> None:
    """Those that joined meanwhile are in it."""
    one = OneStreamsGroup({"group.streams.initial.rebalance.delay.ms": 3_000})
    epochs = {name: one.join(name).member_epoch for name in "ab"}
    one.wait(3_000)
    one.wait(0)
    found = [one.send(name, epoch).tasks for name, epoch in epochs.items()]
    assert [len(each.active) for each in found if each is not None] == [2, 2]

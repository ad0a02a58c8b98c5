"""Checks and steps that heartbeats of all kinds of groups share."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.core.groups.consumer.consumer_group import ConsumerGroup
from fakebroker.broker.core.groups.modern.heartbeats import (
    check_epoch,
    check_room,
    group_for_heartbeat,
    is_target_due,
    metadata_may_have_changed,
    unknown_member,
)
from fakebroker.protocol.errors import ErrorCode, KafkaError
from tests.support.consumer_groups import OneConsumerGroup


def refusal(call: Callable[..., Any], *arguments: Any, **options: Any) -> ErrorCode:
    with pytest.raises(KafkaError) as refused:
        call(*arguments, **options)
    return refused.value.code


def find(lab: OneConsumerGroup, *, may_create: bool = True, may_replace_classic: bool = True) -> ConsumerGroup:
    return group_for_heartbeat(
        lab.shard, ConsumerGroup, "g", lab.now, may_create=may_create, may_replace_classic=may_replace_classic
    )


def test_a_group_that_is_not_there_is_made_but_not_stored() -> None:
    """It becomes a group with its first records only."""
    lab = OneConsumerGroup()

    assert find(lab).group_epoch == 1
    assert lab.shard.group("g") is None
    assert refusal(find, lab, may_create=False) is ErrorCode.GROUP_ID_NOT_FOUND


def test_a_group_that_is_there_is_found() -> None:
    """Whether it may be made or not."""
    lab = OneConsumerGroup()
    lab.join("m1")

    assert find(lab, may_create=False) is lab.group is find(lab)


@pytest.mark.rules("CGH-13", "SGH-2")
def test_an_empty_classic_group_counts_as_none_for_some() -> None:
    """Share groups do not replace it."""
    lab = OneConsumerGroup()
    lab.shard.create_group("g", lab.now)

    assert find(lab).is_empty
    assert refusal(find, lab, may_replace_classic=False) is ErrorCode.GROUP_ID_NOT_FOUND


def test_who_is_there_is_served_in_a_full_group() -> None:
    """Others are refused."""
    lab = OneConsumerGroup()
    lab.join("m1")

    check_room(lab.group, 1, 1, is_member=True)
    check_room(lab.group, 1, 2, is_member=False)
    assert refusal(check_room, lab.group, 1, 1, is_member=False) is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert unknown_member(lab.group, "x").code is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.rules("CGH-21", "CGH-22", "CGH-23", "SGH-5")
@pytest.mark.parametrize(
    ("received", "is_repetition", "is_good"),
    [(5, False, True), (0, False, True), (6, True, False), (4, True, True), (4, False, False), (3, True, False)],
)
def test_which_epochs_are_good(received: int, is_repetition: bool, is_good: bool) -> None:
    """The known one, 0, and the one before if it is a repetition."""
    if is_good:
        check_epoch(received, 5, 4, lambda: is_repetition)
    else:
        assert refusal(check_epoch, received, 5, 4, lambda: is_repetition) is ErrorCode.FENCED_MEMBER_EPOCH


@pytest.mark.rules("CGE-10")
@pytest.mark.parametrize(
    ("group_epoch", "interval_ms", "waited_ms", "is_due"),
    [(2, 0, 0, False), (3, 0, 0, True), (3, 1_000, 999, False), (3, 1_000, 1_000, True)],
)
def test_when_a_target_is_due(group_epoch: int, interval_ms: int, waited_ms: int, is_due: bool) -> None:
    """The group wants another one, and the last is old enough."""
    lab = OneConsumerGroup()
    lab.join("m1")
    lab.wait(waited_ms)

    assert is_target_due(lab.group, group_epoch, interval_ms, lab.now) is is_due


@pytest.mark.rules("CGE-10")
def test_the_first_target_is_always_due() -> None:
    """There is none that would be too young."""
    lab = OneConsumerGroup()

    assert is_target_due(find(lab), 2, 15_000, lab.now)


@pytest.mark.rules("CGE-4", "CGE-6")
def test_when_a_group_looks_at_the_topics() -> None:
    """First of all, and whenever some topic was made, changed or deleted."""
    lab = OneConsumerGroup()
    assert metadata_may_have_changed(find(lab))
    lab.join("m1")
    assert not metadata_may_have_changed(lab.group)
    lab.create("v", 1)

    assert metadata_may_have_changed(lab.group)


def test_a_step_without_records_stores_nothing() -> None:
    """A group that is new stays unknown."""
    lab = OneConsumerGroup()
    group = find(lab)

    assert group.write([], lab.now, "nothing happened") is group
    assert (lab.shard.group("g"), lab.types()) == (None, [])

"""Static members: who holds an instance id, going away and coming back."""

import pytest

from fakebroker.broker.core.groups.consumer.messages import HeartbeatAnswer
from fakebroker.protocol.errors import ErrorCode
from tests.support.consumer_groups import OneConsumerGroup


def two_members(**settings: object) -> OneConsumerGroup:
    """Static m1 (instance "i1") and dynamic m2 share the topic."""
    lab = OneConsumerGroup({name.replace("_", "."): value for name, value in settings.items()})
    lab.join("m1", instance="i1")
    lab.join("m2")
    lab.send("m1", 2, {"t": [0, 1]}, instance="i1")
    lab.send("m2", 3)
    lab.types(), lab.events()
    return lab


@pytest.mark.rules("CGS-1")
@pytest.mark.parametrize("member_id", ["m1", "other"])
def test_an_instance_id_that_is_held(member_id: str) -> None:
    """Nobody can join with it before its holder left, not even the holder."""
    lab = two_members()

    assert lab.join(member_id, instance="i1").code is ErrorCode.UNRELEASED_INSTANCE_ID


@pytest.mark.rules("CGS-2", "CGE-20", "CGR-5")
def test_a_static_member_goes_away() -> None:
    """What was pending is free, the rest stays reserved with stamps of 0; the group epoch does not move."""
    lab = OneConsumerGroup()
    lab.join("m1", instance="i1")
    lab.join("m2")
    lab.send("m1", 2, instance="i1")
    assert lab.has("m1") == (2, "UNREVOKED_PARTITIONS", {"t": [0, 1]}, {"t": [2, 3]})

    answer = lab.send("m1", -2, instance="i1")

    assert answer == HeartbeatAnswer(member_id="m1", member_epoch=-2)
    assert lab.has("m1") == (-2, "UNREVOKED_PARTITIONS", {"t": [0, 1]}, {})
    assert list(lab.group.members["m1"].current.assigned.values()) == [{0: 0, 1: 0}]
    assert lab.assigned(lab.send("m2", 3)) == {"t": [2, 3]}
    assert (lab.group.state, lab.group.group_epoch) == ("Reconciling", 3)
    assert lab.send("m1", -2, instance="i1").code is ErrorCode.NONE


@pytest.mark.rules("CGS-3", "CGB-2")
@pytest.mark.parametrize("member_id", ["m1", "m1b"])
def test_a_static_member_comes_back(member_id: str) -> None:
    """Under whatever member id it has all that it had; nobody else notices."""
    lab = two_members()
    lab.send("m1", -2, instance="i1")
    lab.types(), lab.events()

    answer = lab.join(member_id, instance="i1", client="client-m1")

    assert (answer.member_epoch, lab.assigned(answer)) == (3, {"t": [0, 1]})
    assert lab.types() == [
        ["-8 m1", "-7 m1", "-5 m1", f"5 {member_id}", f"7 {member_id}", f"8 {member_id}", f"8 {member_id}"]
    ]
    assert (lab.group.state, lab.group.group_epoch, lab.group.static) == ("Stable", 3, {"i1": member_id})
    assert set(lab.group.members) == {member_id, "m2"} == set(lab.group.target)


@pytest.mark.rules("CGS-7")
def test_a_member_that_becomes_static_has_nothing() -> None:
    """Its target is not found by the new instance id; the next assignment epoch brings it back."""
    lab = OneConsumerGroup()
    lab.join("m1")
    lab.join("m2")

    assert lab.assigned(lab.join("m1", instance="i1")) == {}
    assert lab.has("m1") == (3, "STABLE", {}, {})
    assert lab.assigned(lab.send("m2", 3)) == {"t": [2, 3]}
    lab.join("m3")
    assert lab.assigned(lab.send("m1", 3, instance="i1"))


@pytest.mark.rules("CGS-3")
def test_a_static_member_comes_back_with_another_subscription() -> None:
    """Then the epoch moves, and its target is written anew although its id is new."""
    lab = two_members()
    lab.send("m1", -2, instance="i1")
    lab.types()

    answer = lab.join("m1b", ["u"], instance="i1")

    assert (answer.member_epoch, lab.assigned(answer)) == (4, {"u": [0, 1]})
    assert lab.types() == [
        ["-8 m1", "-7 m1", "-5 m1", "5 m1b", "7 m1b", "8 m1b", "5 m1b", "3", "7 m2", "7 m1b", "6", "8 m1b"]
    ]


@pytest.mark.rules("CGS-4", "CGH-20")
@pytest.mark.parametrize("epoch", [3, -1, -2])
@pytest.mark.parametrize(
    ("instance", "code"), [("i1", ErrorCode.FENCED_INSTANCE_ID), ("i9", ErrorCode.UNKNOWN_MEMBER_ID)]
)
def test_another_member_id_than_the_holders(epoch: int, instance: str, code: ErrorCode) -> None:
    """It is fenced; an instance id that nobody holds is unknown."""
    lab = two_members()

    assert lab.send("other", epoch, instance=instance).code is code


@pytest.mark.rules("CGS-4")
def test_the_old_epoch_of_a_member_that_went_away() -> None:
    """It must join again."""
    lab = two_members()
    lab.send("m1", -2, instance="i1")

    assert lab.send("m1", 3, instance="i1").code is ErrorCode.FENCED_MEMBER_EPOCH


@pytest.mark.rules("CGH-24")
def test_a_static_member_may_leave_out_its_instance_id() -> None:
    """Then it is looked up by its member id, and keeps its instance id."""
    lab = two_members()

    assert lab.send("m1", 3).code is ErrorCode.NONE
    assert lab.send("other", 3).code is ErrorCode.UNKNOWN_MEMBER_ID
    assert lab.group.static == {"i1": "m1"}


@pytest.mark.rules("CGS-5")
def test_a_static_member_leaves_for_good() -> None:
    """As a dynamic one does."""
    lab = two_members()

    lab.send("m1", -1, instance="i1")

    assert (lab.group.static, list(lab.group.members), lab.group.group_epoch) == ({}, ["m2"], 4)


@pytest.mark.rules("CGS-6")
def test_a_member_that_stays_away_is_removed() -> None:
    """Its session runs on from the last heartbeat before it left."""
    lab = two_members()
    lab.wait(30_000)
    lab.send("m1", -2, instance="i1")
    lab.send("m2", 3)
    lab.wait(14_999)
    assert "m1" in lab.group.members
    lab.wait(1)

    assert list(lab.group.members) == ["m2"]


def test_going_away_and_coming_back_is_reported() -> None:
    """A test sees it by name."""
    lab = two_members()
    lab.send("m1", -2, instance="i1")
    lab.join("m1b", instance="i1")

    assert lab.member_transitions() == [
        ("m1", "Stable", "Away", -2),
        ("m1", "Away", "Absent", -1),
        ("m1b", "Absent", "Stable", 3),
    ]


def test_a_member_takes_an_instance_id_later() -> None:
    """A known dynamic member that joins again with one becomes static."""
    lab = OneConsumerGroup()
    lab.join("m1")

    lab.join("m1", instance="i1")

    assert lab.group.static == {"i1": "m1"}

"""Group epoch, target assignment and the group's state."""

import pytest

from fakebroker.broker.core.events import AssignmentComputed, GroupEpochBumped
from tests.support.consumer_groups import OneConsumerGroup

INTERVAL = {"group.consumer.assignment.interval.ms": 1000}


@pytest.mark.rules("CGE-1", "CGB-1")
def test_the_records_of_a_join_are_one_batch() -> None:
    """What it reported, the epoch, changed targets, for which epoch they are, what it has."""
    lab = OneConsumerGroup()

    lab.join("m1")
    lab.join("m2")

    assert lab.types() == [
        ["5 m1", "3", "7 m1", "6", "8 m1"],
        ["5 m2", "3", "7 m1", "7 m2", "6", "8 m2"],
    ]


@pytest.mark.rules("CGE-2")
def test_the_set_of_topic_names_counts() -> None:
    """Order and repetitions do not matter."""
    lab = OneConsumerGroup()
    lab.join("m1", ["t", "u"])

    lab.send("m1", 2, topics=["u", "t", "u"])
    assert lab.group.group_epoch == 2
    lab.send("m1", 2, topics=["u"])
    assert lab.group.group_epoch == 3


@pytest.mark.rules("CGE-3", "CGH-10")
def test_a_group_that_nobody_subscribed_in() -> None:
    """Both epochs stay 1 and no target is ever computed; its members are Stable."""
    lab = OneConsumerGroup()

    assert (lab.join("m1", []).member_epoch, lab.join("m2", []).member_epoch) == (1, 1)
    assert lab.send("m1", 1).member_epoch == 1
    assert lab.types() == [["5 m1", "8 m1"], ["5 m2", "8 m2"]]
    assert (lab.group.state, lab.group.group_epoch, lab.group.assignment_epoch) == ("Stable", 1, 1)


@pytest.mark.rules("CGE-3")
def test_a_new_member_without_topics_takes_the_current_epoch() -> None:
    """It is no reason to compute anything."""
    lab = OneConsumerGroup()
    lab.join("m1")

    assert lab.join("m2", []).member_epoch == 2
    assert lab.group.group_epoch == 2


@pytest.mark.rules("CGA-10", "CGE-3")
def test_who_joins_without_topics_may_get_a_share_that_it_never_takes() -> None:
    """A target is due when it joins, and without a bump the group still counts as one whose members read the same."""
    lab = OneConsumerGroup()
    lab.join("m1")
    lab.join("m2")
    lab.send("m2", -1)
    answer = lab.join("m3", [])

    assert (answer.member_epoch, lab.assigned(answer)) == (4, {})
    assert sum(map(len, lab.names(lab.group.target_of("m3")).values())) == 2

    lab.join("m4")

    assert lab.names(lab.group.target_of("m3")) == {}


@pytest.mark.rules("CGE-4")
def test_partitions_that_are_added_are_assigned() -> None:
    """Any member's next heartbeat finds them; the hash that is stored is another one."""
    lab = OneConsumerGroup()
    lab.join("m1")
    before = lab.group.metadata_hash
    lab.topics["t"].add_partitions([[1]])

    answer = lab.send("m1", 2)

    assert (answer.member_epoch, lab.assigned(answer)) == (3, {"t": [0, 1, 2, 3, 4]})
    assert lab.group.metadata_hash not in (before, 0)


@pytest.mark.rules("CGE-4")
def test_other_topics_do_not_matter() -> None:
    """Nor do names that do not exist."""
    lab = OneConsumerGroup()
    lab.join("m1", ["t", "missing"])
    lab.create("other", 3)

    assert lab.send("m1", 2).member_epoch == 2
    lab.create("missing", 1)
    assert lab.assigned(lab.send("m1", 2)) == {"t": [0, 1, 2, 3], "missing": [0]}


@pytest.mark.rules("CGE-4")
def test_a_topic_made_again_is_another_one() -> None:
    """Its id, and so the hash, is another; the partitions of the old one have to be given up."""
    lab = OneConsumerGroup()
    lab.join("m1", ["t", "u"])
    lab.cluster.topics.delete("u", lab.now)
    old = lab.topics.pop("u")
    lab.create("u", 1)

    assert lab.assigned(lab.send("m1", 2)) == {"t": [0, 1, 2, 3]}
    assert list(lab.group.members["m1"].current.pending) == [old.id]
    assert lab.assigned(lab.send("m1", 2, {"t": [0, 1, 2, 3]})) == {"t": [0, 1, 2, 3], "u": [0]}


@pytest.mark.rules("CGE-4", "CGS-2")
def test_a_static_member_that_goes_away_does_not_look_at_the_topics() -> None:
    """What changed before is noticed by the next heartbeat."""
    lab = OneConsumerGroup()
    lab.join("m1", instance="i1")
    lab.join("m2")
    lab.topics["t"].add_partitions([[1]])
    lab.send("m1", -2, instance="i1")

    assert lab.send("m2", 3).member_epoch == 4


@pytest.mark.rules("CGE-4", "CGX-5")
def test_a_leave_leaves_looking_at_the_topics_to_the_next_heartbeat() -> None:
    """Topics that changed before a leave, and are not read any more when somebody looks, bump the epoch again."""
    lab = OneConsumerGroup()
    lab.join("m1", pattern="u")
    lab.wait(0)
    lab.join("m2")
    lab.topics["u"].add_partitions([[1]])
    lab.send("m2", -1)

    assert lab.send("m1", 2, {"t": [0, 1, 2, 3]}, pattern="u|v").code == 0
    assert lab.group.group_epoch == 6


@pytest.mark.rules("CGE-6")
def test_the_first_heartbeat_after_loading_looks_at_the_metadata() -> None:
    """What changed meanwhile is noticed."""
    lab = OneConsumerGroup()
    lab.join("m1")
    lab.reload()
    lab.topics["t"].add_partitions([[1]])

    assert lab.send("m1", 2).member_epoch == 3


@pytest.mark.rules("CGE-10", "CGE-11")
def test_targets_are_computed_once_per_interval() -> None:
    """Until then a new member gets the old assignment epoch and nothing; then any heartbeat computes."""
    lab = OneConsumerGroup(INTERVAL)
    lab.join("m1")
    lab.wait(999)

    early = lab.join("m2")
    assert (early.member_epoch, lab.assigned(early)) == (2, {})
    assert (lab.group.group_epoch, lab.group.assignment_epoch, lab.group.state) == (3, 2, "Assigning")
    lab.wait(1)
    assert lab.assigned(lab.send("m1", 2)) == {"t": [0, 1]}
    assert lab.group.assignment_epoch == 3


@pytest.mark.rules("CGE-10", "CGC-1")
def test_the_interval_is_a_config_of_the_group() -> None:
    """Its own value counts; 0 computes always."""
    lab = OneConsumerGroup(INTERVAL)
    lab.join("m1")
    lab.cluster.group_configs["g"] = {"consumer.assignment.interval.ms": "0"}

    assert lab.join("m2").member_epoch == 3


@pytest.mark.rules("CGE-10")
def test_a_target_takes_the_group_epoch_of_its_moment() -> None:
    """Several bumps become one target."""
    lab = OneConsumerGroup(INTERVAL)
    for member_id in ("m1", "m2", "m3"):
        lab.join(member_id)
    lab.wait(1_000)
    lab.events()

    assert lab.send("m2", 2).member_epoch == 4
    assert [event for event in lab.events() if isinstance(event, AssignmentComputed)] == [
        AssignmentComputed("g", 4, "uniform", 3)
    ]


@pytest.mark.rules("CGE-20")
def test_the_states_of_a_group() -> None:
    """They follow from members and epochs; each change is reported with its reason."""
    lab = OneConsumerGroup(INTERVAL)
    assert lab.join("m1").member_epoch == 2
    lab.join("m2")
    lab.wait(1_000)
    lab.send("m2", 2)
    lab.send("m1", 2, {"t": [0, 1]})
    lab.send("m2", 3)
    lab.send("m1", -1)
    lab.send("m2", -1)

    assert lab.transitions() == [
        ("Empty", "Stable"),
        ("Stable", "Assigning"),
        ("Assigning", "Reconciling"),
        ("Reconciling", "Stable"),
        ("Stable", "Assigning"),
        ("Assigning", "Empty"),
    ]
    assert lab.group.state_reason == "member m2 left"


def test_every_bump_is_reported_with_its_reason() -> None:
    """The journal can say why."""
    lab = OneConsumerGroup()
    lab.join("m1")
    lab.topics["t"].add_partitions([[1]])
    lab.send("m1", 2)
    lab.send("m1", -1)

    assert [(event.epoch, event.reason) for event in lab.events() if isinstance(event, GroupEpochBumped)] == [
        (2, "member m1 joined"),
        (3, "subscribed topics changed"),
        (4, "member m1 left"),
    ]


def test_the_way_of_a_member_is_reported() -> None:
    """From state to state, and from epoch to epoch."""
    lab = OneConsumerGroup()
    lab.join("m1")
    lab.join("m2")
    lab.send("m1", 2)
    lab.send("m1", 2, {"t": [0, 1]})
    lab.send("m2", 3)
    lab.send("m2", -1)

    assert lab.member_transitions() == [
        ("m1", "Absent", "Stable", 2),
        ("m2", "Absent", "UnreleasedPartitions", 3),
        ("m1", "Stable", "UnrevokedPartitions", 2),
        ("m1", "UnrevokedPartitions", "Stable", 3),
        ("m2", "UnreleasedPartitions", "Stable", 3),
        ("m2", "Stable", "Absent", -1),
    ]

"""Loading: a consumer group is what its records say, whatever happened."""

from typing import Any

import pytest
from hypothesis import given

from fakebroker.broker.core.events import GroupEpochBumped
from fakebroker.broker.core.groups.consumer.consumer_group import ConsumerGroup
from tests.broker.core.groups.consumer.histories import Step, histories, take
from tests.support.chance import examples
from tests.support.consumer_groups import OneConsumerGroup
from tests.support.offsets import NO_ID, PASS, WEEK
from tests.support.time import DAY


def contents(group: ConsumerGroup) -> dict[str, Any]:
    """All of a group that has to be in its records."""
    return {
        "members": dict(group.members),
        "order": group.members.in_order(),
        "epochs": (group.group_epoch, group.assignment_epoch, group.assignment_ms, group.metadata_hash),
        "target": {member_id: list(target.items()) for member_id, target in group.target.items()},
        "static": group.static,
        "owners": group.owners,
        "patterns": group.patterns,
        "topics": group.subscribed_topics,
        "names": (group.subscriptions.names, group.subscriptions.patterns),
        "assignors": dict(group.assignor_counts),
        "state": group.state,
    }


@pytest.mark.rules("CGB-1", "CGB-2", "LD-1")
@examples(60)
@given(histories)
def test_a_loaded_group_is_the_group_that_was(history: list[Step]) -> None:
    """After any history all that counts can be read from the log."""
    lab = OneConsumerGroup()
    lab.join("m0")
    for step in history:
        take(lab, *step)
    before = contents(lab.group)

    assert contents(lab.reload()) == before


@examples(60)
@given(histories)
def test_no_partition_has_two_owners(history: list[Step]) -> None:
    """What members have, assigned or still to be given up, never overlaps, and is what the group says."""
    lab = OneConsumerGroup()
    lab.join("m0")
    for step in history:
        take(lab, *step)
        members = lab.group.members
        owned = [
            (*partition, member_id) for member_id in members for partition in members[member_id].current.partitions()
        ]
        assert len({partition[:2] for partition in owned}) == len(owned)
        assert sorted(owned) == sorted(
            (topic_id, index, owner) for topic_id, owners in lab.group.owners.items() for index, owner in owners.items()
        )


def test_a_group_moves_with_its_partition() -> None:
    """Another broker has all of it, and its timers; here nothing is left."""
    lab = OneConsumerGroup({"offsets.topic.replication.factor": 2}, nodes=(1, 2))
    partition = lab.cluster.topics.internal("__consumer_offsets").partitions[3]
    partition.lead(1, lab.now)
    lab.join("m1")
    old, before = lab.group, contents(lab.group)
    partition.lead(2, lab.now)
    moved = lab.cluster.nodes[2].coordinator.shard("g", lab.now).group("g")

    assert isinstance(moved, ConsumerGroup)
    assert (old.is_dead, contents(moved)) == (True, before)
    lab.wait(45_000)
    assert moved.is_empty


def test_a_loaded_group_goes_on() -> None:
    """Its members' next heartbeats find everything as it was."""
    lab = OneConsumerGroup()
    lab.join("m1")
    lab.join("m2")
    lab.send("m1", 2)
    lab.reload()

    assert lab.send("m1", 2, {"t": [0, 1]}).member_epoch == 3
    assert lab.assigned(lab.send("m2", 3)) == {"t": [2, 3]}


def test_loading_is_no_reason_for_another_epoch() -> None:
    """Nothing is written, nothing is bumped."""
    lab = OneConsumerGroup()
    lab.join("m1")
    lab.types(), lab.events()
    lab.reload()
    lab.send("m1", 2)

    assert lab.types() == []
    assert [event for event in lab.events() if isinstance(event, GroupEpochBumped)] == []


def with_offsets() -> OneConsumerGroup:
    """m1 reads "t" and is silent for long; offsets of "t" and "u" are committed now."""
    timeout = {"group.consumer.session.timeout.ms": 20 * DAY, "group.consumer.max.session.timeout.ms": 20 * DAY}
    lab = OneConsumerGroup(timeout)
    lab.join("m1")
    rows = [(topic, 0, 5, -1, "", lab.now.wall_ms, -1, NO_ID) for topic in ("t", "u")]
    lab.shard.commit(lab.group, rows, lab.now)
    return lab


@pytest.mark.rules("CGO-10")
def test_offsets_of_topics_that_nobody_reads_expire() -> None:
    """A retention after their commit, also while the group has members."""
    lab = with_offsets()
    lab.wait(WEEK - PASS)
    assert set(lab.group.offsets.partitions()) == {("t", 0), ("u", 0)}
    lab.wait(2 * PASS)

    assert set(lab.group.offsets.partitions()) == {("t", 0)}


@pytest.mark.rules("CGO-10", "CGB-5")
def test_an_empty_group_goes_with_its_last_offsets() -> None:
    """They count from their commit, not from when the group became Empty."""
    lab = with_offsets()
    lab.wait(WEEK - 2 * PASS)
    lab.send("m1", -1)
    lab.wait(PASS)
    assert lab.group.is_empty
    lab.wait(3 * PASS)

    assert lab.shard.group("g") is None
    lab.reload_shard()
    assert lab.shard.group("g") is None


@pytest.mark.rules("CGO-10")
def test_an_empty_group_without_offsets_goes_at_the_next_cleanup() -> None:
    """It has nothing to keep."""
    lab = OneConsumerGroup()
    lab.join("m1")
    lab.send("m1", -1)
    lab.wait(PASS)

    assert lab.shard.group("g") is None

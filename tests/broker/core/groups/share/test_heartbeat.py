"""Heartbeats of share groups: who may send them, what they change, and what is answered."""

import pytest

from fakebroker.broker.core.groups.share.messages import HeartbeatAnswer
from fakebroker.broker.core.groups.share.states import ShareGroupState
from fakebroker.protocol.errors import ErrorCode
from tests.support.share_groups import OneShareGroup
from tests.support.time import SECOND

NONE = ErrorCode.NONE


@pytest.fixture
def lab() -> OneShareGroup:
    return OneShareGroup()


def two(lab: OneShareGroup) -> OneShareGroup:
    """Members m1 and m2 that read "t", both with partitions."""
    lab.join("m1")
    lab.send("m1", 2)
    lab.join("m2")
    lab.send("m1", 3)
    return lab


def each_has_one(lab: OneShareGroup, other: str, answer: HeartbeatAnswer) -> bool:
    """Whether the answer has one partition of "t" and the member `other` the other; which is which is up to the hash
    of the topic id (SGA-4).
    """
    assigned, others = lab.assigned(answer), lab.has(other)[1]
    return assigned is not None and sorted(assigned["t"] + others["t"]) == [0, 1]


# -- who may ---------------------------------------------------------------------------------------------------------


@pytest.mark.rules("SGH-2")
@pytest.mark.parametrize("epoch", [1, 5, -1])
def test_an_unknown_group(lab: OneShareGroup, epoch: int) -> None:
    """Only a join makes a group; else GROUP_ID_NOT_FOUND, and none is made."""
    assert lab.send("m1", epoch, ["t"]).code == ErrorCode.GROUP_ID_NOT_FOUND
    assert lab.shard.group("g") is None


@pytest.mark.rules("SGH-2")
@pytest.mark.parametrize("epoch", [0, 1, -1])
def test_a_group_of_another_kind(lab: OneShareGroup, epoch: int) -> None:
    """An Empty classic group is in the way, too."""
    lab.shard.create_group("g", lab.now)

    assert lab.send("m1", epoch, ["t"]).code == ErrorCode.GROUP_ID_NOT_FOUND


@pytest.mark.rules("SGH-3")
@pytest.mark.parametrize("epoch", [1, 2, -1])
def test_an_unknown_member(lab: OneShareGroup, epoch: int) -> None:
    """UNKNOWN_MEMBER_ID for everybody who does not join, and nothing is written."""
    lab.join("m1")
    lab.written()

    assert lab.send("m2", epoch).code == ErrorCode.UNKNOWN_MEMBER_ID
    assert lab.written() == []


@pytest.mark.rules("SGH-5")
def test_epochs(lab: OneShareGroup) -> None:
    """The known one and the one before go on, 0 always; others are fenced."""
    two(lab)
    before = lab.group.members["m1"].current

    codes = {epoch: lab.send("m1", epoch, ["t"] if epoch == 0 else None).code for epoch in (0, 1, 2, 3, 4, 5)}

    assert (before.previous_epoch, before.epoch) == (3, 4)
    assert codes == {0: NONE, 3: NONE, 4: NONE, **dict.fromkeys((1, 2, 5), ErrorCode.FENCED_MEMBER_EPOCH)}


@pytest.mark.rules("SGH-6")
def test_a_full_group() -> None:
    """Newcomers are refused, whatever epoch they send; members are served."""
    lab = OneShareGroup({"group.share.max.size": 1})
    lab.join("m1")

    assert [lab.send("m2", epoch, ["t"]).code for epoch in (0, 3)] == [ErrorCode.GROUP_MAX_SIZE_REACHED] * 2
    assert lab.send("m1", 2).code == NONE


# -- joining and going on --------------------------------------------------------------------------------------------


@pytest.mark.rules("SGH-4", "SGH-10", "SGB-1")
def test_a_first_join(lab: OneShareGroup) -> None:
    """Epoch 2 and no partitions; all records in one batch, then one that says that their states are there."""
    answer = lab.join("m1")

    assert (answer.code, answer.member_id, answer.member_epoch) == (NONE, "m1", 2)
    assert (answer.heartbeat_interval_ms, answer.assignment) == (5000, {})
    assert lab.types() == [["10 m1", "11", "13 m1", "12", "14 m1", "15"], ["15"]]
    assert lab.known() == ({}, {"t": [0, 1]}, [])


@pytest.mark.rules("SGH-11", "SGH-12", "SGH-14", "SGB-1")
def test_the_next_heartbeat_has_the_partitions(lab: OneShareGroup) -> None:
    """The epoch is bumped because partitions have a state that nobody has; after that nothing happens."""
    lab.join("m1")
    lab.written()
    lab.events()

    answer = lab.send("m1", 2)

    assert (answer.member_epoch, lab.assigned(answer)) == (3, {"t": [0, 1]})
    assert lab.types() == [["11", "13 m1", "12", "14 m1"]]
    assert lab.event_rows() == [(3, "share partitions were initialized")]
    assert lab.send("m1", 3).assignment is None
    assert lab.written() == []


@pytest.mark.rules("SGH-12", "SGA-4")
def test_any_member_brings_the_partitions(lab: OneShareGroup) -> None:
    """A second member that comes after the states were made is given its share at once, the first later."""
    lab.join("m1")

    joined = lab.join("m2")

    assert (joined.member_epoch, lab.has("m1")) == (3, (2, {}))
    assert each_has_one(lab, "m2", lab.send("m1", 2))


@pytest.mark.rules("SGH-13", "SGH-14")
def test_reconciliation_is_one_step(lab: OneShareGroup) -> None:
    """m1 has two partitions, loses one at its next heartbeat; until then both have that one."""
    lab.join("m1")
    lab.send("m1", 2)
    joined = lab.join("m2")

    assert lab.has("m1") == (3, {"t": [0, 1]})
    assert (joined.member_epoch, len(lab.has("m2")[1]["t"])) == (4, 1)
    assert each_has_one(lab, "m2", lab.send("m1", 3))
    assert lab.has("m1")[0] == 4


@pytest.mark.rules("SGH-14")
@pytest.mark.parametrize(("epoch", "topics", "is_sent"), [(0, ["t"], True), (3, ["t"], True), (3, None, False)])
def test_when_the_answer_has_an_assignment(
    lab: OneShareGroup, epoch: int, topics: list[str] | None, is_sent: bool
) -> None:
    """Whoever joins (again) or names topics; others when they have changed only."""
    lab.join("m1")
    lab.send("m1", 2)
    lab.written()

    answer = lab.send("m1", epoch, topics)

    assert (answer.member_epoch, lab.assigned(answer)) == (3, {"t": [0, 1]} if is_sent else None)
    assert lab.written() == []


@pytest.mark.rules("SGH-11", "SGH-13")
def test_other_topics(lab: OneShareGroup) -> None:
    """Topics that a member gave up are gone at once; the new ones come when they have a state."""
    lab.join("m1", ["t"])
    lab.send("m1", 2)
    lab.written()
    lab.events()

    answer = lab.send("m1", 3, ["u"])
    lab.wait(0)

    assert (answer.member_epoch, lab.assigned(answer)) == (4, {})
    assert lab.event_rows()[0] == (4, "member m1 changed its subscription")
    assert lab.types()[0] == ["10 m1", "11", "13 m1", "12", "14 m1", "15"]
    assert lab.assigned(lab.send("m1", 4)) == {"u": [0]}


@pytest.mark.rules("SGH-11")
def test_the_order_of_topic_names_says_nothing(lab: OneShareGroup) -> None:
    """The same names in another order or twice are no change."""
    lab.join("m1", ["t", "u"])
    lab.send("m1", 2)
    lab.written()

    assert lab.send("m1", 3, ["u", "t", "u"]).member_epoch == 3
    assert lab.written() == []


@pytest.mark.rules("SGH-11")
def test_a_rack_is_noted_and_bumps_nothing(lab: OneShareGroup) -> None:
    """The member's record is written anew, the epoch stays."""
    lab.join("m1")
    lab.send("m1", 2)
    lab.written()

    assert lab.send("m1", 3, rack="r1").member_epoch == 3
    assert lab.types() == [["10 m1"]]
    assert lab.group.members["m1"].metadata.rack_id == "r1"


@pytest.mark.rules("SGH-11", "SGH-10")
def test_more_partitions(lab: OneShareGroup) -> None:
    """The topic's metadata has changed: a bump; then the new partition is given a state; then another bump."""
    lab.join("m1")
    lab.send("m1", 2)
    lab.written()
    lab.topics["t"].add_partitions([[1]])

    grown = lab.send("m1", 3)
    lab.wait(0)
    following = lab.send("m1", 4)

    assert (grown.member_epoch, grown.assignment) == (4, None)
    assert (following.member_epoch, lab.assigned(following)) == (5, {"t": [0, 1, 2]})
    assert lab.types() == [["11", "12", "14 m1", "15"], ["15"], ["11", "13 m1", "12", "14 m1"]]


@pytest.mark.rules("SGH-11")
def test_a_topic_that_does_not_exist_yet(lab: OneShareGroup) -> None:
    """It may be subscribed to, and is read when it is there."""
    lab.join("m1", ["later"])
    assert lab.known() == ({}, {}, [])

    lab.create("later", 1)
    lab.send("m1", 2)
    lab.wait(0)

    assert lab.assigned(lab.send("m1", 3)) == {"later": [0]}


def test_topics_that_nobody_reads_change_nothing(lab: OneShareGroup) -> None:
    """Another topic comes and goes: the group looks, and finds the same."""
    lab.join("m1")
    lab.send("m1", 2)
    lab.written()
    lab.create("other", 3)

    assert lab.send("m1", 3).member_epoch == 3
    assert lab.written() == []


def test_a_deleted_topic(lab: OneShareGroup) -> None:
    """The group forgets its state at once, members lose it at their next heartbeat."""
    lab.join("m1", ["t", "u"])
    lab.send("m1", 2)
    lab.written()

    lab.cluster.topics.delete("t", lab.now)
    answer = lab.send("m1", 3)

    assert (answer.member_epoch, lab.assigned(answer)) == (4, {"u": [0]})
    assert lab.types()[0] == ["15"]
    assert lab.known() == ({}, {"u": [0]}, [])


@pytest.mark.rules("SGH-13")
def test_the_assignment_interval() -> None:
    """A member that joins too soon after a target has nothing, in the old epoch, until the time is over."""
    lab = OneShareGroup({"group.share.assignment.interval.ms": 1000})
    lab.join("m1")
    lab.wait(999)

    soon = lab.send("m2", 0, ["t"])
    lab.wait(1)
    late = lab.send("m2", 2)

    assert (soon.member_epoch, soon.assignment, lab.group.group_epoch) == (2, {}, 3)
    assert (late.member_epoch, lab.has("m1")) == (3, (2, {}))
    assert each_has_one(lab, "m2", lab.send("m1", 2))


# -- leaving ---------------------------------------------------------------------------------------------------------


@pytest.mark.rules("SGH-7", "SGH-15", "SGB-1")
def test_leaving(lab: OneShareGroup) -> None:
    """Tombstones of the member and a bump; the last one leaves the group Empty, and there it stays."""
    lab.join("m1")
    lab.written()
    lab.events()

    answer = lab.send("m1", -1)

    assert (answer.code, answer.member_epoch, answer.heartbeat_interval_ms) == (NONE, -1, 0)
    assert answer.assignment is None
    assert lab.types() == [["-14 m1", "-13 m1", "-10 m1", "11"]]
    assert lab.event_rows() == [(3, "member m1 left"), ("Stable", "Empty")]
    assert (lab.group.group_epoch, lab.group.metadata_hash) == (3, 0)
    lab.wait(30 * 24 * 3600 * SECOND)
    assert lab.group.state is ShareGroupState.EMPTY


@pytest.mark.rules("SGH-7")
def test_what_is_left_goes_to_the_others(lab: OneShareGroup) -> None:
    """They get it at their next heartbeat."""
    two(lab)

    lab.send("m2", -1)

    assert lab.assigned(lab.send("m1", 4)) == {"t": [0, 1]}


@pytest.mark.rules("SGH-20")
def test_the_session_timeout(lab: OneShareGroup) -> None:
    """Who is not heard of for the session timeout is removed as if it had left; each heartbeat begins it anew."""
    two(lab)
    lab.wait(30 * SECOND)
    lab.send("m1", 4)
    lab.written()
    lab.events()

    lab.wait(15 * SECOND - 1)
    assert lab.written() == []
    lab.wait(1)

    assert lab.types() == [["-14 m2", "-13 m2", "-10 m2", "11"]]
    assert lab.event_rows() == [(5, "member m2 timed out")]
    assert list(lab.group.members) == ["m1"]


@pytest.mark.rules("SGH-20", "SGC-1")
def test_group_configs_act_at_the_next_heartbeat(lab: OneShareGroup) -> None:
    """Session timeout and heartbeat interval are those of the moment."""
    lab.join("m1")
    lab.cluster.group_configs["g"] = {"share.session.timeout.ms": "60000", "share.heartbeat.interval.ms": "15000"}

    assert lab.send("m1", 2).heartbeat_interval_ms == 15_000
    lab.wait(60 * SECOND - 1)
    assert "m1" in lab.group.members
    lab.wait(1)
    assert lab.group.is_empty


@pytest.mark.rules("SGH-5")
def test_a_refused_heartbeat_prolongs_no_session(lab: OneShareGroup) -> None:
    """A fenced member is removed in time."""
    lab.join("m1")
    lab.wait(40 * SECOND)
    assert lab.send("m1", 7).code == ErrorCode.FENCED_MEMBER_EPOCH
    lab.wait(5 * SECOND)

    assert lab.group.is_empty

"""A share group itself: what its records make of it, what it is for other code, and how it ends."""

import pytest

from fakebroker.broker.core.groups.classic.messages import JoinAnswer, JoinRequest
from fakebroker.broker.core.groups.share.share_group import ShareGroup
from fakebroker.broker.core.groups.share.states import GROUP_TRANSITIONS
from fakebroker.protocol.errors import ErrorCode
from tests.support.share_groups import OneShareGroup
from tests.support.time import DAY, SECOND

STORED = (
    "group_epoch",
    "assignment_epoch",
    "assignment_ms",
    "metadata_hash",
    "state",
    "target",
    "subscribed_topics",
    "members",
)


def busy() -> OneShareGroup:
    """A group with two members of different topics, one of which has left some."""
    lab = OneShareGroup()
    lab.join("m1", ["t", "u"])
    lab.send("m1", 2)
    lab.join("m2", ["t"])
    lab.send("m1", 3, ["u"])
    return lab


@pytest.mark.rules("SGB-1")
def test_a_load_gives_what_there_was() -> None:
    """Everything that is stored follows from the records, the order of the members as well."""
    lab = busy()
    before, known = lab.group, lab.group.state_partitions

    loaded = lab.reload()

    assert loaded is not before
    assert {name: getattr(loaded, name) for name in STORED} == {name: getattr(before, name) for name in STORED}
    assert list(loaded.member_ids()) == list(before.member_ids())
    assert loaded.state_partitions == known._replace(since_ms=loaded.state_partitions.since_ms)
    assert before.is_dead


@pytest.mark.rules("SGH-20")
def test_after_a_load_every_member_has_a_whole_session() -> None:
    """However long they were not heard of before."""
    lab = busy()
    lab.wait(40 * SECOND)
    lab.reload()

    lab.wait(45 * SECOND - 1)
    assert len(lab.group.members) == 2
    lab.wait(1)
    assert lab.group.is_empty


@pytest.mark.rules("SGL-2")
def test_requests_of_other_protocols() -> None:
    """A classic member cannot join, sync, heartbeat or leave; offsets are refused."""
    lab = busy()
    group = lab.group
    answers: list[JoinAnswer] = []
    request = JoinRequest("x", None, "c", "/h", 10_000, 10_000, "consumer", (("range", b""),))

    group.join(request, answers.append, lab.now)

    assert [answer.code for answer in answers] == [ErrorCode.INCONSISTENT_GROUP_PROTOCOL]
    assert group.heartbeat("x", None, 1, lab.now) == ErrorCode.UNKNOWN_MEMBER_ID
    assert group.error_for_commit("", None, -1, 9) == group.error_for_txn_commit("", None, -1)
    assert group.error_for_offset_delete() == ErrorCode.GROUP_ID_NOT_FOUND
    assert group.error_for_offset_fetch(None, -1) == ErrorCode.NONE


def test_what_it_is_for_others() -> None:
    """Its kind, its epoch, and the topics its members read."""
    group = busy().group

    assert (group.kind, group.protocol_type, group.epoch) == ("share", "share", 5)
    assert group.subscribed_topics == {"t", "u"}
    assert (group.is_subscribed("t"), group.is_subscribed("x"), group.is_empty) == (True, False, False)


@pytest.mark.rules("SGH-15")
def test_the_table_of_states() -> None:
    """Joins, leaves and the deletion of a group take it through the transitions of the table, and no others."""
    lab = OneShareGroup()
    lab.join("m1")
    lab.join("m2")
    for member_id in ("m1", "m2"):
        lab.send(member_id, -1)
    lab.shard.delete_group("g", lab.now)

    event_rows = [each for each in lab.event_rows() if isinstance(each[0], str)]

    assert event_rows == [("Empty", "Stable"), ("Stable", "Empty"), ("Empty", "Dead")]
    assert sorted(event_rows) == sorted((before, after) for (before, _), after in GROUP_TRANSITIONS.items())


@pytest.mark.rules("SGH-15")
def test_it_does_not_expire() -> None:
    """An Empty share group is there after any time."""
    lab = OneShareGroup()
    lab.join("m1")
    lab.send("m1", -1)

    lab.wait(30 * DAY)

    assert isinstance(lab.shard.group("g"), ShareGroup)


@pytest.mark.rules("SGB-1", "SGL-3")
def test_the_end() -> None:
    """Tombstones: the member records there are, then what the group has; after them a load finds nothing."""
    lab = OneShareGroup()
    lab.join("m1")
    lab.send("m1", -1)
    lab.written()

    assert lab.shard.delete_group("g", lab.now) == ErrorCode.NONE

    assert lab.types() == [["-12", "-15", "-11"]]
    lab.cluster.nodes[1].coordinator.unload(lab.cluster.group_partition("g").index, lab.now)
    assert lab.shard.group("g") is None
    assert len(lab.cluster.timers.mono) == 0


@pytest.mark.rules("SGB-1")
def test_tombstones_of_members() -> None:
    """All of 14, all of 13, then 12, all of 10, 15 and 11."""
    group = busy().group

    found = [(record.type, getattr(record.key, "member_id", None)) for record in group.tombstones()]

    assert found == [
        *[(14, "m1"), (14, "m2"), (13, "m1"), (13, "m2"), (12, None), (10, "m1"), (10, "m2"), (15, None), (11, None)]
    ]


def test_no_timer_is_left_behind() -> None:
    """A group that is moved away ends its sessions and what it was about to ask."""
    lab = OneShareGroup()
    lab.send("m1", 0, ["t"])

    lab.cluster.nodes[1].coordinator.unload(lab.cluster.group_partition("g").index, lab.now)

    assert [each.owner for each in lab.cluster.timers.mono.armed()] == []


def test_the_topics_of_a_group_are_those_of_its_members() -> None:
    """One that two members name stays until both have gone; what a member would name is asked without naming it."""
    lab = OneShareGroup()
    lab.join("m1", ["t", "u"])
    lab.join("m2", ["t"])
    group = lab.group

    assert group.topic_names_with("m1", ()) == {"t"}
    assert group.topic_names_with("m2", ("u", "v")) == {"t", "u", "v"}
    assert group.topic_names_with("m3", ("v",)) == {"t", "u", "v"}
    assert group.subscribed_topics == {"t", "u"}
    lab.send("m1", -1)
    assert group.subscribed_topics == {"t"}
    lab.send("m2", -1)
    assert group.subscribed_topics == frozenset()

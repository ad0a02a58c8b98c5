"""ConsumerGroupHeartbeat: joining, member epochs, leaving, answers."""

from typing import Any

import pytest
from hypothesis import given

from fakebroker.broker.core.groups.classic.classic_group import ClassicGroup
from fakebroker.broker.core.groups.consumer.messages import HeartbeatAnswer
from fakebroker.protocol.errors import ErrorCode
from tests.broker.core.groups.consumer.histories import Step, histories, take
from tests.support.chance import examples
from tests.support.consumer_groups import OneConsumerGroup


def refused(answer: HeartbeatAnswer) -> ErrorCode:
    """The code of an error answer, which has nothing but a message besides."""
    assert answer.message
    assert answer == HeartbeatAnswer(answer.code, answer.message)
    return answer.code


@pytest.mark.rules("CGH-10", "CGE-10")
def test_the_first_member_gets_everything() -> None:
    """A group begins at epoch 1, so that its first member that subscribes to something has epoch 2."""
    lab = OneConsumerGroup()

    answer = lab.join("m1", ["t", "u"])

    assert (answer.code, answer.member_id, answer.member_epoch) == (ErrorCode.NONE, "m1", 2)
    assert answer.heartbeat_interval_ms == 5_000
    assert lab.assigned(answer) == {"t": [0, 1, 2, 3], "u": [0, 1]}
    assert (lab.group.group_epoch, lab.group.assignment_epoch) == (2, 2)


@pytest.mark.rules("CGH-14", "CGH-32")
@pytest.mark.parametrize("epoch", [1, -1, -2])
def test_only_who_joins_makes_a_group(epoch: int) -> None:
    """Anything else for an unknown group is GROUP_ID_NOT_FOUND."""
    lab = OneConsumerGroup()

    assert refused(lab.send("m1", epoch, instance="i")) is ErrorCode.GROUP_ID_NOT_FOUND
    assert lab.shard.group("g") is None


@pytest.mark.rules("CGH-13")
def test_an_empty_classic_group_is_replaced() -> None:
    """Its tombstone comes first; committed offsets stay."""
    lab = OneConsumerGroup()
    classic = lab.shard.create_group("g", lab.now)
    offsets = classic.offsets

    answer = lab.join("m1")

    assert answer.member_epoch == 2
    assert lab.types() == [["-2", "5 m1", "3", "7 m1", "6", "8 m1"]]
    assert (classic.is_dead, lab.group.offsets is offsets) == (True, True)


@pytest.mark.rules("CGH-14")
def test_a_classic_group_with_members_is_no_consumer_group() -> None:
    """A heartbeat that does not join finds no group, also in an Empty one."""
    lab = OneConsumerGroup()
    lab.shard.create_group("g", lab.now)

    assert refused(lab.send("m1", 3)) is ErrorCode.GROUP_ID_NOT_FOUND
    assert isinstance(lab.shard.group("g"), ClassicGroup)


@pytest.mark.rules("CGH-11", "CGE-5")
@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"rack": "r2"}, "rack_id"),
        ({"rebalance": 9_000}, "rebalance_timeout_ms"),
        ({"assignor": "range"}, "assignor"),
        ({"client": "c2"}, "client_id"),
    ],
)
def test_what_is_reported_is_kept_until_it_is_reported_anew(fields: dict[str, Any], field: str) -> None:
    """A null field keeps its last value; none of these is a reason for a new group epoch."""
    lab = OneConsumerGroup()
    lab.join("m1", rack="r1", assignor="uniform")
    before = lab.group.members["m1"].metadata
    lab.types()

    lab.send("m1", 2, **fields)

    after = lab.group.members["m1"].metadata
    assert after == before._replace(**{field: next(iter(fields.values()))})
    assert lab.types() == [["5 m1"]]
    assert lab.group.group_epoch == 2


@pytest.mark.rules("CGH-12")
def test_an_unknown_member_id_joins_as_it_is() -> None:
    """The client makes member ids."""
    lab = OneConsumerGroup()
    lab.join("m1")

    assert lab.join("any id at all").member_epoch == 3
    assert list(lab.group.members) == ["m1", "any id at all"]


@pytest.mark.rules("CGH-15")
@pytest.mark.parametrize("epoch", [0, 5])
def test_a_full_group_serves_its_members_only(epoch: int) -> None:
    """Strangers are refused before anything else is looked at."""
    lab = OneConsumerGroup({"group.consumer.max.size": 1})
    lab.join("m1")

    assert refused(lab.send("m2", epoch, {}, topics=["t"])) is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert lab.send("m1", 2).code is ErrorCode.NONE


@pytest.mark.rules("CGH-20")
@pytest.mark.parametrize("epoch", [1, -1])
def test_an_unknown_member(epoch: int) -> None:
    """It can only join."""
    lab = OneConsumerGroup()
    lab.join("m1")

    assert refused(lab.send("m2", epoch)) is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.rules("CGH-21")
def test_joining_again_owns_nothing() -> None:
    """A known member is not fenced for epoch 0: it gets its full assignment, what it lost is free."""
    lab = OneConsumerGroup()
    lab.join("m1")
    lab.join("m2")
    lab.send("m1", 2)

    again = lab.join("m1")

    assert (again.member_epoch, lab.assigned(again)) == (3, {"t": [0, 1]})
    assert lab.group.group_epoch == 3
    assert lab.assigned(lab.send("m2", 3)) == {"t": [2, 3]}


@pytest.mark.rules("CGH-22", "CGH-23")
@pytest.mark.parametrize(
    ("epoch", "owned", "code"),
    [
        (4, None, ErrorCode.FENCED_MEMBER_EPOCH),
        (2, None, ErrorCode.FENCED_MEMBER_EPOCH),
        (2, {}, ErrorCode.NONE),
        (2, {"t": [1]}, ErrorCode.NONE),
        (2, {"t": [0, 1, 2]}, ErrorCode.FENCED_MEMBER_EPOCH),
        (2, {"u": [0]}, ErrorCode.FENCED_MEMBER_EPOCH),
        (1, {}, ErrorCode.FENCED_MEMBER_EPOCH),
    ],
)
def test_epochs_of_a_known_member(epoch: int, owned: dict[str, list[int]] | None, code: ErrorCode) -> None:
    """Only its own epoch is good, or the one before with owned partitions that are all assigned to it."""
    lab = OneConsumerGroup()
    lab.join("m1")
    lab.join("m2")
    lab.send("m1", 2, {"t": [0, 1]})
    assert lab.has("m1") == (3, "STABLE", {"t": [0, 1]}, {})

    assert lab.send("m1", epoch, owned).code is code


@pytest.mark.rules("CGH-30")
def test_leaving_frees_everything_at_once() -> None:
    """The epoch moves, but nothing is assigned anew before somebody's heartbeat."""
    lab = OneConsumerGroup()
    lab.join("m1")
    lab.join("m2")
    lab.types()

    answer = lab.send("m1", -1)

    assert answer == HeartbeatAnswer(member_id="m1", member_epoch=-1)
    assert lab.types() == [["-8 m1", "-7 m1", "-5 m1", "3"]]
    assert (lab.group.group_epoch, lab.group.assignment_epoch, lab.group.owners) == (4, 3, {})
    assert lab.assigned(lab.send("m2", 3)) == {"t": [0, 1, 2, 3]}


@pytest.mark.rules("CGH-31")
def test_the_epoch_before_a_leave_does_not_matter() -> None:
    """Whoever leaves tells -1 or -2 in place of its epoch."""
    lab = OneConsumerGroup()
    lab.join("m1", instance="i")

    assert lab.send("m1", -2, instance="i").member_epoch == -2
    assert lab.send("m1", -1, instance="i").member_epoch == -1
    assert lab.group.is_empty


@pytest.mark.rules("CGH-40", "CGH-41")
@pytest.mark.parametrize(
    ("fields", "assigned"),
    [
        ({}, None),
        ({"owned": {"t": [0, 1]}}, None),
        ({"owned": {"t": [0, 1]}, "rebalance": 5_000}, None),
        ({"owned": {"t": [0, 1]}, "topics": ["t"]}, None),
        ({"topics": ["t"], "rebalance": 5_000}, None),
        ({"owned": {"t": [0, 1]}, "rebalance": 5_000, "topics": ["t"]}, {"t": [0, 1]}),
    ],
)
def test_which_answers_have_the_assignment(fields: dict[str, Any], assigned: dict[str, list[int]] | None) -> None:
    """When nothing changed only a full heartbeat gets again what the member may own."""
    lab = OneConsumerGroup()
    lab.join("m1")
    lab.join("m2")
    lab.send("m1", 2, {"t": [0, 1]})

    assert lab.assigned(lab.send("m1", 3, **fields)) == assigned


@pytest.mark.rules("CGH-40")
def test_an_empty_assignment_is_reported_as_such() -> None:
    """Who joins and gets nothing gets an empty assignment."""
    lab = OneConsumerGroup()

    assert lab.assigned(lab.join("m1", [])) == {}


@pytest.mark.rules("CGH-42")
def test_partitions_are_reported_in_ascending_order() -> None:
    """Also when the first ones came last."""
    lab = OneConsumerGroup()
    lab.join("m1")
    lab.join("m2")
    lab.send("m1", 2, {"t": [0, 1]})
    lab.send("m2", 3)
    lab.send("m1", -1)

    answer = lab.send("m2", 3)

    assert answer.assignment is not None
    assert list(answer.assignment.values()) == [[0, 1, 2, 3]]


@pytest.mark.rules("CGC-1")
def test_a_groups_own_configs_act_at_the_next_heartbeat() -> None:
    """The interval is in the answer, the session timer of that heartbeat is as long as it says."""
    lab = OneConsumerGroup()
    lab.join("m1")
    lab.cluster.group_configs["g"] = {"consumer.heartbeat.interval.ms": "700", "consumer.session.timeout.ms": "3000"}

    assert lab.send("m1", 2).heartbeat_interval_ms == 700
    lab.wait(2_999)
    assert not lab.group.is_empty
    lab.wait(1)
    assert lab.group.is_empty


@pytest.mark.rules("CGE-12")
def test_a_step_that_cannot_be_stored_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The heartbeat is answered with what the append's error becomes."""
    lab = OneConsumerGroup()
    lab.join("m1")
    before = (dict(lab.group.members), lab.group.group_epoch, lab.group.state)
    monkeypatch.setattr(lab.shard, "write_records", lambda *_: ErrorCode.NOT_ENOUGH_REPLICAS)

    assert refused(lab.join("m2")) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert (dict(lab.group.members), lab.group.group_epoch, lab.group.state) == before


def test_a_heartbeat_that_changes_nothing_writes_nothing() -> None:
    """Nor does it tell the journal anything."""
    lab = OneConsumerGroup()
    lab.join("m1")
    lab.types(), lab.events()

    lab.send("m1", 2, {"t": [0, 1, 2, 3]})

    assert (lab.types(), lab.events()) == ([], [])


@examples(60)
@given(histories)
def test_the_short_way_is_no_other_way(history: list[Step]) -> None:
    """Heartbeats that only keep a member alive are answered as if all steps were taken."""
    short, long = OneConsumerGroup(), OneConsumerGroup()
    for step in history:
        answer = take(short, *step)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("fakebroker.broker.core.groups.consumer.heartbeat._changes_nothing", lambda *_: False)
            assert take(long, *step) == answer
    assert short.types() == long.types()
    assert short.events() == long.events()


@pytest.mark.rules("CLU-65")
def test_what_cannot_be_written_before_4_0_changes_nothing() -> None:
    """3.9 refuses the write while too few replicas are in sync: the group stays as its log has it."""
    factor = {"offsets.topic.replication.factor": 2, "min.insync.replicas": 2}
    lab = OneConsumerGroup(factor, nodes=(1, 2), as_release="3.9")
    lab.join("m1")
    lab.shard.partition.isr = [lab.shard.partition.leader]
    log_end = lab.shard.log.log_end_offset

    assert refused(lab.join("m2")) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert list(lab.group.members) == ["m1"]
    assert lab.shard.log.log_end_offset == log_end

"""StreamsGroupHeartbeat in the core: joining, epochs, topologies, delays, endpoints, shutdown."""

from typing import Any

import pytest

from fakebroker.broker.core.groups.classic.classic_group import ClassicGroup
from fakebroker.broker.core.groups.streams.endpoints import EndpointPartitions
from fakebroker.broker.core.groups.streams.member import Endpoint
from fakebroker.broker.core.groups.streams.messages import HeartbeatAnswer
from fakebroker.broker.core.groups.streams.states import GroupState, StatusCode
from fakebroker.broker.core.groups.streams.tasks import NO_TASKS
from fakebroker.protocol.errors import ErrorCode, KafkaError
from tests.support.streams_groups import STATEFUL, OneStreamsGroup, partitions, subtopology, tasks, topology

HOME = Endpoint("h", 8080)


def codes(answer: HeartbeatAnswer) -> list[StatusCode]:
    """The status codes of an answer."""
    return [status.code for status in answer.status]


def refused(one: OneStreamsGroup, member_id: str, epoch: int, **fields: Any) -> ErrorCode:
    """The error of a heartbeat, which must write nothing."""
    one.written()
    with pytest.raises(KafkaError) as failure:
        one.send(member_id, epoch, **fields)
    assert one.written() == []
    return failure.value.code


@pytest.mark.rules("STH-10", "STH-30", "STB-1", "STB-2", "STG-1")
def test_the_first_member_gets_every_task() -> None:
    """It makes the group, which begins at epoch 1 and is bumped to 2; all in one batch, in this order."""
    one = OneStreamsGroup()
    answer = one.join("a")

    assert answer == HeartbeatAnswer("a", 2, 5_000, (), tasks(0, 1, 2, 3))
    assert one.types() == [["19 a", "23", "17", "21 a", "20", "22 a"]]
    assert one.transitions() == [("Empty", "Stable")]
    assert one.group.assignment_configs == {"num.standby.replicas": "0"}
    assert one.group.metadata_hash != 0


def test_the_first_topology_has_no_negative_epoch() -> None:
    """Kafka fails there."""
    one = OneStreamsGroup()
    with pytest.raises(KafkaError) as failure:
        one.join("a", topology(subtopology("0", ["t"]), epoch=-1))
    assert failure.value.code is ErrorCode.UNKNOWN_SERVER_ERROR
    assert one.written() == []


@pytest.mark.rules("STH-30")
def test_a_steady_member_is_answered_and_writes_nothing() -> None:
    """Later heartbeats carry no tasks, also those that report what is owned."""
    one = OneStreamsGroup()
    one.join("a")
    one.written()

    assert one.send("a", 2) == HeartbeatAnswer("a", 2, 5_000)
    assert one.send("a", 2, tasks(0, 1, 2, 3)).tasks is None
    assert one.written() == []


@pytest.mark.rules("STH-10")
def test_an_empty_classic_group_is_replaced() -> None:
    """Its tombstone comes first; one with members is no streams group."""
    one = OneStreamsGroup()
    one.shard.create_group("g", one.now)
    one.join("a")

    assert one.types()[0][:2] == ["-2", "19 a"]

    other = OneStreamsGroup()
    classic = other.shard.create_group("g", other.now)
    assert isinstance(classic, ClassicGroup)
    classic.state = type(classic.state).STABLE
    assert refused(other, "a", 0, topology=STATEFUL) is ErrorCode.GROUP_ID_NOT_FOUND


@pytest.mark.rules("STH-11")
def test_strangers() -> None:
    """A group that is not there, and a member that is not in it."""
    one = OneStreamsGroup()

    assert refused(one, "a", 1) is ErrorCode.GROUP_ID_NOT_FOUND
    assert refused(one, "a", -1) is ErrorCode.GROUP_ID_NOT_FOUND
    one.join("a")
    assert refused(one, "b", 2) is ErrorCode.UNKNOWN_MEMBER_ID
    assert refused(one, "b", -1) is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.rules("STH-12")
def test_epochs_of_a_member() -> None:
    """A greater epoch is fenced, a smaller one unless it is the one before and names only what is assigned."""
    one = OneStreamsGroup()
    one.join("a")
    one.join("b")
    one.send("a", 2, tasks(0, 1))  # to epoch 3

    assert refused(one, "a", 4) is ErrorCode.FENCED_MEMBER_EPOCH
    assert refused(one, "a", 2) is ErrorCode.FENCED_MEMBER_EPOCH
    assert refused(one, "a", 2, owned=tasks(0, 2)) is ErrorCode.FENCED_MEMBER_EPOCH
    assert refused(one, "a", 1, owned=tasks(0)) is ErrorCode.FENCED_MEMBER_EPOCH
    assert one.send("a", 2, tasks(0)).member_epoch == 3


@pytest.mark.rules("STH-13")
def test_a_member_that_joins_again() -> None:
    """It owns nothing, is answered all its tasks, and bumps nothing."""
    one = OneStreamsGroup()
    one.join("a")
    one.written()

    assert one.join("a").tasks == tasks(0, 1, 2, 3)
    assert one.group.group_epoch == 2
    assert one.written() == []


@pytest.mark.rules("STH-14")
def test_tasks_that_there_cannot_be() -> None:
    """Owning a task of no subtopology, or beyond the last, is an invalid request once the topology is ready."""
    one = OneStreamsGroup()
    one.join("a")

    assert refused(one, "a", 2, owned=tasks(0, of="9")) is ErrorCode.INVALID_REQUEST
    assert refused(one, "a", 2, owned=tasks(4)) is ErrorCode.INVALID_REQUEST
    assert refused(one, "a", 2, owned=tasks(-1)) is ErrorCode.INVALID_REQUEST


@pytest.mark.rules("STH-14", "STT-4")
def test_tasks_are_not_checked_before_the_topology_is_ready() -> None:
    """While a source topic is missing any task may be owned."""
    one = OneStreamsGroup()
    one.join("a", topology(subtopology("0", ["later"])))

    assert one.send("a", 2, tasks(99)).member_epoch == 2


@pytest.mark.rules("STH-15")
def test_a_full_group() -> None:
    """Nobody may join, not even a member again; heartbeats are served."""
    one = OneStreamsGroup({"group.streams.max.size": 1})
    one.join("a")

    assert refused(one, "b", 0, topology=STATEFUL) is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert refused(one, "a", 0, topology=STATEFUL) is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert one.send("a", 2).member_epoch == 2


# -- epochs of the group -----------------------------------------------------------------------------------------------


@pytest.mark.rules("STE-1")
@pytest.mark.parametrize(
    "fields",
    [
        {"rack_id": "r"},
        {"client_tags": {"zone": "a"}},
        {"endpoint": HOME},
        {"process_id": "other"},
        {"rebalance_timeout_ms": 9_000},
        {"client_host": "/10.0.0.1"},
    ],
)
def test_whatever_a_member_tells_anew_bumps_the_epoch(fields: dict[str, Any]) -> None:
    """A change bumps the group epoch, and the member reaches it at once; reported again it is no change."""
    one = OneStreamsGroup()
    one.join("a")

    assert one.send("a", 2, **fields).member_epoch == 3
    assert one.send("a", 3, **fields).member_epoch == 3


@pytest.mark.rules("STE-1")
def test_topics_that_change() -> None:
    """More partitions, a deleted and a new source topic: each is noticed at the next heartbeat."""
    one = OneStreamsGroup()
    one.join("a")
    topic = one.cluster.topics.get("t")
    assert topic is not None

    topic.add_partitions([[1], [1]])
    more = one.send("a", 2)
    one.cluster.topics.delete("t", one.now)
    gone = one.send("a", 3)
    answered = one.send("a", 3, NO_TASKS)
    one.create("t", 1)
    back = one.send("a", 4)

    assert partitions((more.tasks or NO_TASKS).active) == [0, 1, 2, 3, 4, 5]
    assert (gone.member_epoch, gone.tasks, codes(gone)) == (3, NO_TASKS, [StatusCode.MISSING_SOURCE_TOPICS])
    assert answered.member_epoch == 4
    assert (back.member_epoch, back.tasks, codes(back)) == (5, tasks(0), [])


@pytest.mark.rules("STC-1", "STC-2", "STA-5")
def test_another_number_of_standbys() -> None:
    """It bumps the epoch at the next heartbeat, and is stored with it."""
    one = OneStreamsGroup()
    one.create("c", 4)
    one.join("a", STATEFUL)
    one.join("b", STATEFUL)
    one.settle()
    one.configure(num_standby_replicas=1)
    one.settle()

    assert one.group.group_epoch == 4
    assert one.group.assignment_configs == {"num.standby.replicas": "1"}
    assert [one.group.members[each].current.assigned for each in "ab"] == [
        tasks(0, 1, standby=[2, 3]),
        tasks(2, 3, standby=[0, 1]),
    ]


@pytest.mark.rules("STE-4", "STG-1")
def test_the_assignment_interval() -> None:
    """A member that joins too soon takes the old assignment epoch, owns nothing, and learns that it has to wait."""
    one = OneStreamsGroup({"group.streams.assignment.interval.ms": 1_000})
    one.join("a")
    early = one.join("b")
    state = one.group.state
    one.wait(1_000)
    late = one.send("b", 2)

    assert (early.member_epoch, early.tasks, codes(early)) == (2, NO_TASKS, [StatusCode.ASSIGNMENT_DELAYED])
    assert state is GroupState.ASSIGNING
    assert (late.member_epoch, codes(late)) == (3, [])


@pytest.mark.rules("STE-3")
def test_the_initial_delay_waits_for_further_members() -> None:
    """Both are told to wait; when it is over, their tasks are computed without any heartbeat."""
    one = OneStreamsGroup({"group.streams.initial.rebalance.delay.ms": 3_000})
    first, second = one.join("a"), one.join("b")
    one.wait(2_999)
    before = one.group.assignment_epoch
    one.written()
    one.wait(1)

    assert [codes(answer) for answer in (first, second)] == [[StatusCode.ASSIGNMENT_DELAYED]] * 2
    assert (first.member_epoch, second.member_epoch, before) == (1, 1, 1)
    assert one.types() == [["21 b", "21 a", "20"]]
    assert one.group.assignment_epoch == 3
    assert {member_id: len(of) for member_id, of in one.target().items()} == {"a": 2, "b": 2}
    assert one.send("a", 1).member_epoch == 3


@pytest.mark.rules("STE-3")
def test_a_delay_without_a_second_heartbeat_assigns_nothing() -> None:
    """Nobody has looked at the topics then; the next heartbeat computes the target."""
    one = OneStreamsGroup({"group.streams.initial.rebalance.delay.ms": 3_000})
    one.join("a")
    one.wait(3_000)

    assert one.group.assignment_epoch == 1
    assert one.send("a", 1).tasks == tasks(0, 1, 2, 3)


@pytest.mark.rules("STE-3")
def test_a_group_that_is_empty_again_waits_again() -> None:
    """The delay of a group that everybody left runs out without a target; the next member begins another one."""
    one = OneStreamsGroup({"group.streams.initial.rebalance.delay.ms": 3_000})
    one.join("a")
    one.leave("a")
    one.wait(3_000)
    one.join("b")

    assert one.group.assignment_epoch == 1
    assert one.group.in_initial_delay
    assert codes(one.send("b", 1)) == [StatusCode.ASSIGNMENT_DELAYED]


# -- topologies --------------------------------------------------------------------------------------------------------


@pytest.mark.rules("STT-3")
def test_other_topologies() -> None:
    """Another one of the same epoch and a newer one are refused; an older one learns it in every answer."""
    one = OneStreamsGroup()
    known, other = subtopology("0", ["t"]), subtopology("0", ["u"])
    one.join("a", topology(known, epoch=5))

    for wrong in (topology(other, epoch=5), topology(known, epoch=6)):
        with pytest.raises(KafkaError) as failure:
            one.join("b", wrong)
        assert failure.value.code is ErrorCode.INVALID_REQUEST
    old = one.join("b", topology(other, epoch=4))
    assert codes(old) == codes(one.send("b", old.member_epoch)) == [StatusCode.STALE_TOPOLOGY]
    assert one.group.topology is not None
    assert one.group.topology.epoch == 5


@pytest.mark.rules("STT-3")
def test_two_subtopologies_with_one_id() -> None:
    """Such a topology fails with -1, whatever its epoch, and changes nothing."""
    one = OneStreamsGroup()
    for members in (0, 1):
        for epoch in (4, 5):
            with pytest.raises(KafkaError) as failure:
                one.join("b", topology(subtopology("0", ["t"]), subtopology("0", ["u"]), epoch=epoch))
            assert failure.value.code is ErrorCode.UNKNOWN_SERVER_ERROR
        assert (0 if one.shard.group("g") is None else len(one.group.members)) == members
        one.join("a", topology(subtopology("0", ["t"]), epoch=5))


@pytest.mark.rules("STT-4", "STE-2", "STG-1", "STE-1")
def test_a_topology_that_gets_ready() -> None:
    """Without its source topic the group is NotReady and its members have nothing; then it is bumped and assigned."""
    one = OneStreamsGroup()
    waiting = one.join("a", topology(subtopology("0", ["later"])))
    states = [one.group.state]
    validated = [one.group.validated_topology_epoch]
    again = one.send("a", 2)
    one.create("later", 2)
    ready = one.send("a", 2)

    assert codes(waiting) == codes(again) == [StatusCode.MISSING_SOURCE_TOPICS]
    assert (waiting.tasks, again.tasks) == (NO_TASKS, None)
    assert [*states, one.group.state] == [GroupState.NOT_READY, GroupState.STABLE]
    assert [*validated, one.group.validated_topology_epoch] == [-1, 1]
    assert (ready.member_epoch, ready.tasks, ready.status) == (3, tasks(0, 1), ())


@pytest.mark.rules("STT-5")
def test_internal_topics_that_are_missing() -> None:
    """Each heartbeat names them until they exist; then the next one assigns."""
    one = OneStreamsGroup()
    answers = [one.join("a", STATEFUL), one.send("a", 2)]
    one.create("c", 4)
    ready = one.send("a", 2)

    for answer in answers:
        assert codes(answer) == [StatusCode.MISSING_INTERNAL_TOPICS]
        assert [(topic.name, topic.partitions) for topic in answer.missing_topics] == [("c", 4)]
    assert (ready.tasks, ready.missing_topics) == (tasks(0, 1, 2, 3), ())


@pytest.mark.rules("STT-6")
def test_a_topology_that_can_never_be_ready_changes_nothing() -> None:
    """The group is not even made."""
    one = OneStreamsGroup()

    with pytest.raises(KafkaError) as failure:
        one.join("a", topology(subtopology("0", ["t"], repartition={"r": 0})))

    assert failure.value.code is ErrorCode.STREAMS_INVALID_TOPOLOGY
    assert one.shard.group("g") is None


# -- statuses and endpoints -----------------------------------------------------------------------------------------


@pytest.mark.rules("STP-1", "STP-2")
def test_endpoints_are_reported_to_who_does_not_know_the_latest() -> None:
    """The epoch rises when a member with an endpoint gets other tasks, but not when the group is made."""
    one = OneStreamsGroup()
    made = one.join("a", endpoint=HOME, endpoint_epoch=-1)
    known = one.send("a", 2, endpoint_epoch=0)
    one.join("b")
    answered = one.send("a", 2, endpoint_epoch=0)
    other = one.send("b", 3, endpoint_epoch=0)

    assert (made.endpoint_epoch, made.endpoints) == (0, (EndpointPartitions(HOME, (("t", (0, 1, 2, 3)),), ()),))
    assert (known.endpoint_epoch, known.endpoints) == (0, None)
    assert (answered.endpoint_epoch, answered.endpoints) == (1, (EndpointPartitions(HOME, (("t", (0, 1)),), ()),))
    assert (other.endpoint_epoch, other.endpoints) == (1, answered.endpoints)


@pytest.mark.rules("STP-2")
def test_endpoints_cannot_be_reported_before_the_topology_is_decided() -> None:
    """A member with an endpoint fails while a source topic is missing, as in Kafka; nothing is stored."""
    one = OneStreamsGroup()

    with pytest.raises(KafkaError) as failure:
        one.join("a", topology(subtopology("0", ["later"])), endpoint=HOME, endpoint_epoch=-1)

    assert failure.value.code is ErrorCode.UNKNOWN_SERVER_ERROR
    assert one.shard.group("g") is None


@pytest.mark.rules("STH-33")
def test_a_shutdown_is_reported_to_everybody_until_the_group_is_empty() -> None:
    """The member that asked is named, also when it is gone; the first one counts."""
    one = OneStreamsGroup()
    one.join("a")
    one.join("b")
    asked = one.send("a", 2, shutdown_application=True)
    one.send("b", 3, shutdown_application=True)
    one.leave("a")
    later = one.send("b", 3)
    one.leave("b")

    assert codes(asked) == codes(later) == [StatusCode.SHUTDOWN_APPLICATION]
    assert "member a " in later.status[0].detail
    assert codes(one.join("c")) == []


@pytest.mark.rules("STH-33")
def test_a_shutdown_asked_for_when_leaving_or_when_making_the_group() -> None:
    """A leave counts, even of a stranger; of the heartbeat that makes the group only its own answer knows."""
    one = OneStreamsGroup()
    made = one.join("a", shutdown_application=True)
    next_one = one.send("a", 2)
    with pytest.raises(KafkaError):
        one.leave("stranger", shutdown_application=True)

    assert codes(made) == [StatusCode.SHUTDOWN_APPLICATION]
    assert codes(next_one) == []
    assert codes(one.send("a", 2)) == [StatusCode.SHUTDOWN_APPLICATION]


@pytest.mark.rules("STH-30")
def test_the_order_of_the_status_list() -> None:
    """A stale topology, a delayed assignment, what is wrong with topics, a shutdown: in this order."""
    one = OneStreamsGroup(
        {
            "group.streams.assignment.interval.ms": 60_000,
            "group.streams.max.assignment.interval.ms": 60_000,
        }
    )
    wanted = subtopology("0", ["later"])
    one.join("a", topology(wanted, epoch=2))
    answer = one.join("b", topology(wanted, epoch=1), shutdown_application=True)

    assert codes(answer) == [
        StatusCode.STALE_TOPOLOGY,
        StatusCode.ASSIGNMENT_DELAYED,
        StatusCode.MISSING_SOURCE_TOPICS,
        StatusCode.SHUTDOWN_APPLICATION,
    ]

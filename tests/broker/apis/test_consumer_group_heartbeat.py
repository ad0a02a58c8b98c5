"""ConsumerGroupHeartbeat (CGH): its fields, who answers, and heartbeats like one before."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.apis import consumer_group_heartbeat
from fakebroker.broker.apis.call import Call
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from tests.support.group_apis import GroupApis

MakeCall = Callable[..., Call]
API = "ConsumerGroupHeartbeat"


def fields(**changes: Any) -> dict[str, Any]:
    """A heartbeat that joins."""
    joins = {
        "group_id": "g",
        "member_id": "m1",
        "member_epoch": 0,
        "rebalance_timeout_ms": 5_000,
        "subscribed_topic_names": ["t"],
        "topic_partitions": [],
    }
    return joins | changes


def lab_with_topic(make_call: MakeCall, **settings: Any) -> GroupApis:
    """A cluster with the topic "t" of 3 partitions."""
    lab = GroupApis(make_call, **settings)
    lab.cluster.topics.create("t", 3, 1)
    return lab


@pytest.mark.rules("CGH-10", "CGH-40")
@pytest.mark.parametrize("version", [0, 1])
def test_joining(make_call: MakeCall, version: int) -> None:
    """Epoch 2 and all partitions, under the topic's id."""
    lab = lab_with_topic(make_call)

    answer = lab.ask(API, version, **fields())

    topic = lab.cluster.topics.get("t")
    assert topic is not None
    assert (answer.error_code, answer.error_message, answer.member_id) == (0, None, "m1")
    assert (answer.member_epoch, answer.heartbeat_interval_ms) == (2, 5_000)
    assert answer.assignment.topic_partitions == [TopicPartitions(topic_id=topic.id, partitions=[0, 1, 2])]


@pytest.mark.rules("CGH-2", "CGH-5")
@pytest.mark.parametrize(
    ("version", "changes", "text"),
    [
        (1, {"member_id": " "}, "MemberId can't be empty."),
        (0, {"member_id": "", "member_epoch": 1}, "MemberId can't be empty."),
        (0, {"member_id": "", "member_epoch": -1}, "MemberId can't be empty."),
        (1, {"member_id": "", "group_id": ""}, "MemberId can't be empty."),
        (1, {"group_id": "\t", "instance_id": ""}, "GroupId can't be empty."),
        (1, {"instance_id": "", "rack_id": ""}, "InstanceId can't be empty."),
        (1, {"rack_id": " ", "rebalance_timeout_ms": -1}, "RackId can't be empty."),
        (
            1,
            {"rebalance_timeout_ms": -1, "topic_partitions": None},
            "RebalanceTimeoutMs must be provided in first request.",
        ),
        (1, {"topic_partitions": None}, "TopicPartitions must be empty when (re-)joining."),
        (1, {"topic_partitions": [TopicPartitions()]}, "TopicPartitions must be empty when (re-)joining."),
        (
            1,
            {"subscribed_topic_names": None},
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
        ),
        (1, {"member_epoch": -2}, "InstanceId can't be null."),
        (1, {"member_epoch": -3, "server_assignor": "none"}, "MemberEpoch is invalid."),
    ],
)
def test_fields_that_are_wrong(make_call: MakeCall, version: int, changes: dict[str, Any], text: str) -> None:
    """INVALID_REQUEST with the text of the first that is wrong, before the coordinator is asked."""
    lab = lab_with_topic(make_call)
    lab.load_slowly("g")

    answer = lab.ask(API, version, **fields(**changes))

    assert answer == ConsumerGroupHeartbeatResponse(error_code=ErrorCode.INVALID_REQUEST, error_message=text)


@pytest.mark.rules("CGH-3")
@pytest.mark.parametrize("assignor", ["", "sticky", "Uniform"])
def test_assignors_that_are_not_served(make_call: MakeCall, assignor: str) -> None:
    """UNSUPPORTED_ASSIGNOR with the list of those that are."""
    lab = lab_with_topic(make_call)

    answer = lab.ask(API, 1, **fields(server_assignor=assignor))

    assert answer.error_code == ErrorCode.UNSUPPORTED_ASSIGNOR
    assert answer.error_message == f"ServerAssignor {assignor} is not supported. Supported assignors: uniform, range."
    assert lab.ask(API, 1, **fields(server_assignor="range")).error_code == 0


@pytest.mark.rules("CGH-4")
def test_a_member_id_is_made_in_v0(make_call: MakeCall) -> None:
    """22 characters for each member that joins without one."""
    lab = lab_with_topic(make_call)

    ids = [lab.ask(API, 0, **fields(member_id="")).member_id for _ in range(2)]

    assert [len(member_id) for member_id in ids] == [22, 22]
    assert ids[0] != ids[1]
    assert (
        lab.ask(API, 0, **fields(member_id="", member_epoch=-2, instance_id="i")).error_code
        == ErrorCode.UNKNOWN_MEMBER_ID
    )


@pytest.mark.rules("CGH-1")
@pytest.mark.parametrize("protocols", ["classic", "classic,streams"])
def test_where_consumer_groups_are_not_served(make_call: MakeCall, protocols: str) -> None:
    """UNSUPPORTED_VERSION, whatever else is wrong."""
    lab = lab_with_topic(make_call, group_coordinator_rebalance_protocols=protocols)

    answer = lab.ask(API, 1, **fields(group_id=""))

    assert answer == ConsumerGroupHeartbeatResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)


@pytest.mark.rules("CGH-1")
def test_an_old_release_does_not_serve_them(make_call: MakeCall) -> None:
    """3.9 has the API, and consumer groups only where they were switched on."""
    lab = GroupApis(make_call, "3.9")

    assert lab.ask(API, 0, **fields()).error_code == ErrorCode.UNSUPPORTED_VERSION


@pytest.mark.rules("CGH-5", "CGH-6")
def test_who_cannot_answer(make_call: MakeCall) -> None:
    """While the group is loading, and at a broker that does not coordinate it."""
    lab = GroupApis(make_call, node_ids=(1, 2))

    answer = lab.ask(API, 1, **fields(group_id=lab.elsewhere()))
    assert answer == ConsumerGroupHeartbeatResponse(error_code=ErrorCode.NOT_COORDINATOR)
    group_id = lab.elsewhere(leader=1)
    lab.load_slowly(group_id)
    assert lab.ask(API, 1, **fields(group_id=group_id)).error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


@pytest.mark.rules("CGH-5", "CGH-14")
def test_errors_of_the_group_have_nothing_else(make_call: MakeCall) -> None:
    """No member id, epoch 0, interval 0, no assignment, but a text."""
    lab = lab_with_topic(make_call)

    answer = lab.ask(API, 1, group_id="g", member_id="m1", member_epoch=3)

    assert answer.error_message
    assert answer == ConsumerGroupHeartbeatResponse(
        error_code=ErrorCode.GROUP_ID_NOT_FOUND, error_message=answer.error_message
    )


@pytest.mark.rules("CGH-11")
def test_a_topic_that_is_named_twice(make_call: MakeCall) -> None:
    """Owned partitions of both entries count."""
    lab = lab_with_topic(make_call)
    lab.ask(API, 1, **fields())
    topic = lab.cluster.topics.get("t")
    assert topic is not None
    owned = [TopicPartitions(topic_id=topic.id, partitions=[index]) for index in (0, 1, 2)]

    answer = lab.ask(API, 1, **fields(member_epoch=2, topic_partitions=owned))

    assert answer.assignment.topic_partitions == [TopicPartitions(topic_id=topic.id, partitions=[0, 1, 2])]


# -- heartbeats like one before ----------------------------------------------------------------------------------------


def steady(lab: GroupApis, make_call: MakeCall, **changes: Any) -> Any:
    """What `repeat` gives after a heartbeat of m1, and a call to try it with."""
    request = ConsumerGroupHeartbeatRequest(group_id="g", member_id="m1", member_epoch=2, **changes)
    call = make_call(lab.cluster, 1, client_id="test", now=lab.now)
    response = consumer_group_heartbeat.handle(call, request)
    assert response is not None
    return consumer_group_heartbeat.repeat(call, request, response)


def asked(lab: GroupApis, make_call: MakeCall, again: Any) -> ConsumerGroupHeartbeatResponse | None:
    """The answer to the next such heartbeat, None if the handler has to be asked."""
    data = again(make_call(lab.cluster, 1, client_id="test", now=lab.now), ())
    return None if data is None else ConsumerGroupHeartbeatResponse.decode(data, 1)[0]


@pytest.mark.rules("CGH-40", "CGT-1")
def test_a_steady_heartbeat(make_call: MakeCall) -> None:
    """It keeps the member alive and stores nothing; what the group says now is what is answered."""
    lab = lab_with_topic(make_call)
    lab.ask(API, 1, **fields())
    again = steady(lab, make_call)
    log_end = lab.cluster.group_partition("g").log.log_end_offset
    for _ in range(3):
        lab.wait(40_000)
        answer = asked(lab, make_call, again)
        assert answer == ConsumerGroupHeartbeatResponse(member_id="m1", member_epoch=2, heartbeat_interval_ms=5_000)
    assert lab.cluster.group_partition("g").log.log_end_offset == log_end

    lab.ask(API, 1, **fields(member_id="m2"))
    answer = asked(lab, make_call, again)
    assert answer is not None
    assert answer.assignment is not None
    lab.wait(50_000)
    answer = asked(lab, make_call, again)
    assert answer is not None
    assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_heartbeat_that_is_not_repeated_at_once(make_call: MakeCall) -> None:
    """While the group is loading the handler is asked; nothing is kept of joins, errors and assignments."""
    lab = lab_with_topic(make_call)
    lab.ask(API, 1, **fields())
    again = steady(lab, make_call)
    lab.load_slowly("g")
    assert asked(lab, make_call, again) is None

    call = make_call(lab.cluster, 1, client_id="test", now=lab.now)
    request = ConsumerGroupHeartbeatRequest(group_id="g", member_id="m1", member_epoch=2)
    failed = ConsumerGroupHeartbeatResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID)
    assert consumer_group_heartbeat.repeat(call, request, failed) is None
    request.member_epoch = -1
    assert consumer_group_heartbeat.repeat(call, request, ConsumerGroupHeartbeatResponse()) is None

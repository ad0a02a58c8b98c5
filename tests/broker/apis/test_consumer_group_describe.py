"""ConsumerGroupDescribe (CGD)."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.apis import consumer_group_describe, described_groups
from fakebroker.broker.apis.call import Call
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.pace import finished
from fakebroker.protocol.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest, DescribedGroup
from tests.support.group_apis import GroupApis

MakeCall = Callable[..., Call]
API = "ConsumerGroupDescribe"


class Groups(GroupApis):
    """A cluster with the topics "t" of 4 partitions and "u" of 1, and consumer groups by short heartbeats."""

    def __init__(self, make_call: MakeCall) -> None:
        super().__init__(make_call, group_consumer_assignment_interval_ms=0)
        self.ids = {name: self.cluster.topics.create(name, count, 1).id for name, count in (("t", 4), ("u", 1))}

    def beat(self, member_id: str, epoch: int, **changes: Any) -> Any:
        fields: dict[str, Any] = {"group_id": "g", "member_id": member_id, "member_epoch": epoch}
        if epoch == 0:
            fields |= {"rebalance_timeout_ms": 60_000, "topic_partitions": [], "subscribed_topic_names": ["t"]}
        return self.ask("ConsumerGroupHeartbeat", 1, **(fields | changes))

    def described(self, *group_ids: str, version: int = 1, **fields: Any) -> list[DescribedGroup]:
        groups: list[DescribedGroup] = self.ask(API, version, group_ids=list(group_ids), **fields).groups
        return groups


def partitions(assignment: Any) -> dict[str, list[int]]:
    """By topic name."""
    return {each.topic_name: each.partitions for each in assignment.topic_partitions}


@pytest.mark.rules("CGD-1")
def test_what_is_no_consumer_group(make_call: MakeCall) -> None:
    """Empty ids come first; an unknown group and one of another kind have a text; nothing else is shown of them."""
    lab = Groups(make_call)
    lab.cluster.nodes[1].coordinator.shard("classic", lab.now).create_group("classic", lab.now)

    assert lab.described("none", "", "classic", "") == [
        DescribedGroup(error_code=ErrorCode.INVALID_GROUP_ID),
        DescribedGroup(error_code=ErrorCode.INVALID_GROUP_ID),
        DescribedGroup(error_code=ErrorCode.GROUP_ID_NOT_FOUND, error_message="Group none not found.", group_id="none"),
        DescribedGroup(
            error_code=ErrorCode.GROUP_ID_NOT_FOUND,
            error_message="Group classic is not a consumer group.",
            group_id="classic",
        ),
    ]


@pytest.mark.rules("CGD-1")
def test_where_no_consumer_groups_are_served(make_call: MakeCall) -> None:
    """By default in 3.9 the whole request is refused."""
    lab = GroupApis(make_call, group_coordinator_rebalance_protocols="classic")

    with pytest.raises(KafkaError) as caught:
        lab.ask(API, 1, group_ids=["none"])
    assert caught.value.code == ErrorCode.UNSUPPORTED_VERSION


@pytest.mark.rules("CGD-1")
def test_who_cannot_answer(make_call: MakeCall) -> None:
    """While a group is loading, and at a broker that does not coordinate it: the code alone."""
    lab = GroupApis(make_call, node_ids=(1, 2))
    away, here = lab.elsewhere(), lab.elsewhere(leader=1)
    lab.load_slowly(here)

    groups = lab.ask(API, 1, group_ids=[away, here]).groups

    assert groups == [
        DescribedGroup(group_id=away, error_code=ErrorCode.NOT_COORDINATOR),
        DescribedGroup(group_id=here, error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
    ]


@pytest.mark.rules("CGD-2", "CGD-4")
@pytest.mark.parametrize(("version", "member_type"), [(0, -1), (1, 1)])
def test_a_member_with_all_that_it_reported(make_call: MakeCall, version: int, member_type: int) -> None:
    """Epochs, assignments, what it reported of itself; its protocol from v1 on."""
    lab = Groups(make_call)
    lab.beat("m1", 0, instance_id="i1", rack_id="r1", server_assignor="range", subscribed_topic_names=["u", "t"])

    (group,) = lab.described("g", version=version)

    assert (group.group_state, group.group_epoch, group.assignment_epoch) == ("Stable", 2, 2)
    assert (group.error_code, group.error_message, group.assignor_name) == (0, None, "range")
    (member,) = group.members
    assert (member.member_id, member.instance_id, member.rack_id, member.member_epoch) == ("m1", "i1", "r1", 2)
    assert (member.client_id, member.client_host, member.member_type) == ("test", "/127.0.0.1", member_type)
    assert (member.subscribed_topic_names, member.subscribed_topic_regex) == (["t", "u"], "")
    assert partitions(member.assignment) == partitions(member.target_assignment) == {"t": [0, 1, 2, 3], "u": [0]}
    assert {each.topic_id for each in member.assignment.topic_partitions} == set(lab.ids.values())


@pytest.mark.rules("CGD-2", "CGD-4")
def test_what_is_to_be_given_up_is_shown(make_call: MakeCall) -> None:
    """An assignment is what a member may still own, also what it has to give up; the target is without that."""
    lab = Groups(make_call)
    lab.beat("m1", 0)
    lab.beat("m2", 0, subscribed_topic_names=None, subscribed_topic_regex="t")
    lab.wait(0)
    lab.beat("m2", 0)
    lab.beat("m1", 2)

    (group,) = lab.described("g")

    members = {member.member_id: member for member in group.members}
    assert group.group_state == "Reconciling"
    assert partitions(members["m1"].assignment) == {"t": [0, 1, 2, 3]}
    assert partitions(members["m1"].target_assignment) == {"t": [0, 1]}
    assert partitions(members["m2"].assignment) == {}
    assert (members["m2"].subscribed_topic_regex, members["m2"].instance_id, members["m2"].rack_id) == ("t", None, None)


@pytest.mark.rules("CGD-5")
def test_topics_that_are_gone_are_left_out(make_call: MakeCall) -> None:
    """They have no name any more."""
    lab = Groups(make_call)
    lab.beat("m1", 0, subscribed_topic_names=["t", "u"])
    lab.cluster.topics.delete("t", lab.now)

    (group,) = lab.described("g")

    (member,) = group.members
    assert partitions(member.assignment) == partitions(member.target_assignment) == {"u": [0]}
    assert member.subscribed_topic_names == ["t", "u"]


@pytest.mark.rules("CGD-6")
def test_the_assignor_is_the_one_that_would_be_used(make_call: MakeCall) -> None:
    """Another one than that of the target, if a member named it since."""
    lab = Groups(make_call)
    lab.beat("m1", 0)
    assert lab.described("g")[0].assignor_name == "uniform"

    lab.beat("m1", 2, server_assignor="range")
    (group,) = lab.described("g")
    assert (group.assignor_name, group.group_epoch) == ("range", 2)


@pytest.mark.rules("CGD-3")
@pytest.mark.parametrize(("is_asked", "operations"), [(True, 3400), (False, -(2**31))])
def test_allowed_operations(make_call: MakeCall, is_asked: bool, operations: int) -> None:
    """Everything, if they are asked for; none of a group that is not there."""
    lab = Groups(make_call)
    lab.beat("m1", 0)

    found, none = lab.described("g", "none", include_authorized_operations=is_asked)

    assert (found.authorized_operations, none.authorized_operations) == (operations, -(2**31))


@pytest.mark.rules("CGD-4")
def test_topic_names_are_in_the_order_of_a_java_set(make_call: MakeCall) -> None:
    """As a Kafka lists them."""
    lab = Groups(make_call)
    lab.beat("m", 0, subscribed_topic_names=["orders", "payments", "returns", "shipments"])

    (group,) = lab.described("g")

    assert group.members[0].subscribed_topic_names == ["payments", "orders", "returns", "shipments"]


def test_a_large_group_is_described_in_steps(make_call: MakeCall, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others are served between its members; one that leaves meanwhile is not shown."""
    monkeypatch.setattr(described_groups, "TOPICS_PER_STEP", 50)
    lab = Groups(make_call)
    for member_id in "abcd":
        lab.beat(member_id, 0)
    call = make_call(lab.cluster, 1)
    steps = consumer_group_describe._in_steps(call, ConsumerGroupDescribeRequest(group_ids=["g"]))
    next(steps)
    lab.beat("a", -1)
    response = finished(steps)
    assert response is not None
    assert [member.member_id for member in response.groups[0].members] == ["c", "b", "d"]

"""StreamsGroupDescribe (STD), and what other APIs make of streams groups (STG-2, STL)."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.apis.call import Call
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.leave_group import MemberIdentity
from fakebroker.protocol.wire.messages.offset_commit import OffsetCommitRequestTopic
from fakebroker.protocol.wire.messages.streams_group_heartbeat import (
    Endpoint,
    KeyValue,
    Subtopology,
    TopicInfo,
    Topology,
)
from tests.broker.apis.test_streams_group_heartbeat import beat, joining, lab_of, reads
from tests.support.group_apis import GroupApis, join

MakeCall = Callable[..., Call]
NOT_ASKED = -(2**31)


def describe(lab: GroupApis, *group_ids: str, **fields: Any) -> list[Any]:
    return list(lab.ask("StreamsGroupDescribe", 0, group_ids=list(group_ids), **fields).groups)


@pytest.mark.rules("STD-1")
def test_a_group_with_its_members(make_call: MakeCall) -> None:
    """State and epochs, and of each member what it reported, what it may own and what it shall have."""
    lab = lab_of(make_call)
    beat(
        lab,
        **joining(rack_id="r", client_tags=[KeyValue(key="k", value="v")], user_endpoint=Endpoint(host="h", port=80)),
    )
    beat(lab, **joining(member_id="n", process_id="q"))
    beat(lab, group_id="g", member_id="m", member_epoch=2)
    (group,) = describe(lab, "g")
    members = {member.member_id: member for member in group.members}
    member = members["m"]

    assert (group.error_code, group.group_id, group.group_state) == (0, "g", "Reconciling")
    assert (group.group_epoch, group.assignment_epoch, group.authorized_operations) == (3, 3, NOT_ASKED)
    assert (member.rack_id, member.client_id, member.client_host) == ("r", "test", "/127.0.0.1")
    assert (member.member_epoch, member.topology_epoch, member.process_id, member.instance_id) == (2, 1, "p", None)
    assert (member.user_endpoint.host, member.user_endpoint.port) == ("h", 80)
    assert [(tag.key, tag.value) for tag in member.client_tags] == [("k", "v")]
    assert [tasks.partitions for tasks in member.assignment.active_tasks] == [[0, 1]]  # not what it is to give up
    assert members["n"].assignment.active_tasks == []
    assert [tasks.partitions for tasks in members["n"].target_assignment.active_tasks] == [[2]]
    assert (member.task_offsets, member.task_end_offsets, member.is_classic) == ([], [], False)


@pytest.mark.rules("STD-1")
def test_groups_that_are_not_shown(make_call: MakeCall) -> None:
    """The empty id comes first; groups of other kinds and unknown ones are not found."""
    lab = lab_of(make_call)
    lab.stable("classic")
    described = describe(lab, "none", "classic", "", include_authorized_operations=True)

    assert [(group.group_id, group.error_code) for group in described] == [
        ("", ErrorCode.INVALID_GROUP_ID),
        ("none", ErrorCode.GROUP_ID_NOT_FOUND),
        ("classic", ErrorCode.GROUP_ID_NOT_FOUND),
    ]
    assert [group.error_message for group in described] == [
        None,
        "group none was not found",
        "group classic is not a streams group",
    ]
    assert {group.authorized_operations for group in described} == {NOT_ASKED}
    assert describe(GroupApis(make_call, node_ids=(1, 2)), "g", "h")  # whoever coordinates them


@pytest.mark.rules("STD-1")
def test_the_topology_before_and_after_it_is_ready(make_call: MakeCall) -> None:
    """As it was sent, until a step after the first finds it ready; then with decided counts. Topics are sorted."""
    lab = lab_of(make_call)
    part = Subtopology(
        subtopology_id="0",
        source_topics=["t", "s"],
        repartition_sink_topics=["r", "q"],
        repartition_source_topics=[TopicInfo(name="r"), TopicInfo(name="q")],
        state_changelog_topics=[TopicInfo(name="d", replication_factor=1), TopicInfo(name="c")],
    )
    lab.cluster.topics.create("s", 2, 1)
    beat(lab, **joining(topology=Topology(epoch=4, subtopologies=[part])))
    (sent,) = describe(lab, "g")
    beat(lab, group_id="g", member_id="m", member_epoch=2)
    (ready,) = describe(lab, "g")

    for group, state, counts in ((sent, "NotReady", [0, 0, 0, 0]), (ready, "Stable", [3, 3, 3, 3])):
        (shown,) = group.topology.subtopologies
        topics = [*shown.repartition_source_topics, *shown.state_changelog_topics]
        assert (group.group_state, group.topology.epoch) == (state, 4)
        assert (shown.source_topics, shown.repartition_sink_topics) == (["s", "t"], ["q", "r"])
        assert [topic.name for topic in topics] == ["q", "r", "c", "d"]
        assert [topic.partitions for topic in topics] == counts
        assert topics[3].replication_factor == 1


@pytest.mark.rules("STG-2", "STL-2")
def test_groups_are_listed(make_call: MakeCall) -> None:
    """By type and protocol type "streams"; the state NotReady is found by "not_ready" only."""
    lab = lab_of(make_call)
    beat(lab, **joining(topology=reads("later")))

    def listed(*states: str, types: list[str] | None = None) -> list[tuple[str, ...]]:
        answer = lab.ask("ListGroups", 5, states_filter=list(states), types_filter=types or [])
        return [(each.group_id, each.protocol_type, each.group_state, each.group_type) for each in answer.groups]

    assert listed("Not_Ready") == listed(types=["STREAMS"]) == [("g", "streams", "NotReady", "streams")]
    assert listed("NotReady") == listed(types=["classic"]) == []


@pytest.mark.rules("STL-2")
def test_groups_are_deleted(make_call: MakeCall) -> None:
    """Not while they have members; internal topics stay."""
    lab = lab_of(make_call)
    beat(lab, **joining(topology=reads("t", state_changelog_topics=[TopicInfo(name="c")])))
    codes = [lab.ask("DeleteGroups", 2, groups_names=["g"]).results[0].error_code]
    beat(lab, group_id="g", member_id="m", member_epoch=-1)
    codes.append(lab.ask("DeleteGroups", 2, groups_names=["g"]).results[0].error_code)

    assert codes == [ErrorCode.NON_EMPTY_GROUP, 0]
    assert "c" in lab.cluster.topics
    assert describe(lab, "g")[0].error_code == ErrorCode.GROUP_ID_NOT_FOUND


@pytest.mark.rules("STL-1", "STL-3")
def test_members_of_the_classic_protocol(make_call: MakeCall) -> None:
    """They cannot join while it has members, and are known to nobody."""
    lab = lab_of(make_call)
    beat(lab, **joining())

    assert lab.ask("JoinGroup", 3, **join("g")).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert (
        lab.ask("Heartbeat", 3, group_id="g", member_id="m", generation_id=2).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    )
    left = lab.ask("LeaveGroup", 3, group_id="g", members=[MemberIdentity(member_id="m")])
    assert [member.error_code for member in left.members] == [ErrorCode.UNKNOWN_MEMBER_ID]
    assert lab.ask("DescribeGroups", 6, groups=["g"]).groups[0].error_code == ErrorCode.GROUP_ID_NOT_FOUND


@pytest.mark.rules("STL-1", "STH-10")
def test_a_classic_member_of_an_empty_group(make_call: MakeCall) -> None:
    """The group becomes a classic one with its offsets, and a streams group again when that is Empty."""
    lab = lab_of(make_call)
    beat(lab, **joining())
    beat(lab, group_id="g", member_id="m", member_epoch=-1)
    row = (0, 7, -1, -1, "")
    lab.ask("OffsetCommit", 9, group_id="g", topics=[OffsetCommitRequestTopic(name="t", partitions=[row])])
    stranger = lab.ask("JoinGroup", 3, **join("g", "stranger"))
    still = describe(lab, "g")[0].group_state
    sent = lab.send("JoinGroup", 3, **join("g"))
    lab.wait(3_000)
    while_joined = beat(lab, **joining())
    lab.ask("LeaveGroup", 2, group_id="g", member_id=sent.member_id)
    again = beat(lab, **joining())
    group = lab.coordinator.shard("g", lab.now).group("g")

    assert (stranger.error_code, still) == (ErrorCode.UNKNOWN_MEMBER_ID, "Empty")
    assert (sent.error_code, sent.generation_id) == (0, 1)
    assert (while_joined.error_code, again.error_code, again.member_epoch) == (ErrorCode.GROUP_ID_NOT_FOUND, 0, 2)
    assert group is not None
    assert [topic for topic, _ in group.offsets.partitions()] == ["t"]

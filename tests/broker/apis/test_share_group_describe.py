"""ShareGroupDescribe (SGL-1)."""

from collections.abc import Callable

import pytest

from fakebroker.broker.apis.call import Call
from fakebroker.protocol.errors import ErrorCode
from tests.support.group_apis import GroupApis, join

MakeCall = Callable[..., Call]


@pytest.fixture
def lab(make_call: MakeCall) -> GroupApis:
    lab = GroupApis(make_call, share_coordinator_state_topic_replication_factor=1, group_share_assignment_interval_ms=0)
    lab.cluster.topics.create("t", 2, 1)
    return lab


@pytest.mark.rules("SGL-1")
def test_a_group(lab: GroupApis) -> None:
    """Epochs, assignor, and of each member what it reported and what it has now."""
    for epoch in (0, 2):
        request = {"group_id": "g", "member_id": "m1", "member_epoch": epoch, "subscribed_topic_names": ["t"]}
        lab.ask("ShareGroupHeartbeat", 1, rack_id="r", **request)
        lab.wait(0)

    [group] = lab.ask("ShareGroupDescribe", 1, group_ids=["g"], include_authorized_operations=True).groups

    assert (group.error_code, group.group_state, group.group_epoch, group.assignment_epoch) == (0, "Stable", 3, 3)
    assert (group.assignor_name, group.authorized_operations) == ("simple", 3400)
    [member] = group.members
    assert (member.member_id, member.rack_id, member.member_epoch) == ("m1", "r", 3)
    assert (member.client_id, member.client_host, member.subscribed_topic_names) == ("test", "/127.0.0.1", ["t"])
    [topic] = member.assignment.topic_partitions
    assert (topic.topic_name, topic.partitions) == ("t", [0, 1])
    assert topic.topic_id == lab.cluster.topics.get("t").id  # type: ignore[union-attr]


@pytest.mark.rules("SGL-1")
def test_a_deleted_topic_is_not_shown(lab: GroupApis) -> None:
    """Although the member has not lost it yet."""
    for epoch in (0, 2):
        request = {"group_id": "g", "member_id": "m1", "member_epoch": epoch, "subscribed_topic_names": ["t"]}
        lab.ask("ShareGroupHeartbeat", 1, **request)
        lab.wait(0)
    lab.cluster.topics.delete("t", lab.now)

    [group] = lab.ask("ShareGroupDescribe", 1, group_ids=["g"]).groups

    assert group.members[0].assignment.topic_partitions == []
    assert group.authorized_operations == -(2**31)


@pytest.mark.rules("SGL-1")
def test_what_is_no_share_group(lab: GroupApis) -> None:
    """An empty id is 24, an unknown one 69, a group of another kind 69; the last two with a text."""
    lab.send("JoinGroup", 3, **join("classic"))

    groups = lab.ask("ShareGroupDescribe", 1, group_ids=["", "none", "classic"]).groups

    assert [(group.error_code, group.error_message) for group in groups] == [
        (ErrorCode.INVALID_GROUP_ID, None),
        (ErrorCode.GROUP_ID_NOT_FOUND, "group 'none' is not a share group: it does not exist"),
        (ErrorCode.GROUP_ID_NOT_FOUND, "group 'classic' is not a share group: it is a classic group"),
    ]


def test_another_broker_coordinates_the_group(make_call: MakeCall) -> None:
    """NOT_COORDINATOR for that group."""
    lab = GroupApis(make_call, node_ids=(1, 2))

    [group] = lab.ask("ShareGroupDescribe", 1, group_ids=[lab.elsewhere()]).groups

    assert group.error_code == ErrorCode.NOT_COORDINATOR

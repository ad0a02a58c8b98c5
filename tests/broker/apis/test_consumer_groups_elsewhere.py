"""ListGroups, DescribeGroups and DeleteGroups on consumer groups (CGL), and their configs."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.apis.call import Call
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.describe_groups import DescribedGroup
from fakebroker.protocol.wire.messages.incremental_alter_configs import AlterableConfig, AlterConfigsResource
from tests.support.group_apis import GroupApis, join

MakeCall = Callable[..., Call]


def lab_with_groups(make_call: MakeCall) -> GroupApis:
    """The consumer groups "live" with a member and "left" without, and the classic group "old"."""
    lab = GroupApis(make_call, group_consumer_min_heartbeat_interval_ms=100)
    lab.cluster.topics.create("t", 2, 1)
    for group_id in ("live", "left"):
        beat(lab, group_id, 0)
    beat(lab, "left", -1)
    lab.ask("JoinGroup", 9, **join("old"))
    return lab


def beat(lab: GroupApis, group_id: str, epoch: int) -> Any:
    fields: dict[str, Any] = {"group_id": group_id, "member_id": "m1", "member_epoch": epoch}
    if epoch == 0:
        fields |= {"rebalance_timeout_ms": 5_000, "topic_partitions": [], "subscribed_topic_names": ["t"]}
    return lab.ask("ConsumerGroupHeartbeat", 1, **fields)


def listed(lab: GroupApis, version: int = 5, **filters: list[str]) -> dict[str, tuple[str, str, str]]:
    answer = lab.ask("ListGroups", version, **filters)
    assert answer.error_code == 0
    return {each.group_id: (each.protocol_type, each.group_type, each.group_state) for each in answer.groups}


@pytest.mark.rules("CGL-1", "CGL-2", "LS-1")
def test_they_are_listed(make_call: MakeCall) -> None:
    """Protocol type and group type consumer, and their own states, as soon as something is stored of them."""
    lab = lab_with_groups(make_call)

    assert listed(lab) == {
        "live": ("consumer", "consumer", "Stable"),
        "left": ("consumer", "consumer", "Empty"),
        "old": ("", "classic", "Empty"),
    }
    assert listed(lab, 3)["live"] == ("consumer", "", "")
    lab.ask("ConsumerGroupHeartbeat", 1, group_id="none", member_id="m1", member_epoch=5)
    assert "none" not in listed(lab)


@pytest.mark.rules("CGL-1", "LS-2", "LS-3")
@pytest.mark.parametrize(
    ("states", "types", "names"),
    [
        ([" sTABLE "], [], {"live"}),
        (["empty"], [], {"left", "old"}),
        ([], ["Consumer"], {"live", "left"}),
        (["Empty"], ["CONSUMER"], {"left"}),
        ([], ["nonsense"], set()),
        ([], [" consumer"], set()),
        (["Assigning", "Reconciling"], ["consumer"], set()),
    ],
)
def test_filters(make_call: MakeCall, states: list[str], types: list[str], names: set[str]) -> None:
    """Case and, of states, spaces around do not count."""
    lab = lab_with_groups(make_call)

    assert listed(lab, states_filter=states, types_filter=types).keys() == names


@pytest.mark.rules("CGL-3", "DS-1")
@pytest.mark.parametrize(("version", "code"), [(5, 0), (6, ErrorCode.GROUP_ID_NOT_FOUND)])
def test_describe_groups_sees_a_dead_group(make_call: MakeCall, version: int, code: int) -> None:
    """Without error up to v5, with one and a text since."""
    lab = lab_with_groups(make_call)

    (group,) = lab.ask("DescribeGroups", version, groups=["live"]).groups

    text = "Group live is not a classic group." if code else None
    assert group == DescribedGroup(error_code=code, error_message=text, group_id="live", group_state="Dead")


@pytest.mark.rules("CGL-4", "DG-2")
def test_only_empty_ones_are_deleted(make_call: MakeCall) -> None:
    """With all that is stored of them: the next member makes a new group."""
    lab = lab_with_groups(make_call)

    results = lab.ask("DeleteGroups", 2, groups_names=["live", "left", "none"]).results

    codes = {each.group_id: each.error_code for each in results}
    assert codes == {"live": ErrorCode.NON_EMPTY_GROUP, "left": 0, "none": ErrorCode.GROUP_ID_NOT_FOUND}
    assert listed(lab).keys() == {"live", "old"}
    assert beat(lab, "left", 0).member_epoch == 2


@pytest.mark.rules("CGC-1")
def test_configs_count_from_the_next_heartbeat_on(make_call: MakeCall) -> None:
    """Also those that were set before there was a group."""
    lab = lab_with_groups(make_call)
    for group_id in ("live", "later"):
        config = AlterableConfig(name="consumer.heartbeat.interval.ms", value="700")
        resource = AlterConfigsResource(resource_type=32, resource_name=group_id, configs=[config])
        (response,) = lab.ask("IncrementalAlterConfigs", 1, resources=[resource]).responses
        assert response.error_code == 0

    assert beat(lab, "live", 2).heartbeat_interval_ms == 700
    assert beat(lab, "later", 0).heartbeat_interval_ms == 700
    assert beat(lab, "left", 0).heartbeat_interval_ms == 5_000
